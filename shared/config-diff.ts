import { type Config, configEntries, configValue } from "./config.ts";
import { type ConfigPath, joinConfigPath } from "./config-path.ts";
import { type JsonValue, sameJson } from "./json.ts";

/** One field that differs between two stored configurations. Absent: not stored on that side. */
export interface StoredDifference extends ConfigPath {
  readonly before?: JsonValue;
  readonly after?: JsonValue;
}

/** What differs between two stored configurations at these fields: first what `after` holds, then what it no longer holds. */
export function differencesAt(paths: readonly ConfigPath[], before: Config, after: Config): StoredDifference[] {
  const [there, gone]: [StoredDifference[], StoredDifference[]] = [[], []];
  const unique =
    paths.length === 1 ? paths : new Map(paths.map(path => [joinConfigPath(path.scope, path.field), path])).values();
  for (const { scope, field } of unique) {
    const [previous, value] = [configValue(before, scope, field), configValue(after, scope, field)];
    if (!sameJson(previous, value))
      (value === undefined ? gone : there).push(differenceOf(scope, field, previous, value));
  }
  return [...there, ...gone];
}

/** What differs between two stored configurations, field by field: first what `after` holds, then what it no longer holds. */
export function diffConfigs(before: Config, after: Config): StoredDifference[] {
  if (before === after) return [];
  const differences: StoredDifference[] = [];
  // What no edit has touched is the very same object on both sides.
  const isSame = (scope: string) =>
    Object.hasOwn(before, scope) && Object.hasOwn(after, scope) && before[scope] === after[scope];
  for (const { scope, field, value } of configEntries(after)) {
    if (isSame(scope)) continue;
    const previous = configValue(before, scope, field);
    if (sameJson(previous, value)) continue;
    differences.push(differenceOf(scope, field, previous, value));
  }
  for (const { scope, field, value } of configEntries(before)) {
    if (isSame(scope)) continue;
    if (configValue(after, scope, field) === undefined) differences.push(differenceOf(scope, field, value, undefined));
  }
  return differences;
}

function differenceOf(
  scope: string,
  field: string,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): StoredDifference {
  return { scope, field, ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}
