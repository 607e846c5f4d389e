import { type Command, Option } from "commander";
import { type RepoconfClient, RequestError } from "../../../shared/client/client.ts";
import { configValue } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import type { ChangedRepository, Reply } from "../../../shared/protocol.ts";
import {
  addJsonOption,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  parseRevision,
  type RepositoryOptions,
  type SessionOptions,
} from "../command-options.ts";
import { listFields, showValue, withSuggestion } from "../connect/fields.ts";
import { CommandError, exitCodeOf } from "../output/exit-codes.ts";
import { printableResult } from "../output/masking.ts";
import { describeError } from "../output/messages.ts";
import { print, printJson, printNote, visible } from "../output/terminal.ts";

/** Options for every command that writes values. */
export interface WriteOptions {
  readonly ifRevision?: number;
  readonly atomic?: boolean;
  readonly dryRun?: boolean;
  readonly reason?: string;
}

export interface ChangeCommandOptions extends SessionOptions, OutputOptions, RepositoryOptions, WriteOptions {}

/** Adds the options of commands that change one repository. */
export function addChangeOptions(command: Command): Command {
  return addWriteOptions(addJsonOption(addRepositoryOption(addSessionOptions(command))));
}

/** Adds the options of all commands that write values. */
export function addWriteOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--if-revision <n>",
        "change nothing and exit with code 3 unless the repository is at this revision",
      ).argParser(parseRevision),
    )
    .option("--atomic", "apply all of the changes or none")
    .option("--dry-run", "show what would change, without changing anything")
    .option("--reason <text>", "why, recorded in the history and shown to watchers");
}

/** The options as arguments of the operations. */
export function changeArguments({ ifRevision, atomic, dryRun, reason }: WriteOptions) {
  return {
    // The file must have the value when the command ends.
    flush: true,
    ...(ifRevision !== undefined && { revision: ifRevision }),
    ...(atomic && { atomic }),
    ...(dryRun && { dryRun }),
    ...(reason !== undefined && { reason }),
  };
}

/**
 * Prints what a restore changed, and throws the errors of refused fields. With --json it prints one object: the repository's if
 * anything changed, and `errors` if anything was refused.
 */
export async function reportRestored(
  client: RepoconfClient,
  reply: Reply<readonly ChangedRepository[]>,
  options: ChangeCommandOptions,
  from: number,
): Promise<void> {
  const [changed] = reply.result;
  if (options.json) await printChangeJson(client, reply);
  else if (changed !== undefined) await printRestored(client, changed, options, from);
  await throwRefusal(client, reply);
}

/** Prints the result of a change as JSON. `more` is added to the repository's object. */
export async function printChangeJson(
  client: RepoconfClient,
  { result: [changed], errors }: Reply<readonly ChangedRepository[]>,
  more = {},
): Promise<void> {
  const shown = changed && { ...printableResult(changed, await listFields(client)), ...more };
  printJson({ ...shown, ...(errors.length > 0 && { errors }) });
}

async function printRestored(
  client: RepoconfClient,
  changed: ChangedRepository,
  { dryRun }: ChangeCommandOptions,
  from: number,
): Promise<void> {
  const { repo, config } = changed;
  const fields = await listFields(client);
  // A field that was not stored at that revision has its default again.
  const stored = await client.run("config/list", { repo, revision: from, stored: true });
  for (const [scope, values] of Object.entries(config)) {
    for (const [field, { value }] of Object.entries(values)) {
      const path = joinConfigPath(scope, field);
      const shown = showValue(value, fields.get(path), false);
      const mark = configValue(stored, scope, field) === undefined ? " (default)" : "";
      print(`${dryRun ? "Would restore" : "Restored"} ${path} = ${shown}${mark}`);
    }
  }
  warnOfMirrorProblem(changed);
}

/** Warns that the file does not contain the change yet. */
export function warnOfMirrorProblem({ mirrorProblem }: ChangedRepository): void {
  if (mirrorProblem !== undefined)
    printNote(`The change is active, but it is not in the file yet: ${mirrorProblem}. Repoconf keeps retrying.`);
}

/** Throws all errors of the reply, with suggestions for unknown fields. */
export async function throwRefusal(client: RepoconfClient, reply: Reply): Promise<void> {
  if (reply.errors.length === 0) return;
  const errors = await Promise.all(reply.errors.map(entry => withSuggestion(client, new RequestError(entry, reply))));
  const [first, second] = errors;
  if (second === undefined) throw first;
  throw new CommandError(errors.map(describeError).map(visible).join("\n"), exitCodeOf(first));
}
