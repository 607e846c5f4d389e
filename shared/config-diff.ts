import { type Config, type ConfigEdit, configValue } from "./config.ts";
import { type ConfigPath, joinConfigPath } from "./config-path.ts";
import { type JsonValue, sameJson } from "./json.ts";
import { runToEnd } from "./run-to-end.ts";

/** One field that differs between two stored configurations. An absent side means that nothing is stored there. */
export interface StoredDifference extends ConfigPath {
  readonly before?: JsonValue;
  readonly after?: JsonValue;
}

/**
 * The differences between two stored configurations at these fields: first the fields in `after`, then those only in `before`.
 */
export function differencesAt(paths: readonly ConfigPath[], before: Config, after: Config): StoredDifference[] {
  const [present, removed]: [StoredDifference[], StoredDifference[]] = [[], []];
  const unique =
    paths.length === 1 ? paths : new Map(paths.map(path => [joinConfigPath(path.scope, path.field), path])).values();
  for (const { scope, field } of unique) {
    const [previous, value] = [configValue(before, scope, field), configValue(after, scope, field)];
    if (!sameJson(previous, value))
      (value === undefined ? removed : present).push(differenceOf(scope, field, previous, value));
  }
  return [...present, ...removed];
}

/** Fields to compare before yielding. */
const comparedAtOnce = 2_000;

/** The differences between two stored configurations: first the fields in `after`, then those only in `before`. */
export function diffConfigs(before: Config, after: Config): StoredDifference[] {
  return runToEnd(diffingConfigs(before, after));
}

/** Whether two configurations have no differences: a scope without fields is none. Stops at the first difference. */
export function sameConfig(one: Config, other: Config): boolean {
  if (one === other) return true;
  const scopesOf = (config: Config) => Object.keys(config).filter(scope => Object.keys(config[scope] ?? {}).length > 0);
  const [scopes, others] = [scopesOf(one), new Set(scopesOf(other))];
  return (
    scopes.length === others.size && scopes.every(scope => others.has(scope) && sameJson(one[scope], other[scope]))
  );
}

/** Like `diffConfigs`, but yields now and then. */
export function* diffingConfigs(before: Config, after: Config): Generator<void, StoredDifference[]> {
  if (before === after) return [];
  const differences: StoredDifference[] = [];
  // Scopes from which no field was removed; the second pass skips them.
  const whole = new Set<string>();
  let compared = 0;
  for (const scope of Object.keys(after)) {
    // Edits keep untouched scopes as the same object, so comparing references suffices. Inherited members are never the same
    // object.
    if (before[scope] === after[scope]) continue;
    const [fields, previous] = [after[scope] ?? {}, fieldsOf(before, scope)];
    let kept = 0;
    for (const field of Object.keys(fields)) {
      compared += 1;
      if (compared % comparedAtOnce === 0) yield;
      const value = fields[field];
      const earlier = previous[field] === value || Object.hasOwn(previous, field) ? previous[field] : undefined;
      if (earlier !== undefined && value !== undefined) kept += 1;
      if (!sameJson(earlier, value)) differences.push(differenceOf(scope, field, earlier, value));
    }
    if (kept === Object.keys(previous).length) whole.add(scope);
  }
  for (const scope of Object.keys(before)) {
    if (before[scope] === after[scope] || whole.has(scope)) continue;
    const [fields, next] = [before[scope] ?? {}, fieldsOf(after, scope)];
    for (const field of Object.keys(fields)) {
      compared += 1;
      if (compared % comparedAtOnce === 0) yield;
      if (!Object.hasOwn(next, field) || next[field] === undefined)
        differences.push(differenceOf(scope, field, fields[field], undefined));
    }
  }
  return differences;
}

const noFields = {};

function fieldsOf(config: Config, scope: string): Config[string] {
  return (Object.hasOwn(config, scope) ? config[scope] : undefined) ?? noFields;
}

function differenceOf(
  scope: string,
  field: string,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): StoredDifference {
  return { scope, field, ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}

/** The values after differences, as edits. */
export function editsOf(differences: readonly StoredDifference[]): ConfigEdit[] {
  return differences.map(({ scope, field, after }) => ({ scope, field, value: after }));
}

/** The values before differences, as edits. */
export function editsBefore(differences: readonly StoredDifference[]): ConfigEdit[] {
  return differences.map(({ scope, field, before }) => ({ scope, field, value: before }));
}
