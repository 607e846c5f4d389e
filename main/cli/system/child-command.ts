import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { isatty } from "node:tty";
import { systemErrorCode } from "../../files/file-system.ts";
import { printFailure } from "../output/terminal.ts";

/** The exit codes of shells for a command that does not exist, and for one that cannot be run. */
const notFound = 127;
const notExecutable = 126;
/** Milliseconds between SIGTERM and SIGKILL when a command is restarted. */
const gracePeriod = 10_000;

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/** The user's command. It shares our standard input, output and error; with `input`, it reads that instead of ours. */
export class ChildCommand {
  readonly #child: ChildProcess;
  /** Resolves with the exit code as shells report it: 128 plus the signal number after a signal. */
  readonly ended: Promise<number>;

  constructor(command: readonly string[], environment: { readonly [name: string]: string }, input?: string) {
    const [program = "", ...args] = command;
    const stdio = [input === undefined ? "inherit" : "pipe", "inherit", "inherit"] as const;
    this.#child = spawn(program, args, { env: { ...process.env, ...environment }, stdio: [...stdio] });
    // It may end without reading all of it.
    this.#child.stdin?.on("error", () => {});
    this.#child.stdin?.end(input);
    this.ended = new Promise(resolve => {
      this.#child.once("error", error => resolve(cannotStart(program, error)));
      this.#child.once("exit", (code, signal) => resolve(code ?? codeOfSignal(signal)));
    });
  }

  get hasStarted(): boolean {
    return this.#child.pid !== undefined;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends SIGTERM, and SIGKILL if the command does not exit. */
  async stop(): Promise<void> {
    this.kill("SIGTERM");
    const timer = setTimeout(() => this.kill("SIGKILL"), gracePeriod);
    await this.ended;
    clearTimeout(timer);
  }
}

/** Forwards signals until disposed, except Ctrl+C on a terminal, which the command gets anyway and would see twice. */
export function forwardSignals(onSignal: (signal: NodeJS.Signals, isForCommand: boolean) => void): Disposable {
  // Does not touch process.stdin, which would start to read the command's input.
  const hasTerminal = [0, 1, 2].some(descriptor => isatty(descriptor));
  const handlers = forwarded.map(signal => {
    const isFromTerminal = hasTerminal && (signal === "SIGINT" || signal === "SIGQUIT");
    const handler = () => onSignal(signal, !isFromTerminal);
    process.on(signal, handler);
    return () => process.off(signal, handler);
  });
  return {
    [Symbol.dispose]: () => {
      for (const remove of handlers) remove();
    },
  };
}

/** Runs the command, and passes on signals. Resolves with its exit code. */
export async function runOnce(
  command: readonly string[],
  environment: { readonly [name: string]: string },
): Promise<number> {
  const child = new ChildCommand(command, environment);
  using _signals = forwardSignals((signal, isForCommand) => {
    if (isForCommand) child.kill(signal);
  });
  return await child.ended;
}

export function codeOfSignal(signal: NodeJS.Signals | null): number {
  return 128 + (signal === null ? 0 : constants.signals[signal]);
}

function cannotStart(program: string, error: Error): number {
  const code = systemErrorCode(error);
  if (code === "ENOENT") {
    printFailure(`${program}: command not found.`);
    return notFound;
  }
  printFailure(`Cannot run ${program}: ${error.message}`);
  return notExecutable;
}
