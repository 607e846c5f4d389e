import type { Author } from "../state/store.ts";

/**
 * Who changed something, in the words of the owner of this machine, who reads it: `owner (browser)` is "by you (browser)", `file` is "by
 * hand". `here`: the name of this machine, if several share a log; the owner of another one may be somebody else.
 */
export function byActor({ actor, machine }: Author, here: string | undefined): string {
  const where = machine === undefined ? "" : ` on ${machine}`;
  if (actor === "file") return `by hand${where}`;
  const isHere = machine === undefined || machine === here;
  return `by ${isHere ? actor.replace(/^owner(?= \(|$)/, "you") : actor}${where}`;
}
