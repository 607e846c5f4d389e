import { RepoconfError } from "../../../shared/errors.ts";
import { foreignDisks } from "../../files/foreign-disks.ts";

/** The exit codes of commands, documented in docs/cli.md. */
export const exitCodes = {
  done: 0,
  /** Any failure without a code of its own. */
  failed: 1,
  usage: 2,
  /** The daemon refused a field, a value or a revision. */
  refused: 3,
  noDaemon: 4,
  notAllowed: 5,
  /** Only from a daemon started in the background: another process holds the home. */
  homeInUse: 6,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A failure of a command. The message says what is wrong and what the user can do next. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The exit code for an error that a command threw. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exitCode;
  if (!(error instanceof RepoconfError)) return exitCodes.failed;
  switch (error.code) {
    case 1007:
      // Without a field, the key may not access the repository.
      return error.field === undefined ? exitCodes.notAllowed : exitCodes.refused;
    case 1008:
    case 1011:
    case 1103:
    case 1104:
    case 1107:
    case 1110:
    case 1112:
    case 1114:
      return exitCodes.refused;
    case 1100:
    case 1105:
      return exitCodes.notAllowed;
    case 1200:
      return exitCodes.noDaemon;
    default:
      return exitCodes.failed;
  }
}

/**
 * Ends this process. Call it when everything is written. A normal exit waits for the threads of Node, so it would never come while a disk
 * of others does not answer.
 */
export function exitProcess(code = process.exitCode): never {
  if (foreignDisks.hung.length > 0) process.kill(process.pid, "SIGKILL");
  // Not exit(undefined), which would mean success.
  process.exit(code ?? exitCodes.done);
}
