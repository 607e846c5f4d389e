import { RepoconfError } from "../../shared/errors.ts";

/** What a command leaves with. Documented in docs/cli.md. */
export const exitCodes = {
  done: 0,
  /** Something that has no code of its own. */
  failed: 1,
  usage: 2,
  /** The daemon refused a field, a value or a revision. */
  refused: 3,
  noDaemon: 4,
  notAllowed: 5,
  /** Only from a daemon started in the background: another process has the home. */
  homeInUse: 6,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A command that cannot go on, with what a person should do next as its message. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The exit code for whatever a command threw. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exitCode;
  if (!(error instanceof RepoconfError)) return exitCodes.failed;
  switch (error.code) {
    case 1007:
      // Of a repository as a whole, it is the key that does not reach.
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
