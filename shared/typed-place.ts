import { bracketedIndex, itemNamesOf, schemaWithin } from "./item-names.ts";
import { isJsonObject } from "./json.ts";
import type { FieldSchema } from "./scopes/scope-schema.ts";
import type { PlainSchema } from "./typed-value.ts";
import { joinPointer, pointerTokens } from "./value-edit.ts";
import { showSteps } from "./value-place.ts";

/** A field, or a place inside its value. */
export interface ValuePlace {
  /** `<scope>.<field>`. */
  readonly field: string;
  /** A JSON pointer into the value; `""` is the value itself. */
  readonly path: string;
}

/** The known field that a typed place begins with. A field's own name may contain dots too, so the longest one wins. */
export function fieldIn(typed: string, fields: ReadonlyMap<string, FieldSchema>): string | undefined {
  const begins = (field: string) => typed.startsWith(field) && /^($|[.[])/.test(typed.slice(field.length));
  return [...fields.keys()].filter(begins).sort((one, other) => other.length - one.length)[0];
}

/** What a typed item of names and values, such as `svc.envvars.PORT`, stands for: its value. `schema`: the field's. */
export function valueOfItem(place: ValuePlace, schema: FieldSchema | undefined): ValuePlace {
  const tokens = pointerTokens(place.path);
  const names = tokens.length === 0 ? undefined : itemNamesOf(schemaAt(schema, joinPointer(tokens.slice(0, -1))));
  const last = tokens.at(-1) ?? "";
  const isIndex = bracketedIndex(last, names) !== undefined || (names?.areNumbers !== true && /^\d+$/.test(last));
  if (names === undefined || isIndex) return place;
  const { properties } = schemaAt(schema, place.path) ?? {};
  const members = isJsonObject(properties) ? Object.keys(properties) : [];
  const [only, ...others] = members.filter(member => member !== names.property);
  return only === undefined || others.length > 0 ? place : { ...place, path: joinPointer([...tokens, only]) };
}

export function notAPlace(typed: string, field: string): string {
  return `${JSON.stringify(typed)} is not a place inside ${field}. Write .NAME for a member, [2] for the item with this index, and a name with other characters in quotes: ."a.b"`;
}

/** A place as users type it. `schema`: its field's. */
export function showPlace({ field, path }: ValuePlace, schema: FieldSchema | undefined): string {
  return showSteps(field, pointerTokens(path), schema);
}

/** The subschema for a place inside a field's value; undefined if the schema does not describe it. */
export function schemaAt(schema: PlainSchema | undefined, path: string): PlainSchema | undefined {
  const at = pointerTokens(path).reduce<unknown>(schemaWithin, schema);
  return isJsonObject(at) ? at : undefined;
}
