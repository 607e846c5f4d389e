import { type Config, configEntries, configValue } from "./config.ts";
import type { ConfigPath } from "./config-path.ts";
import { type JsonValue, sameJson } from "./json.ts";

/** One field that differs between two stored configurations. Absent: not stored on that side. */
export interface StoredDifference extends ConfigPath {
  readonly before?: JsonValue;
  readonly after?: JsonValue;
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
    differences.push({ scope, field, ...(previous !== undefined && { before: previous }), after: value });
  }
  for (const { scope, field, value } of configEntries(before)) {
    if (isSame(scope)) continue;
    if (configValue(after, scope, field) === undefined) differences.push({ scope, field, before: value });
  }
  return differences;
}
