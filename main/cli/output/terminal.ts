import { randomUUID } from "node:crypto";
import { styleText } from "node:util";
import { visible } from "../../../shared/visible.ts";
import { CommandError } from "./exit-codes.ts";
import { layOutTable, wrapWords } from "./table.ts";

/*
 * The only file that writes to standard output and error. Output may quote untrusted text: a folder from an archive, a file of a cloned
 * repository, a name from a tool. So every text is escaped by `visible`, and only our own styles can colour text, move the cursor or
 * change the direction of a line.
 */

/** A random placeholder for the escape character of our own styles until they are written, which other text cannot contain. */
let ownEscape: string | undefined;

/** Like `visible`, but keeps line ends. JSON keeps its meaning. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

/** Whether standard output is a terminal, for tables and colours; otherwise the output is plain lines for pipes. */
export function isTerminal(): boolean {
  return process.stdout.isTTY === true;
}

/** Prints each text as one line. */
export function print(...lines: readonly string[]): void {
  process.stdout.write(lines.map(asLine).join(""));
}

/** Prints a JSON value and a line end, for programs. */
export function printJson(value: unknown, indent = 2): void {
  process.stdout.write(`${visibleLines(JSON.stringify(value, null, indent))}\n`);
}

/** Prints a value unchanged, for programs; on a terminal, control characters are escaped. Adds a final line end if it is missing. */
export function printValue(text: string): void {
  const ended = text.endsWith("\n") ? text : `${text}\n`;
  process.stdout.write(isTerminal() ? visibleLines(ended) : ended);
}

/** Prints each text as one line on standard error, so that programs that read the output do not see it. */
export function printNote(...lines: readonly string[]): void {
  errorOutput().write(lines.map(asLine).join(""));
}

let isErrorOutputUsed = false;

/** Standard error, which most commands do not need, and whose set-up takes time. */
function errorOutput(): NodeJS.WriteStream {
  isErrorOutputUsed = true;
  // Nobody can be told.
  if (process.stderr.listenerCount("error") === 0) process.stderr.on("error", () => {});
  return process.stderr;
}

/** Prints why a command failed. Further lines are indented, so that none looks like a separate message. */
export function printFailure(message: string): void {
  const [first = "", ...more] = message.split("\n");
  printNote(`repoconf: ${first}`, ...more.map(line => `  ${line}`));
}

/** Whether the terminal shows a line of `showProgress`. */
let isProgressShown = false;

/** Milliseconds after which a command shows what it is waiting for. */
const waitingShownAfter = 1_000;

/** Shows progress in one line that is overwritten each time; "" removes it. */
export function showProgress(text: string): void {
  if ((text === "" && !isProgressShown) || !process.stderr.isTTY) return;
  isProgressShown = text !== "";
  errorOutput().write(`\r\u001b[K${visible(text)}`);
}

/** Says that the command waits for the daemon, while this task takes long. */
export async function showingWait<Result>(task: () => Promise<Result>): Promise<Result> {
  const waiting = setTimeout(() => showProgress("Waiting for the daemon…"), waitingShownAfter);
  try {
    return await task();
  } finally {
    clearTimeout(waiting);
    showProgress("");
  }
}

/** The output of commander: help, and errors in the command line. */
export const commanderOutput = {
  writeOut: (text: string) => void process.stdout.write(visibleLines(text)),
  writeErr: (text: string) => void errorOutput().write(visibleLines(text)),
};

/** Leaves standard output and error as they were found, for a program that has them after this one: Node makes pipes non-blocking. */
export function releaseOutput(): void {
  for (const stream of isErrorOutputUsed ? [process.stdout, process.stderr] : [process.stdout]) {
    const { _handle: handle } = stream as { readonly _handle?: { setBlocking?(isBlocking: boolean): void } | null };
    handle?.setBlocking?.(true);
  }
}

/** Resolves when all output has been written. */
export async function flushOutput(): Promise<void> {
  const streams = isErrorOutputUsed ? [process.stdout, process.stderr] : [process.stdout];
  for (const stream of streams) await new Promise(resolve => stream.write("", resolve));
}

/** Styles text on terminals only, and never with NO_COLOR. */
export function style(format: Parameters<typeof styleText>[0], text: string): string {
  const styled = styleText(format, visible(text), { stream: process.stdout });
  if (!styled.includes("\u001b")) return styled;
  ownEscape ??= randomUUID();
  return styled.replaceAll("\u001b", ownEscape);
}

/** Prints aligned columns that fit the terminal; without a terminal, lines with tabs between complete cells. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  // Before the layout, because an escaped character is wider.
  const clean = rows.map(row => row.map(visible));
  if (!isTerminal()) {
    for (const row of clean) process.stdout.write(`${row.join("\t")}\n`);
    return;
  }
  // A note says that there is nothing.
  if (rows.length === 0) return;
  // Some terminals report 0 columns.
  const [head = [], ...lines] = layOutTable(header, clean, process.stdout.columns || undefined);
  for (const line of head) print(style("bold", line));
  for (const line of lines.flat()) print(line);
}

/**
 * Prints a text after a head, as one line; on a terminal wrapped to its width, with further lines indented. `longer`: how much longer than the
 * indent the head is.
 */
export function printBeside(head: string, indent: number, text: string, longer = 0): void {
  const { columns } = process.stdout;
  const width = isTerminal() && columns ? Math.max(columns - indent, 30) : Number.POSITIVE_INFINITY;
  const [first = "", ...more] = wrapWords(visible(text), width, longer);
  print(`${head}${first}`, ...more.map(line => `${" ".repeat(indent)}${line}`));
}

/** One reader for all questions, because it may have buffered the answers to later ones. */
let reader: { readonly lines: AsyncIterator<string>; isOver: boolean; pause(): void; resume(): void } | undefined;

/** Asks a yes-or-no question. False without a terminal, because nobody can answer, and at the end of the input (Ctrl+D). */
export async function confirm(question: string): Promise<boolean> {
  if (process.stdin.isTTY !== true) return false;
  errorOutput().write(`${visible(question)} [y/N] `);
  if (reader === undefined) {
    const { createInterface } = await import("node:readline");
    // With terminal: false the terminal itself edits lines, so early input is kept and Ctrl+C ends the command.
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
  // Further input belongs to the next program, such as an editor.
  if (!reader.isOver) reader.pause();
  // Standard input must not keep the command running.
  process.stdin.unref();
  if (done === true) errorOutput().write("\n");
  return /^y(es)?$/i.test(answer.trim());
}

/** Asks, and throws CommandError unless the answer is yes. `refusal` says what was not done. */
export async function confirmOrThrow(question: string, refusal: string): Promise<void> {
  if (await confirm(question)) return;
  throw new CommandError(process.stdin.isTTY === true ? refusal : `${refusal} Answer yes, or pass --yes.`);
}

function asLine(text: string): string {
  const shown = visible(text);
  return `${ownEscape === undefined ? shown : shown.replaceAll(ownEscape, "\u001b")}\n`;
}
