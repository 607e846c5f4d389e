import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isatty } from "node:tty";
import { systemErrorCode } from "../../files/file-system.ts";
import { printFailure } from "../output/terminal.ts";
import { isInForeground } from "./foreground.ts";
import { Redactor } from "./redactor.ts";

/** The exit codes of shells for a command that does not exist, and for one that cannot be run. */
const notFound = 127;
const notExecutable = 126;
/** Milliseconds between SIGTERM and SIGKILL when a command is restarted. */
const gracePeriod = 10_000;

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

export interface ChildOptions {
  /** What the command reads, instead of our standard input. */
  readonly input?: string;
  /** What is masked in its output and its errors, where these are no terminal. */
  readonly secrets?: Iterable<string>;
}

/** The user's command. It shares our standard input, output and error, but for `ChildOptions`. */
export class ChildCommand {
  /** Undefined if the system refused to start one. */
  readonly #child: ChildProcess | undefined;
  /** Resolves with the exit code as shells report it: 128 plus the signal number after a signal. */
  readonly ended: Promise<number>;

  constructor(
    command: readonly string[],
    environment: { readonly [name: string]: string },
    { input, secrets }: ChildOptions = {},
  ) {
    const [program = "", ...args] = command;
    const masked = (descriptor: number) => (secrets === undefined || isatty(descriptor) ? "inherit" : "pipe");
    const stdio = [input === undefined ? "inherit" : "pipe", masked(1), masked(2)] as const;
    let child: ChildProcess;
    try {
      child = spawn(program, args, { env: { ...process.env, ...environment }, stdio: [...stdio] });
    } catch (error) {
      // Arguments and environment may be too long.
      this.ended = Promise.resolve(cannotStart(program, error instanceof Error ? error : new Error(String(error))));
      return;
    }
    this.#child = child;
    const { stdout, stderr } = child;
    const written = [
      stdout && redact(stdout, process.stdout, secrets),
      stderr && redact(stderr, process.stderr, secrets),
    ];
    // It may end without reading all of it.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
    this.ended = new Promise(resolve => {
      child.once("error", error => resolve(cannotStart(program, error)));
      child.once("exit", async (code, signal) => {
        // What it has left running may print more.
        await Promise.all(written);
        resolve(code ?? codeOfSignal(signal));
      });
    });
  }

  get hasStarted(): boolean {
    return this.#child?.pid !== undefined;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
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
  const handlers = forwarded.map(signal => {
    const isKey = signal === "SIGINT" || signal === "SIGQUIT";
    const handler = () => onSignal(signal, !(isKey && isInForeground()));
    process.on(signal, handler);
    return () => process.off(signal, handler);
  });
  return {
    [Symbol.dispose]: () => {
      for (const remove of handlers) remove();
    },
  };
}

/** Resolves when all of it is written, or nobody reads it any more. */
async function redact(from: Readable, to: NodeJS.WriteStream, secrets: Iterable<string> = []): Promise<void> {
  const redactor = new Redactor(secrets);
  const masking = new Transform({
    transform: (part: Buffer, _encoding, done) => done(null, redactor.push(part)),
    flush: done => done(null, redactor.end()),
  });
  await pipeline(from, masking, to, { end: false }).catch(error => {
    // A reader that has left is no mistake: the command notices when it writes more.
    if (!["EPIPE", "ERR_STREAM_PREMATURE_CLOSE"].includes(systemErrorCode(error) ?? "")) throw error;
    from.destroy();
  });
}

/** Runs the command as a child, and passes on signals. Resolves with its exit code. */
export async function runOnce(
  command: readonly string[],
  environment: { readonly [name: string]: string },
  options?: ChildOptions,
): Promise<number> {
  const child = new ChildCommand(command, environment, options);
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
