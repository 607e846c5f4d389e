import { type Config, configEntries, configValue } from "./config.ts";
import { type JsonValue, sameJson } from "./json.ts";

/** One field that differs between two stored configurations. Undefined: not stored on that side. */
export interface StoredDifference {
  readonly scope: string;
  readonly field: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/** What differs between two stored configurations, field by field: first what `after` holds, then what it no longer holds. */
export function diffConfigs(before: Config, after: Config): StoredDifference[] {
  if (before === after) return [];
  const differences: StoredDifference[] = [];
  for (const { scope, field, value } of configEntries(after)) {
    const previous = configValue(before, scope, field);
    if (!sameJson(previous, value)) differences.push({ scope, field, before: previous, after: value });
  }
  for (const { scope, field, value } of configEntries(before)) {
    if (configValue(after, scope, field) === undefined)
      differences.push({ scope, field, before: value, after: undefined });
  }
  return differences;
}
