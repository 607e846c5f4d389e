import { stripVTControlCharacters, styleText } from "node:util";
import { layOutTable } from "./table.ts";

/** Whether standard output is a person's terminal: then there are tables and colours, else lines that a pipe can read. */
export function isTerminal(): boolean {
  return process.stdout.isTTY === true;
}

export function print(text: string): void {
  process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

/** For programs: one JSON value and a line end. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** For people, beside the result: what a program that reads the output should not see. */
export function printNote(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Colours only on a terminal, and never with NO_COLOR. */
export function style(format: Parameters<typeof styleText>[0], text: string): string {
  return styleText(format, text, { stream: process.stdout });
}

/**
 * Rows as aligned columns that fit the terminal, else as lines with tabs between the cells, each whole. Control characters
 * in a cell are shown and not obeyed: a value must not be able to move the cursor or to look like another row.
 */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const clean = rows.map(row => row.map(visible));
  if (!isTerminal()) {
    for (const row of clean) print(row.join("\t"));
    return;
  }
  // A terminal that does not know its width says 0.
  const [head = [], ...lines] = layOutTable(header, clean, process.stdout.columns || undefined);
  for (const line of head) print(style("bold", line));
  for (const line of lines.flat()) print(line);
}

/** Text with every control character made visible. */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the very characters to find.
  return stripVTControlCharacters(text).replace(/[\u0000-\u001f\u007f-\u009f]/g, character =>
    JSON.stringify(character).slice(1, -1),
  );
}

/** Asks on the terminal; false without one, as nobody can answer. */
export async function confirm(question: string): Promise<boolean> {
  if (process.stdin.isTTY !== true) return false;
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
