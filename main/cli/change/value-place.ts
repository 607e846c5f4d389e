import { type Config, configValue } from "../../../shared/config.ts";
import { splitConfigPath } from "../../../shared/config-path.ts";
import { itemNamesOf, schemaWithin } from "../../../shared/item-names.ts";
import { isJsonObject, type JsonValue } from "../../../shared/json.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { joinPointer, pointerTokens, type ValueEdit, valueAt } from "../../../shared/value-edit.ts";
import { type Fields, type PlainSchema, showValue, unknownField } from "../connect/fields.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

/** A field, or a place inside its value. */
export interface ValuePlace {
  /** `<scope>.<field>`. */
  readonly field: string;
  /** A JSON pointer into the value; `""` is the value itself. */
  readonly path: string;
}

/**
 * Parses a field, or a place inside its value: `svc.services.web.image`. A name that contains a dot must be in double quotes. A field's
 * own name may contain dots too, so the longest existing field name wins. An item of names and values, such as `svc.envvars.PORT`, stands
 * for its value. Throws CommandError.
 */
export function readPlace(typed: string, fields: Fields): ValuePlace {
  const place = readItemPlace(typed, fields);
  const schema = fields.get(place.field);
  const tokens = pointerTokens(place.path);
  const names = tokens.length === 0 ? undefined : itemNamesOf(schemaAt(schema, joinPointer(tokens.slice(0, -1))));
  const isIndex = names?.areNumbers !== true && /^\d+$/.test(tokens.at(-1) ?? "");
  if (names === undefined || isIndex) return place;
  const { properties } = schemaAt(schema, place.path) ?? {};
  const members = isJsonObject(properties) ? Object.keys(properties) : [];
  const [only, ...others] = members.filter(member => member !== names.property);
  return only === undefined || others.length > 0 ? place : { ...place, path: joinPointer([...tokens, only]) };
}

/** Like `readPlace`, but an item of a list is always the item itself. */
export function readItemPlace(typed: string, fields: Fields): ValuePlace {
  if (fields.has(typed)) return { field: typed, path: "" };
  const parts = typed.match(/"[^"]*"|[^."]+/g) ?? [];
  for (let length = parts.length - 1; length > 1; length -= 1) {
    const field = parts.slice(0, length).join(".");
    const inner = parts.slice(length).map(part => part.replace(/^"(.*)"$/s, "$1"));
    if (fields.has(field)) return { field, path: joinPointer(inner) };
  }
  throw unknownField(parts.slice(0, 2).join("."), fields);
}

/** A place as users type it. */
export function showPlace({ field, path }: ValuePlace): string {
  const names = pointerTokens(path).map(name => (/^[^."]+$/.test(name) ? name : `"${name}"`));
  return [field, ...names].join(".");
}

/** The value at a place. `name` is what the user typed. Throws CommandError if there is no value. */
export function readAt(config: Config, { field, path }: ValuePlace, name: string, fields: Fields): JsonValue {
  const split = splitConfigPath(field);
  const value = split && valueAt(configValue(config, split.scope, split.field), path, fields.get(field));
  if (value === undefined) throw new CommandError(`There is no value at ${name}.`, exitCodes.refused);
  return value;
}

/** The subschema for a place inside a field's value; undefined if the schema does not describe it. */
export function schemaAt(schema: PlainSchema | undefined, path: string): PlainSchema | undefined {
  const at = pointerTokens(path).reduce<unknown>(schemaWithin, schema);
  return isJsonObject(at) ? at : undefined;
}

/** Describes an edit for the user. */
export function describeEdit(edit: ValueEdit, schema: FieldSchema | undefined, reveal: boolean): string {
  const place = showPlace({ field: edit.field, path: edit.path ?? "" });
  // The edit was parsed by this command, so its value is JSON.
  const value = showValue((edit.value ?? null) as JsonValue, schema, reveal);
  switch (edit.op) {
    case "set":
      return `set ${place} = ${value}`;
    case "unset":
      return `unset ${place}`;
    case "add":
      return `added ${value} to ${place}`;
    case "remove":
      return `removed ${value} from ${place}`;
  }
}
