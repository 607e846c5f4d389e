import { isJsonObject, type JsonValue } from "./json.ts";

/** The names of a list's entries in order, if all are objects with a unique text as `name`; otherwise undefined. */
export function namesOf(list: readonly JsonValue[]): readonly string[] | undefined {
  const names: string[] = [];
  for (const entry of list) {
    if (!isJsonObject(entry) || !Object.hasOwn(entry, "name") || typeof entry["name"] !== "string") return undefined;
    names.push(entry["name"]);
  }
  return new Set(names).size === names.length ? names : undefined;
}
