import { changeValuesRows, getRows, type OptionRow } from "../options.ts";
import { endProcess, watchOutput } from "../output/end-process.ts";
import { exitCodeOf } from "../output/exit-codes.ts";
import { describeError } from "../output/messages.ts";
import { printFailure } from "../output/terminal.ts";
import { set, unset } from "./change.ts";
import { get } from "./get.ts";
import { readPlainly } from "./plain-arguments.ts";

interface OneShotCommand {
  readonly rows: readonly OptionRow[];
  /** The least and the most operands. */
  readonly operands: readonly [least: number, most: number];
  /** False if nothing was done or printed, and the long way has more to say or to do. */
  run(operands: readonly string[], options: object): Promise<boolean>;
}

/** `rows` and `Options` fit together, as in the command's own file. */
const command = <Options>(
  rows: readonly OptionRow[],
  operands: OneShotCommand["operands"],
  run: (operands: readonly string[], options: Options) => Promise<boolean>,
): OneShotCommand => ({ rows, operands, run: (given, options) => run(given, options as Options) });

const any = Number.POSITIVE_INFINITY;

const commands = {
  get: command(getRows, [1, any], get),
  set: command(changeValuesRows, [1, any], set),
  unset: command(changeValuesRows, [1, any], unset),
};

export type OneShotName = keyof typeof commands;

/**
 * Runs a command as one request over the Unix socket, and exits. Returns if it takes the long way (program.ts), which shares nothing with
 * this one but the definitions of options and what both print with.
 */
export async function runOneShot(name: OneShotName, args: readonly string[]): Promise<void> {
  const { rows, operands, run } = commands[name];
  // The long way looks at arguments in other encodings, and closes a debugger.
  if (process.env["NODE_OPTIONS"] || args.some(one => one.includes("\uFFFD"))) return;
  const read = readPlainly(args, rows);
  const count = read?.operands.length ?? -1;
  if (read === undefined || count < operands[0] || count > operands[1]) return;
  watchOutput();
  try {
    if (!(await run(read.operands, read.options))) return;
  } catch (error) {
    printFailure(describeError(error));
    process.exitCode = exitCodeOf(error);
  }
  await endProcess();
}
