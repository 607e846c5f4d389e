import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { isatty } from "node:tty";
import { systemErrorCode } from "../files/file-system.ts";
import { printFailure } from "./terminal.ts";

/** What shells leave with for a command that is not there, and for one that cannot be run. */
const notFound = 127;
const notExecutable = 126;
/** Milliseconds that a command gets to end by itself before it is restarted. */
const patience = 10_000;

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/** A person's command, with standard input, output and error of our own. */
export class ChildCommand {
  readonly #child: ChildProcess;
  /** Resolves with the exit code as a shell reports it: 128 plus the number of a signal. */
  readonly ended: Promise<number>;

  constructor(command: readonly string[], environment: { readonly [name: string]: string }) {
    const [program = "", ...args] = command;
    this.#child = spawn(program, args, { env: { ...process.env, ...environment }, stdio: "inherit" });
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

  /** Asks it to end, and ends it if it does not. */
  async stop(): Promise<void> {
    this.kill("SIGTERM");
    const timer = setTimeout(() => this.kill("SIGKILL"), patience);
    await this.ended;
    clearTimeout(timer);
  }
}

/** Forwards signals until it is disposed. Not Ctrl+C on a terminal: the command gets that signal anyway, and would see it twice. */
export function forwardSignals(onSignal: (signal: NodeJS.Signals, isForCommand: boolean) => void): Disposable {
  // Not with process.stdin, which would start to read the command's input.
  const isTerminals = [0, 1, 2].some(descriptor => isatty(descriptor));
  const handlers = forwarded.map(signal => {
    const comesByItself = isTerminals && (signal === "SIGINT" || signal === "SIGQUIT");
    const handler = () => onSignal(signal, !comesByItself);
    process.on(signal, handler);
    return () => process.off(signal, handler);
  });
  return {
    [Symbol.dispose]: () => {
      for (const remove of handlers) remove();
    },
  };
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
