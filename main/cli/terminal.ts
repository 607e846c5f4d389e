import { randomUUID } from "node:crypto";
import { styleText } from "node:util";
import { layOutTable } from "./table.ts";

/*
 * The only file that writes to standard output and error. What is written may quote anyone: a folder out of an archive, a
 * file of a cloned repository, a name that a tool gave. So every text passes `visible`, and nothing but our own styles can
 * colour, move the cursor, or turn a line around.
 */

/** Control characters, and what turns the direction of text or ends a line for some terminals. */
const obeyedByTerminals = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;
/** Replaces the escape character in our own styles until they are written: no text from outside can contain it. */
const ownEscape = randomUUID();

/** Text with every character that a terminal would obey shown as JSON writes it: `\n`, `\u001b`, `\u202e`. */
export function visible(text: string): string {
  return text.replace(obeyedByTerminals, character => {
    const written = JSON.stringify(character).slice(1, -1);
    return written === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}` : written;
  });
}

/** As `visible`, of a text in lines; JSON stays the same JSON. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

/** Whether standard output is a person's terminal: then there are tables and colours, else lines that a pipe can read. */
export function isTerminal(): boolean {
  return process.stdout.isTTY === true;
}

/** One line for each text. */
export function print(...lines: readonly string[]): void {
  process.stdout.write(lines.map(asLine).join(""));
}

/** For programs: one JSON value and a line end. */
export function printJson(value: unknown, indent = 2): void {
  process.stdout.write(`${visibleLines(JSON.stringify(value, null, indent))}\n`);
}

/** A value as it is, for programs; on a terminal it is made visible. Ends with a line end. */
export function printValue(text: string): void {
  const ended = text.endsWith("\n") ? text : `${text}\n`;
  process.stdout.write(isTerminal() ? visibleLines(ended) : ended);
}

/** Notes for people on standard error, so that programs that read the output do not see them. One line for each text. */
export function printNote(...lines: readonly string[]): void {
  process.stderr.write(lines.map(asLine).join(""));
}

/** Why a command failed. Further lines are indented, so that none passes for a message of its own. */
export function printFailure(message: string): void {
  const [first = "", ...more] = message.split("\n");
  printNote(`repoconf: ${first}`, ...more.map(line => `  ${line}`));
}

/** Whether there is a line of `showProgress`. */
let isProgressShown = false;

/** One line that is overwritten, for people who wait; "" removes it. */
export function showProgress(text: string): void {
  if (!process.stderr.isTTY || (text === "" && !isProgressShown)) return;
  isProgressShown = text !== "";
  process.stderr.write(`\r\u001b[K${visible(text)}`);
}

/** Where commander writes its help, and what it finds wrong with a command line. */
export const commanderOutput = {
  writeOut: (text: string) => void process.stdout.write(visibleLines(text)),
  writeErr: (text: string) => void process.stderr.write(visibleLines(text)),
};

/** Resolves when all that was printed has been handed to its reader. */
export async function allPrinted(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) await new Promise(resolve => stream.write("", resolve));
}

/** Colours only on a terminal, and never with NO_COLOR. */
export function style(format: Parameters<typeof styleText>[0], text: string): string {
  return styleText(format, visible(text), { stream: process.stdout }).replaceAll("\u001b", ownEscape);
}

/** Rows as aligned columns that fit the terminal, else as lines with tabs between the cells, each whole. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  // Before they are laid out, as what is shown for a character is wider than it.
  const clean = rows.map(row => row.map(visible));
  if (!isTerminal()) {
    for (const row of clean) process.stdout.write(`${row.join("\t")}\n`);
    return;
  }
  // A terminal that does not know its width says 0.
  const [head = [], ...lines] = layOutTable(header, clean, process.stdout.columns || undefined);
  for (const line of head) print(style("bold", line));
  for (const line of lines.flat()) print(line);
}

/** One reader for all questions: with the answer to one it may have read what was typed for the next. */
let reader: { readonly lines: AsyncIterator<string>; isOver: boolean; pause(): void; resume(): void } | undefined;

/** Asks on the terminal; false without one, as nobody can answer, and at the end of the input (Ctrl-D). */
export async function confirm(question: string): Promise<boolean> {
  if (process.stdin.isTTY !== true) return false;
  process.stderr.write(`${visible(question)} [y/N] `);
  if (reader === undefined) {
    const { createInterface } = await import("node:readline");
    // Lines are the terminal's own business, so what is typed early is kept and Ctrl-C ends the command.
    const lines = createInterface({ input: process.stdin, terminal: false });
    reader = {
      lines: lines[Symbol.asyncIterator](),
      isOver: false,
      pause: () => lines.pause(),
      resume: () => lines.resume(),
    };
    lines.once("close", () => Object.assign(reader ?? {}, { isOver: true }));
  }
  process.stdin.ref();
  if (!reader.isOver) reader.resume();
  const { value: answer = "", done } = await reader.lines.next();
  // What is typed from now on belongs to what runs next, such as an editor.
  if (!reader.isOver) reader.pause();
  // The command may end without another question.
  process.stdin.unref();
  if (done === true) process.stderr.write("\n");
  return /^y(es)?$/i.test(answer.trim());
}

function asLine(text: string): string {
  return `${visible(text).replaceAll(ownEscape, "\u001b")}\n`;
}
