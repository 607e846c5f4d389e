import { isJsonObject, type JsonObject, type JsonValue, jsonType, sameJson } from "../../shared/json.ts";
import type { ScopeSchema, ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { textOfUnread } from "../state/unread-text.ts";
import { alternativesIn, besideAlternatives } from "./alternatives.ts";
import { resolvedIn, together } from "./resolved-schema.ts";
import { checkValue } from "./validate.ts";

/** One of the forms that a value may have. */
export interface Variant {
  readonly title: string;
  /** With what stands beside the alternatives. */
  readonly schema: ValueSchema;
  /** As it stands in the file: values are checked against it. */
  readonly alternative: ValueSchema;
}

const typeNames: { readonly [type: string]: string } = {
  array: "A list",
  boolean: "On or off",
  integer: "A number",
  number: "A number",
  object: "Entries",
  string: "A text",
};

/** The forms of a value, of which at least one has parts: of its alternatives, or of its types. Without any, none. `schema` is resolved. */
export function variantsOf(schema: ValueSchema, root: ScopeSchema | undefined): readonly Variant[] {
  const { title: _, description: __, default: ___, type: wide, ...rest } = besideAlternatives(schema);
  const beside = Array.isArray(wide) ? rest : { ...rest, ...(wide !== undefined && { type: wide }) };
  const alternatives = Array.isArray(wide) ? wide.map(schemaOfType) : alternativesIn(schema);
  const types = new Set<unknown>();
  const variants = alternatives.map((alternative, index) => {
    const own = resolvedIn(root, alternative);
    // One that only requires members is a rule, no form.
    const type = own["type"] ?? (isJsonObject(own["properties"]) ? "object" : undefined);
    types.add(type);
    const one = { ...together(beside as JsonObject, own as JsonObject), type } as ValueSchema;
    return { title: own.title ?? nameOf(one) ?? `Form ${index + 1}`, schema: one, alternative };
  });
  const isFit = [...types].every(type => typeof type === "string") && (types.has("object") || types.has("array"));
  return variants.length > 1 && isFit ? variants : [];
}

/** The same object each time: a schema is compiled once. */
const schemasOfTypes = new Map<unknown, ValueSchema>();

function schemaOfType(type: unknown): ValueSchema {
  const schema = schemasOfTypes.get(type) ?? { type };
  schemasOfTypes.set(type, schema);
  return schema;
}

/** By the constant that tells it apart, by its first members, or by its type. */
function nameOf(schema: ValueSchema): string | undefined {
  const [constant] = constantsOf(schema).values();
  if (typeof constant === "string") return constant;
  const { type, properties } = schema;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  if (type !== "object" || names.length === 0) return typeNames[String(type)];
  return `With ${names.slice(0, 3).join(", ")}${names.length > 3 ? "…" : ""}`;
}

/**
 * The form that a value has: none that another value of a constant or another type excludes; of the others the one that a person has
 * picked, unless only another fits, and else the one that is most like the value.
 */
export function variantOf(
  value: JsonValue,
  variants: readonly Variant[],
  root: ScopeSchema | undefined,
  picked: number | undefined,
): Variant | undefined {
  const wanted = picked === undefined ? undefined : variants[picked];
  if (textOfUnread(value) !== undefined) return wanted ?? variants.find(({ schema }) => isNumeric(schema["type"]));
  const possible = variants.filter(({ schema }) => isPossible(value, schema));
  const fitting = possible.filter(({ alternative }) => checkValue(value, alternative, root).length === 0);
  const nearest = fitting.length > 0 ? fitting : possible;
  if (wanted !== undefined && nearest.includes(wanted)) return wanted;
  return nearest.toSorted((one, other) => likeness(value, other.schema) - likeness(value, one.schema))[0];
}

function isPossible(value: JsonValue, schema: ValueSchema): boolean {
  const type = schema["type"] === "integer" ? "number" : schema["type"];
  if (type !== jsonType(value)) return false;
  if (!isJsonObject(value)) return true;
  return [...constantsOf(schema)].every(
    ([name, constant]) => !Object.hasOwn(value, name) || sameJson(value[name], constant),
  );
}

/** Constants count more than members of the same name. */
function likeness(value: JsonValue, schema: ValueSchema): number {
  if (!isJsonObject(value)) return 0;
  const { properties } = schema;
  const known = Object.keys(value).filter(name => isJsonObject(properties) && Object.hasOwn(properties, name));
  const equal = [...constantsOf(schema).keys()].filter(name => Object.hasOwn(value, name));
  return equal.length * 1_000 + known.length;
}

/** A value in another form: what both forms have stays. `empty`: an empty value of that form. */
export function inForm(value: JsonValue, { schema }: Variant, empty: JsonValue): JsonValue {
  if (!isJsonObject(value) || !isJsonObject(empty) || textOfUnread(value) !== undefined) return empty;
  const constants = constantsOf(schema);
  const members = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const kept = Object.entries(value).filter(([name]) => Object.hasOwn(members, name) && !constants.has(name));
  return { ...empty, ...Object.fromEntries(kept), ...Object.fromEntries(constants) };
}

/** The members that can have only one value, by which forms are told apart. */
function constantsOf(schema: ValueSchema): ReadonlyMap<string, JsonValue> {
  const members = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  return new Map(
    Object.entries(members).flatMap(([name, member]): [string, JsonValue][] => {
      if (!isJsonObject(member)) return [];
      const { const: constant, enum: values } = member;
      if (constant !== undefined) return [[name, constant]];
      return Array.isArray(values) && values.length === 1 ? [[name, values[0] ?? null]] : [];
    }),
  );
}

function isNumeric(type: unknown): boolean {
  return type === "integer" || type === "number";
}
