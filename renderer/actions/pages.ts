import { addressOf, type Place } from "../state/place.ts";

/** The pages beside the repositories, in the order of their links. */
export const pages: readonly { readonly title: string; readonly place: Place }[] = [
  { title: "Matrix", place: { page: "matrix", query: "" } },
  { title: "Activity", place: { page: "activity", query: "" } },
  { title: "Keys", place: { page: "keys" } },
  { title: "Sessions", place: { page: "sessions" } },
];

/** Whether a place is that page, or a part of it. */
export function isWithin(place: Place, page: Place): boolean {
  const [path = ""] = addressOf(place).split("?");
  const base = addressOf(page);
  return path === base || path.startsWith(`${base}/`);
}
