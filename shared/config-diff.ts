import { type Config, configValue } from "./config.ts";
import { type ConfigPath, joinConfigPath } from "./config-path.ts";
import { type JsonValue, sameJson } from "./json.ts";
import { runToEnd } from "./run-to-end.ts";

/** One field that differs between two stored configurations. Absent: not stored on that side. */
export interface StoredDifference extends ConfigPath {
  readonly before?: JsonValue;
  readonly after?: JsonValue;
}

/** What differs between two stored configurations at these fields: first what `after` holds, then what it no longer holds. */
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

/** Fields that are compared in one go. */
const comparedAtOnce = 2_000;

/** What differs between two stored configurations, field by field: first what `after` holds, then what it no longer holds. */
export function diffConfigs(before: Config, after: Config): StoredDifference[] {
  return runToEnd(diffingConfigs(before, after));
}

/** As `diffConfigs`; yields if it takes long. */
export function* diffingConfigs(before: Config, after: Config): Generator<void, StoredDifference[]> {
  if (before === after) return [];
  const differences: StoredDifference[] = [];
  // Scopes that have lost nothing need not be gone through once more.
  const whole = new Set<string>();
  let compared = 0;
  for (const scope of Object.keys(after)) {
    // What no edit has touched is the very same object on both sides. What is inherited never is.
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
    for (const field of Object.keys(fields))
      if (!Object.hasOwn(next, field) || next[field] === undefined)
        differences.push(differenceOf(scope, field, fields[field], undefined));
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
