import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Mutant } from "../../test/mutants/mutant.ts";

const path = join(import.meta.dirname, "../../docs/promises.md");
/** The generated parts of docs/promises.md, each between two marker comments. */
type Part = "mutants" | "mutants run";

/** Regenerates the table of mutants. */
export async function writeTable(mutants: readonly Mutant[]): Promise<void> {
  await writeFile(path, withPart(await readFile(path, "utf8"), "mutants", tableOf(mutants)));
}

export async function tableIsStale(mutants: readonly Mutant[]): Promise<boolean> {
  const text = await readFile(path, "utf8");
  return withPart(text, "mutants", tableOf(mutants)) !== text;
}

/** Records the result of the last complete run. */
export async function writeLastRun(summary: string): Promise<void> {
  await writeFile(path, withPart(await readFile(path, "utf8"), "mutants run", summary));
}

function tableOf(mutants: readonly Mutant[]): string {
  const rows = mutants.map(({ promise, removed, test, name }) => {
    const file = `[${basename(test, ".test.ts")}](../${test})`;
    return `| ${promise} | ${cell(removed)} | ${file}${name === undefined ? "" : `, "${cell(name)}"`} |`;
  });
  return ["| promise | removed | killed by |", "| --- | --- | --- |", ...rows].join("\n");
}

function cell(text: string): string {
  return text.replace(/[|<\\]/g, "\\$&");
}

function withPart(text: string, part: Part, content: string): string {
  const [begin, end] = [`<!-- ${part} begin -->`, `<!-- ${part} end -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`docs/promises.md has no ${begin} with ${end} after it.`);
  return `${text.slice(0, from)}${begin}\n\n${content}\n\n${text.slice(to)}`;
}
