import { Command, InvalidArgumentError, Option } from "commander";
import { describeCause } from "../files/describe-cause.ts";
import {
  changeRows,
  connectionRows,
  homeRow,
  jsonRow,
  layerRows,
  type OptionRow,
  repositoryRow,
  sessionRows,
} from "./options.ts";
import { CommandError, exitCodes } from "./output/exit-codes.ts";

/** Options of every command that connects to a daemon. */
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
  /** Id or name; by default the repository that contains the current folder. */
  readonly repo?: string;
}

const parsers = {
  one: onlyOnce,
  several: (value: string, previous: unknown) => [...(Array.isArray(previous) ? previous : []), value],
  revision: parseRevision,
  limit: parseLimit,
};

/** Adds options of the table in options.ts. */
export function addOptions(command: Command, rows: readonly OptionRow[]): Command {
  for (const { flags, description, takes, choices } of rows) {
    const option = new Option(flags, description);
    if (choices !== undefined) option.choices(choices).default(choices[0]);
    command.addOption(takes === undefined ? option : option.argParser(parsers[takes]));
  }
  return command;
}

export function addHomeOption(command: Command): Command {
  return addOptions(command, [homeRow]);
}

/** Adds the options of commands that connect to a daemon but never start one. */
export function addConnectionOptions(command: Command): Command {
  return addOptions(command, connectionRows);
}

export function addSessionOptions(command: Command): Command {
  return addOptions(command, sessionRows);
}

export function addJsonOption(command: Command): Command {
  return addOptions(command, [jsonRow]);
}

export function addRepositoryOption(command: Command): Command {
  return addOptions(command, [repositoryRow]);
}

/** Which layer a command reads or writes; by default, where the value that counts is stored. */
export interface LayerOptions {
  readonly local?: boolean;
  readonly shared?: boolean;
}

/** Adds the options of commands that read or write one layer. */
export function addLayerOptions(command: Command): Command {
  return addOptions(command, layerRows);
}

/** Options for every command that writes values. */
export interface WriteOptions extends LayerOptions {
  readonly ifRevision?: number;
  readonly atomic?: boolean;
  readonly dryRun?: boolean;
  readonly reason?: string;
}

export interface RepositoriesOptions {
  /** Ids or names; by default the repository that contains the current folder. */
  readonly repo?: readonly string[];
  /** A query that selects the repositories instead. */
  readonly where?: string;
  readonly yes?: boolean;
}

/** Adds the options of commands that change one repository. */
export function addChangeOptions(command: Command): Command {
  return addOptions(command, changeRows);
}

/** Options that most commands accept; they may also precede the command name. */
export function leadingOptions(): readonly Option[] {
  return addJsonOption(addRepositoryOption(addSessionOptions(new Command()))).options;
}

/** `-C DIR` before the command name, as in git. */
export const startFolderOption = new Option("-C <dir>", "run as if repoconf was started in this folder");

/** Changes to the folder that `-C` names. Throws CommandError. */
export function enterStartFolder(program: Command): void {
  const folder: unknown = program.getOptionValue(startFolderOption.attributeName());
  if (typeof folder !== "string") return;
  try {
    process.chdir(folder);
  } catch (error) {
    const cause = describeCause(error);
    throw new CommandError(`Cannot change to the folder given with -C: ${cause}`, exitCodes.usage);
  }
}

/** Passes options that precede the command name to the command, which rejects those that it does not have. */
export function applyLeadingOptions(program: Command, command: Command): void {
  for (const option of program.options) {
    const name = option.attributeName();
    if (program.getOptionValueSource(name) !== "cli" || option.short === startFolderOption.short) continue;
    const taken = command.options.find(one => one.attributeName() === name);
    if (taken === undefined) command.error(`error: unknown option '${option.long}'`);
    if (command.getOptionValueSource(name) === "cli" && option.required)
      command.error(`error: ${option.long} is given both before and after the command`);
    const value = program.getOptionValue(name);
    const one: unknown = taken?.variadic ? [value] : value;
    command.setOptionValueWithSource(name, taken?.parseArg?.(value, undefined) ?? one, "cli");
  }
}

/** An empty reason is valid. The commands with an empty --where report it themselves. */
const mayBeEmpty: ReadonlySet<string> = new Set(["reason", "where"]);

/**
 * Refuses an option whose value is empty: probably a variable of a script is not set, and then the option's default, such as all
 * repositories or the owner's key, would be wrong. Throws CommandError.
 */
export function refuseEmptyOptions(_: Command, command: Command): void {
  for (let one: Command | null = command; one !== null; one = one.parent)
    for (const option of one.options) {
      const name = option.attributeName();
      if (mayBeEmpty.has(name) || one.getOptionValueSource(name) !== "cli") continue;
      const values: readonly unknown[] = [one.getOptionValue(name)].flat();
      if (values.some(value => typeof value === "string" && value.trim() === ""))
        throw new CommandError(
          `The value of ${option.long ?? option.short} is empty: perhaps a variable is not set. Give it a value, or leave the option out.`,
          exitCodes.usage,
        );
    }
}

/** Commander would use the last one, but a change must not guess which repository was meant. */
function onlyOnce(value: string, previous: unknown): string {
  if (previous !== undefined) throw new InvalidArgumentError("It is given twice; name a single repository.");
  return value;
}

/** Parses a revision. Throws InvalidArgumentError. */
export function parseRevision(text: string): number {
  const revision = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(revision)) return revision;
  throw new InvalidArgumentError("A revision is a whole number, such as 12. To list revisions: repoconf history");
}

/** Parses the value of --limit. Throws InvalidArgumentError. */
export function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d{1,9}$/.test(text) && limit > 0) return limit;
  throw new InvalidArgumentError("It must be a whole number, 1 or greater.");
}
