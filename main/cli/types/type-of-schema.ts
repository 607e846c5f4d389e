import { isJsonObject, type JsonValue } from "../../../shared/json.ts";
import { valueAt } from "../../../shared/value-edit.ts";

type Literal = string | number | boolean | null;

export interface Member {
  readonly name: string;
  readonly type: Type;
  readonly isRequired: boolean;
  /** Title and description, as the schema has them. */
  readonly text: string;
  readonly isDeprecated: boolean;
}

/** What is known of a value. Every value that the schema accepts has the type; it may allow more. */
export type Type =
  | { readonly kind: "unknown" | "string" | "number" | "integer" | "boolean" | "null" }
  | { readonly kind: "literals"; readonly values: readonly Literal[] }
  | { readonly kind: "list"; readonly items: Type }
  | { readonly kind: "map"; readonly values: Type }
  | { readonly kind: "object"; readonly members: readonly Member[]; readonly hasMore: boolean }
  | { readonly kind: "union"; readonly types: readonly Type[] };

/** A scope, and the type of its values. */
export interface TypedScope {
  readonly name: string;
  /** Title and description. */
  readonly text: string;
  readonly type: Type;
}

const unknown: Type = { kind: "unknown" };
/** Parts of one field; references to references may make any number of few lines. */
const mostParts = 2_000;

interface Walk {
  readonly root: unknown;
  /** The references that lead here: one of them again would be a circle. */
  readonly open: readonly string[];
  readonly left: { parts: number };
}

/** The type of a scope's values, each of which is present. A value may also be the default that its schema gives it. */
export function typeOfScope(root: { readonly properties: { readonly [field: string]: unknown } }): Type {
  const members = Object.entries(root.properties).map(([name, schema]) => {
    const type = typeOf(schema, { root, open: [], left: { parts: mostParts } });
    const byDefault = isJsonObject(schema) && schema["default"] !== undefined ? schema["default"] : null;
    return memberOf(name, byDefault === null ? unionOf([type, { kind: "null" }]) : type, schema, true);
  });
  return { kind: "object", members, hasMore: false };
}

function memberOf(name: string, type: Type, schema: unknown, isRequired: boolean): Member {
  const { title, description, deprecated } = isJsonObject(schema) ? schema : {};
  const text = [title, description].filter(one => typeof one === "string" && one.trim() !== "").join("\n");
  return { name, type, isRequired, text, isDeprecated: deprecated === true };
}

/** Everything in a schema has to hold: members are put together, and of other types the most telling one is taken. */
function typeOf(schema: unknown, walk: Walk): Type {
  walk.left.parts -= 1;
  if (!isJsonObject(schema) || walk.left.parts < 0) return unknown;
  const inner = (one: unknown) => typeOf(one, walk);
  const { const: value, enum: values, $ref, type, anyOf, oneOf, allOf } = schema;
  const listed = value === undefined ? values : [value];
  if (Array.isArray(listed) && listed.length > 0 && listed.every(isLiteral))
    return { kind: "literals", values: listed };
  const all: Type[] = [];
  if (typeof $ref === "string" && !walk.open.includes($ref)) {
    const target = /^#(?:\/|$)/.test($ref) ? valueAt(walk.root, decoded($ref.slice(1))) : undefined;
    all.push(typeOf(target, { ...walk, open: [...walk.open, $ref] }));
  }
  // Properties alone tell of no type, but beside other parts with members they are more of them.
  if (type !== undefined) all.push(unionOf([type].flat().map(one => typeNamed(one, schema, inner))));
  if (Array.isArray(allOf)) all.push(...allOf.map(inner));
  if (type === undefined && schema["properties"] !== undefined && all.some(({ kind }) => kind === "object"))
    all.push(typeNamed("object", schema, inner));
  const alternatives = anyOf ?? oneOf;
  if (Array.isArray(alternatives)) all.push(unionOf(alternatives.map(inner)));
  return all.reduce(both, unknown);
}

/** The type of values that have both types. */
function both(one: Type, other: Type): Type {
  if (one.kind === "unknown" || other.kind === "literals") return other;
  if (other.kind === "unknown" || one.kind === "literals") return one;
  if (one.kind === "object" && other.kind === "object") return withAllMembers(one, other);
  return one.kind === "union" || other.kind === "object" || other.kind === "integer" ? other : one;
}

function withAllMembers(one: Type & { kind: "object" }, other: Type & { kind: "object" }): Type {
  const members = new Map(one.members.map(member => [member.name, member]));
  for (const member of other.members) {
    const before = members.get(member.name);
    members.set(member.name, before === undefined ? member : inBoth(before, member));
  }
  return { kind: "object", members: [...members.values()], hasMore: one.hasMore && other.hasMore };
}

function inBoth(one: Member, other: Member): Member {
  return {
    name: one.name,
    type: both(one.type, other.type),
    isRequired: one.isRequired || other.isRequired,
    text: one.text || other.text,
    isDeprecated: one.isDeprecated || other.isDeprecated,
  };
}

function typeNamed(
  name: unknown,
  schema: { readonly [keyword: string]: JsonValue },
  inner: (schema: unknown) => Type,
): Type {
  if (name === "array") {
    const { items, prefixItems } = schema;
    return { kind: "list", items: prefixItems === undefined ? inner(items) : unknown };
  }
  if (name !== "object")
    return /^(?:string|number|integer|boolean|null)$/.test(String(name)) ? { kind: name as "string" } : unknown;
  const { properties, additionalProperties, patternProperties, required } = schema;
  const known = isJsonObject(properties) ? Object.entries(properties) : [];
  if (known.length === 0)
    return { kind: "map", values: patternProperties === undefined ? inner(additionalProperties) : unknown };
  const names = new Set(Array.isArray(required) ? required : []);
  const members = known.map(([member, one]) => memberOf(member, inner(one), one, names.has(member)));
  return { kind: "object", members, hasMore: additionalProperties !== false || patternProperties !== undefined };
}

function unionOf(types: readonly Type[]): Type {
  const flat = types.flatMap(type => (type.kind === "union" ? type.types : [type]));
  if (flat.length === 0 || flat.some(({ kind }) => kind === "unknown")) return unknown;
  const different = [...new Map(flat.map(type => [JSON.stringify(type), type])).values()];
  const [only] = different;
  return different.length === 1 && only !== undefined ? only : { kind: "union", types: different };
}

function isLiteral(value: unknown): value is Literal {
  return value === null || typeof value !== "object";
}

function decoded(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}

/** The lines of a text for a comment: nothing in them ends a line or a comment of any language. */
export function commentLines(text: string): string[] {
  return text
    .split(/[\n\r\v\f\u0085\u2028\u2029]+/)
    .map(line =>
      line
        .replace(/\p{Cc}|\p{Bidi_Control}/gu, " ")
        .replaceAll("*/", "* /")
        .replaceAll("/*", "/ *")
        .trim(),
    )
    .filter(line => line !== "");
}

/** Words of letters and digits, each with a capital: `web-shop.port` is WebShopPort. "" if there is no letter to begin with. */
export function pascalCase(name: string): string {
  const words = name.replace(/^[^A-Za-z]+/, "").match(/[A-Za-z0-9]+/g) ?? [];
  return words.map(word => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
}

/** Gives each name once: the second `Web` is `Web2`. */
export function uniqueNames(taken: Iterable<string> = []): (wanted: string) => string {
  const used = new Set(taken);
  return wanted => {
    let name = wanted;
    for (let count = 2; used.has(name); count += 1) name = `${wanted}${count}`;
    used.add(name);
    return name;
  };
}
