import type { Facts, Values } from "./start-oracle.ts";

/** The three fields of the recorded life, in one order. */
export function fieldsOf(values: { readonly [field: string]: unknown } = {}): Values {
  const fields = ["timeout", "domain", "refresh_day"].filter(field => values[field] !== undefined);
  return Object.fromEntries(fields.map(field => [field, values[field]])) as Values;
}

/** The values in a text of a file. */
export function valuesIn(text: string | null): Values {
  const found = (text ?? "").matchAll(/"(timeout|domain|refresh_day)": ("[^"]*"|\d+)/g);
  return fieldsOf(Object.fromEntries([...found].map(([, field = "", value = ""]) => [field, JSON.parse(value)])));
}

/** The contents of the complete lines of a log or a history, each after so many words. */
function contentsOf(text: string, words: number): readonly { readonly [name: string]: unknown }[] {
  const lines = text.split("\n").slice(0, -1);
  return lines.map(line => JSON.parse(line.split(" ").slice(words).join(" ")));
}

/** The revisions of a document's entries in a log, by its files; without the first ones, so many. */
export function entriesIn(log: ReadonlyMap<string, string>, id: string, begins: number): number[] {
  const contents = [...log.values()].flatMap(text => contentsOf(text, 4));
  const documents = contents.flatMap(
    ({ documents = [] }) => documents as readonly { readonly repo: string; readonly revision: number }[],
  );
  const revisions = documents.filter(({ repo }) => repo === id).map(({ revision }) => revision - begins);
  return revisions.filter(revision => revision > 0);
}

/** The revision of a document in the text of an index. */
export function revisionIn(index: string, id: string): number {
  const { repositories, layers } = JSON.parse(index);
  return { ...repositories, ...layers }[id].revision;
}

/** The newest revision of a history, and its newest record of a text; without the first ones, so many. */
export function recordsIn(
  text: string,
  begins: number,
): { readonly newest: number; readonly recorded: Facts["recorded"] } {
  const records = contentsOf(text, 2);
  const record = records.findLast(({ kind }) => kind === "text");
  return {
    newest: Number(records.findLast(({ kind }) => kind === "change")?.["revision"] ?? begins) - begins,
    recorded: record && {
      revision: Number(record["fileRevision"]) - begins,
      isComplete: record["textHash"] === record["replacedHash"],
    },
  };
}

/** Without the last line that has these words, and what follows it. */
export function cut(text: string, words: string): string {
  const at = text.lastIndexOf(words);
  return at === -1 ? text : text.slice(0, text.lastIndexOf("\n", at) + 1);
}
