/** Any JSON value. `undefined` is not one: absent members are left out. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON Schema type of a value, with "number" for integers too. */
export function jsonType(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/**
 * Whether two JSON values are equal, ignoring the order of members. Common libraries read a value's `constructor` or `valueOf`
 * and fail for objects with members of these names.
 */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, index) => sameJson(item, other[index]));
  }
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  const [members, others] = [one as JsonObject, other as JsonObject];
  return names.every(name => Object.hasOwn(others, name) && sameJson(members[name], others[name]));
}

/** JSON without blanks and with sorted members: two values have the same text exactly if `sameJson`. */
export function canonicalJson(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) {
    const isFlat = value.every(item => typeof item !== "object" || item === null);
    return isFlat ? JSON.stringify(value) : `[${value.map(canonicalJson).join(",")}]`;
  }
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`).join(",")}}`;
}

/** Indented JSON with all invisible characters escaped, including those that change the text's direction. */
export function exactText(value: JsonValue): string {
  const written = (text: string) =>
    [...Array(text.length).keys()].map(at => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
  return JSON.stringify(value, null, 2).replace(/(?![\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu, written);
}
