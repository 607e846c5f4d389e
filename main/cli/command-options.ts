import { type Command, Option } from "commander";

/** What every command that talks to a daemon takes. */
export interface SessionOptions {
  readonly home?: string;
  readonly keyFile?: string;
  /** False with `--no-start`. */
  readonly start: boolean;
}

export interface OutputOptions {
  readonly json?: boolean;
}

export interface RepositoryOptions {
  /** Id or name; else the repository whose folder holds the current one. */
  readonly repo?: string;
}

export function addHomeOption(command: Command): Command {
  return command.option("--home <dir>", "the home folder (default: REPOCONF_HOME, else the system's data folder)");
}

export function addSessionOptions(command: Command): Command {
  return addHomeOption(command)
    .option("--key-file <file>", "the file that holds the API key (default: REPOCONF_API_KEY, else the owner's key)")
    .option("--no-start", "fail if no daemon runs, instead of starting one");
}

export function addJsonOption(command: Command): Command {
  return command.option("--json", "print JSON, for programs");
}

export function addRepositoryOption(command: Command): Command {
  return command.addOption(
    new Option("--repo <repository>", "id or name of the repository (default: the one whose folder holds this one)"),
  );
}
