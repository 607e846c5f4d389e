import type { JsonValue } from "./json.ts";

/** The fields of one scope: field name to value. */
type ScopeConfig = { readonly [field: string]: JsonValue };
/** A configuration: scope name to its fields (spec 2.1). */
export type Config = { readonly [scope: string]: ScopeConfig };

/** The value at scope and field; undefined if it is not there. Inherited members such as `constructor` never count. */
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

/** A new configuration with the edits applied in order; the given one stays as it is. A scope left without fields stays as `{}`. */
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

/** From so many members on V8 spreads an object three times as slowly as this copies it, and far fewer ten times as fast. */
const manyMembers = 1_000;

function copyOf<Value>(fields: { readonly [name: string]: Value }): { [name: string]: Value } {
  const names = Object.keys(fields);
  if (names.length < manyMembers) return { ...fields };
  // Without a prototype V8 makes no hidden class for each name that is added, and `__proto__` is one like any other.
  const copy: { [name: string]: Value } = Object.create(null);
  for (const name of names) copy[name] = fields[name] as Value;
  return Object.setPrototypeOf(copy, Object.prototype);
}

/** Every scope and field of a configuration, in its order. */
export function* configEntries(config: Config): Generator<{ scope: string; field: string; value: JsonValue }> {
  for (const [scope, fields] of Object.entries(config)) {
    for (const [field, value] of Object.entries(fields)) yield { scope, field, value };
  }
}

export function countConfigFields(config: Config): number {
  let count = 0;
  for (const fields of Object.values(config)) count += Object.keys(fields).length;
  return count;
}

/** The configuration reduced to the fields that `keep` accepts; scopes left without a field are left out. */
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
