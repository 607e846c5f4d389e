/** Who changed something, in the words of the owner, who reads it: `owner (browser)` is "by you (browser)", `file` is "by hand". */
export function byActor(actor: string): string {
  if (actor === "file") return "by hand";
  return `by ${actor.replace(/^owner(?= \(|$)/, "you")}`;
}
