import type { JsonObject } from "../../shared/json.ts";

/** Whether it says its own name and draft, as a file does, in whatever draft it is. */
export function isWhole({ $schema, $id }: JsonObject): boolean {
  return typeof $schema === "string" && typeof $id === "string";
}

/** The URI that a schema gives itself, without a fragment; undefined if it has none, or none that counts in its draft. */
export function idOf(schema: JsonObject, draft: number): string | undefined {
  const isIgnored = draft <= 7 && typeof schema["$ref"] === "string" && !isWhole(schema);
  if (isIgnored) return undefined;
  const id = draft === 4 && !isWhole(schema) ? schema["id"] : schema["$id"];
  return typeof id === "string" && !id.startsWith("#") && id !== "" ? id.replace(/#.*$/s, "") : undefined;
}

/** Before 2019-09 an anchor is an id that begins or ends with it. */
export function anchorsOf(schema: JsonObject, draft: number): string[] {
  const { $anchor, $dynamicAnchor } = schema;
  const id = draft === 4 ? schema["id"] : draft <= 7 ? schema["$id"] : undefined;
  const ofId = typeof id === "string" ? /#(.+)$/s.exec(id)?.[1] : undefined;
  return [$anchor, $dynamicAnchor, ofId].filter(name => typeof name === "string");
}

/** An absolute URI without an empty fragment; `keepsFragment`, or without any. */
export function absoluteUri(reference: string, base: string, keepsFragment = false): string {
  // A base such as urn:uuid:... is no folder: only fragments are relative to it.
  const uri = reference.startsWith("#") ? `${base}${reference}` : (URL.parse(reference, base)?.href ?? reference);
  return keepsFragment ? uri : uri.replace(/#.*$/s, "");
}
