/** A value that JSON can hold. `undefined` is never one: an absent member is absent. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The type of a value as JSON Schema names it, but for integers. */
export function jsonType(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/**
 * Whether two JSON values are the same, whatever the order of members. The well-known libraries ask a value for its
 * `constructor` or `valueOf` on the way, and stumble over objects that have members of these names.
 */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, index) => sameJson(item, other[index]));
  }
  const members = Object.entries(one);
  if (members.length !== Object.keys(other).length) return false;
  const others = new Map(Object.entries(other));
  return members.every(([name, value]) => others.has(name) && sameJson(value, others.get(name)));
}

/** The one text of a value: JSON without blanks, members sorted. Two values have the same exactly if they are `sameJson`. */
export function canonicalJson(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`).join(",")}}`;
}

/** A value as indented JSON in which nothing hides: what no eye sees, or what turns the direction of a line, is escaped. */
export function exactText(value: JsonValue): string {
  const written = (text: string) =>
    [...Array(text.length).keys()].map(at => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
  return JSON.stringify(value, null, 2).replace(/(?![\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu, written);
}
