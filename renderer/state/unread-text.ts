import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";

/*
 * While a person types, the text of a control may not be a value (yet): `[1,` in a JSON field, `12 minutes` in a number. The text is
 * the edit nevertheless, and stands in it in place of the value, wherever in the field that is: so drafts keep it, and a save refuses
 * it instead of storing something that the screen does not show.
 */

/** Nobody types this name by accident. If a file has it, its value is shown as text, and cannot be saved from here. */
const member = "\u0000text";

/** Why such an edit is refused, and the next step. */
export const unreadMessage = "What you typed is not a value yet. Correct it, or discard the edit.";

export function unreadText(text: string): JsonObject {
  return { [member]: text };
}

/** The text in place of this value; undefined: it is a value. */
export function textOfUnread(value: JsonValue | undefined): string | undefined {
  if (!isJsonObject(value) || !Object.hasOwn(value, member)) return undefined;
  const text = value[member];
  return typeof text === "string" && Object.keys(value).length === 1 ? text : undefined;
}

/** The places in a value that have a text instead: the members and indexes that lead there. */
export function unreadPlaces(value: JsonValue | undefined): readonly (readonly string[])[] {
  if (textOfUnread(value) !== undefined) return [[]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => unreadPlaces(inner).map(place => [name, ...place]));
}
