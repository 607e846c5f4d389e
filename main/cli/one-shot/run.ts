import type { Home } from "../../home/home.ts";
import {
  changeRows,
  changeValuesRows,
  describeRows,
  envRows,
  explainRows,
  getRows,
  historyRows,
  hookRows,
  listRows,
  type OptionRow,
  runRows,
} from "../options.ts";
import { endProcess, watchOutput } from "../output/end-process.ts";
import { exitCodeOf } from "../output/exit-codes.ts";
import { describeError } from "../output/messages.ts";
import { printFailure } from "../output/terminal.ts";
import { NoDaemonError } from "./ask-daemon.ts";
import { set, unset } from "./change.ts";
import { complete } from "./complete.ts";
import { describe } from "./describe.ts";
import { env, run } from "./environment.ts";
import { get } from "./get.ts";
import { hook, hookLoad } from "./hook.ts";
import { readPlainly } from "./plain-arguments.ts";
import { explain, history, list, undo } from "./repository.ts";

export type OneShotName =
  | "get"
  | "set"
  | "unset"
  | "env"
  | "run"
  | "describe"
  | "list"
  | "explain"
  | "history"
  | "undo"
  | "hook"
  | "hook-load"
  | "complete";

interface OneShotCommand {
  readonly rows: readonly OptionRow[];
  /** The least and the most operands. */
  readonly operands: readonly [least: number, most: number];
  /** Whether options after the first operand belong to it. */
  readonly endsAtOperand?: boolean;
  /** False if nothing was done or printed, and the long way has more to say or to do. */
  run(operands: readonly string[], options: object): Promise<boolean>;
}

/** `rows` and `Options` fit together, as in the command's own file. */
const command = <Options>(
  rows: readonly OptionRow[],
  operands: OneShotCommand["operands"],
  call: (operands: readonly string[], options: Options) => Promise<boolean>,
): OneShotCommand => ({ rows, operands, run: (given, options) => call(given, options as Options) });

const any = Number.POSITIVE_INFINITY;

const commands: { readonly [Name in OneShotName]: OneShotCommand } = {
  get: command(getRows, [1, any], get),
  set: command(changeValuesRows, [1, any], set),
  unset: command(changeValuesRows, [1, any], unset),
  env: command(envRows, [0, 0], env),
  describe: command(describeRows, [0, 1], describe),
  list: command(listRows, [0, 1], list),
  explain: command(explainRows, [1, 1], explain),
  history: command(historyRows, [0, 1], history),
  undo: command(changeRows, [0, 0], undo),
  hook: command(hookRows, [1, 1], hook),
  "hook-load": command(hookRows, [1, 1], hookLoad),
  complete: command([], [1, any], complete),
  // What is not plain after the command's name belongs to the command.
  run: { ...command(runRows, [1, any], run), endsAtOperand: true },
};

/**
 * Runs a command as one request over the Unix socket, and exits. Returns if it takes the long way (program.ts), which shares nothing with
 * this one but the definitions of options and what both print with; with the home, if only its daemon is missing.
 */
export async function runOneShot(name: OneShotName, args: readonly string[]): Promise<Home | undefined> {
  const { rows, operands, endsAtOperand, ...one } = commands[name];
  // The long way refuses arguments in other encodings.
  if (args.some(one => one.includes("\uFFFD"))) return undefined;
  const read = readPlainly(args, rows, endsAtOperand);
  const count = read?.operands.length ?? -1;
  if (read === undefined || count < operands[0] || count > operands[1]) return undefined;
  watchOutput();
  try {
    if (!(await one.run(read.operands, read.options))) return undefined;
  } catch (error) {
    if (error instanceof NoDaemonError) return error.home;
    printFailure(describeError(error));
    process.exitCode = exitCodeOf(error);
  }
  return endProcess();
}
