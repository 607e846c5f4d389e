import { joinConfigPath } from "./config-path.ts";
import type { JsonValue } from "./json.ts";

/** The fields of one scope: field name to value. */
type ScopeConfig = { readonly [field: string]: JsonValue };
/** A configuration: scope name to its fields (spec 2.1). */
export type Config = { readonly [scope: string]: ScopeConfig };

/** The value of a field; undefined if there is none. Inherited members such as `constructor` never count. */
export function configValue(config: Config, scope: string, field: string): JsonValue | undefined {
  if (!Object.hasOwn(config, scope)) return undefined;
  const fields = config[scope];
  return fields !== undefined && Object.hasOwn(fields, field) ? fields[field] : undefined;
}

/** One edit of a configuration: a new value, or undefined to remove the stored one. */
export interface ConfigEdit {
  readonly scope: string;
  readonly field: string;
  readonly value: JsonValue | undefined;
}

/** Applies the edits in order and returns a new configuration. A scope without fields left stays as `{}`. */
export function applyConfigEdits(config: Config, edits: readonly ConfigEdit[]): Config {
  const result: { [scope: string]: { [field: string]: JsonValue } } = copyOf(config);
  const copied = new Set<string>();
  for (const { scope, field, value } of edits) {
    const known = Object.hasOwn(result, scope);
    if (value === undefined && (!known || configValue(result, scope, field) === undefined)) continue;
    const fields = copied.has(scope) ? (result[scope] ?? {}) : copyOf((known ? result[scope] : undefined) ?? {});
    copied.add(scope);
    if (value === undefined) delete fields[field];
    else fields[field] = value;
    result[scope] = fields;
  }
  return result;
}

/**
 * From this many members on, V8 takes three times as long to spread an object as this loop does. For small objects spreading is
 * ten times faster.
 */
const manyMembers = 1_000;

function copyOf<Value>(fields: { readonly [name: string]: Value }): { [name: string]: Value } {
  const names = Object.keys(fields);
  if (names.length < manyMembers) return { ...fields };
  // Without a prototype, V8 does not create a hidden class for each added name, and `__proto__` is an ordinary name.
  const copy: { [name: string]: Value } = Object.create(null);
  for (const name of names) copy[name] = fields[name] as Value;
  return Object.setPrototypeOf(copy, Object.prototype);
}

/** Every field of a configuration, in its order. */
export function* configEntries(config: Config): Generator<{ scope: string; field: string; value: JsonValue }> {
  for (const [scope, fields] of Object.entries(config)) {
    for (const [field, value] of Object.entries(fields)) yield { scope, field, value };
  }
}

/** The paths of all values in a configuration, in its order. */
export function pathsIn(config: Config): string[] {
  return Array.from(configEntries(config), ({ scope, field }) => joinConfigPath(scope, field));
}

export function countConfigFields(config: Config): number {
  let count = 0;
  for (const fields of Object.values(config)) count += Object.keys(fields).length;
  return count;
}

/** The fields of a configuration that `keep` accepts; scopes without any are left out. */
export function filterConfig(config: Config, keep: (scope: string, field: string) => boolean): Config {
  const result: { [scope: string]: { [field: string]: JsonValue } } = {};
  for (const { scope, field, value } of configEntries(config)) {
    if (!keep(scope, field)) continue;
    let fields = result[scope];
    if (fields === undefined) {
      fields = {};
      result[scope] = fields;
    }
    fields[field] = value;
  }
  return result;
}
