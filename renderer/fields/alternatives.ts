import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import type { ScopeSchema, ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { resolvedIn, together } from "./resolved-schema.ts";

/** A value that a control offers, with its name if the schema has one. */
export interface ChoiceOption {
  readonly value: JsonValue;
  readonly title?: string;
}

/** The alternatives of `oneOf` or `anyOf` as they stand in the schema; without any, none. */
export function alternativesIn(schema: ValueSchema): readonly ValueSchema[] {
  const listed = schema["oneOf"] ?? schema["anyOf"];
  return Array.isArray(listed) && listed.every(isJsonObject) ? (listed as readonly ValueSchema[]) : [];
}

/** What stands beside the alternatives, and counts for each of them. `schema` is resolved. */
export function besideAlternatives({ oneOf: _, anyOf: __, ...own }: ValueSchema): ValueSchema {
  return own;
}

/** The values of an enumeration, or of alternatives of which each is a value; undefined: the schema has others. It is resolved. */
export function choicesOf(schema: ValueSchema, root: ScopeSchema | undefined): readonly ChoiceOption[] | undefined {
  const { enum: values, const: constant, title } = schema;
  if (constant !== undefined) return [{ value: constant as JsonValue, ...(title !== undefined && { title }) }];
  if (Array.isArray(values)) {
    const isNamed = values.length === 1 && title !== undefined;
    return values.map((value: JsonValue) => ({ value, ...(isNamed && { title }) }));
  }
  if (schema["type"] === "null") return [{ value: null, ...(title !== undefined && { title }) }];
  const all = alternativesIn(schema).map(one => choicesOf(resolvedIn(root, one), root));
  const found = all.flatMap(one => one ?? []);
  return found.length > 0 && all.every(one => one !== undefined) ? found : undefined;
}

/** The schema of what a value is where it is not null; undefined: it may not be null, or is nothing else. `schema` is resolved. */
export function nullableOf(schema: ValueSchema, root: ScopeSchema | undefined): ValueSchema | undefined {
  const { default: byDefault, ...rest } = schema;
  const own: ValueSchema = byDefault === null || byDefault === undefined ? rest : schema;
  const { type } = schema;
  if (Array.isArray(type)) {
    const others = type.filter(one => one !== "null");
    if (others.length === type.length || others.length === 0) return undefined;
    return { ...own, type: others.length === 1 ? others[0] : others };
  }
  const all = alternativesIn(schema);
  const others = all.filter(one => !isNull(resolvedIn(root, one)));
  const [other, ...more] = others;
  if (others.length === all.length || other === undefined) return undefined;
  const beside = besideAlternatives(own);
  if (more.length > 0) return { ...beside, oneOf: others };
  return together(resolvedIn(root, other) as JsonObject, beside as JsonObject) as ValueSchema;
}

function isNull(schema: ValueSchema): boolean {
  return schema["type"] === "null" || schema["const"] === null;
}
