import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { type RepoconfClient, RequestError } from "../../shared/client/client.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { ChangedRepository } from "../../shared/protocol.ts";
import {
  addJsonOption,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "./command-options.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { listFields, readValue, showValue, withSuggestion } from "./fields.ts";
import { chooseRepository } from "./repositories.ts";
import { print, printJson, visible } from "./terminal.ts";

export interface ChangeCommandOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly atomic?: boolean;
  readonly dryRun?: boolean;
  readonly reason?: string;
}

/** `repoconf set FIELD=VALUE...`: all of them in one revision. */
export function addSetCommand(program: Command): void {
  addChangeOptions(addJsonOption(addRepositoryOption(addSessionOptions(program.command("set")))))
    .argument(
      "<field=value...>",
      "the value as the field's type has it; @FILE reads a file, - standard input, @@ is an @",
    )
    .description("set fields of a repository")
    .action(set);
}

/** What `set` and `unset` share. */
export function addChangeOptions(command: Command): Command {
  return command
    .option("--atomic", "all of it or nothing")
    .option("--dry-run", "only say what would be")
    .option("--reason <text>", "why, for whoever watches");
}

async function set(assignments: readonly string[], options: ChangeCommandOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  const texts = await readAssignments(assignments);
  await withSession(options, async ({ client }) => {
    const { id } = await chooseRepository(client, options.repo);
    const fields = await listFields(client);
    const values: { [field: string]: JsonValue } = {};
    for (const [field, value] of texts) values[field] = readValue(value, fields.get(field));
    const reply = await client.request("config/set", { ...values, ...changeArguments(options), repo: id });
    await printChange(client, reply.result, options, "Set");
    const [first] = reply.errors;
    if (first !== undefined) throw await withSuggestion(client, new RequestError(first, reply));
  });
}

export function changeArguments({ atomic, dryRun, reason }: ChangeCommandOptions) {
  return { ...(atomic && { atomic }), ...(dryRun && { dryRun }), ...(reason !== undefined && { reason }) };
}

/** Says what a change did: what was refused is said by the error that follows. */
export async function printChange(
  client: RepoconfClient,
  [changed]: readonly ChangedRepository[],
  options: ChangeCommandOptions,
  done: string,
): Promise<void> {
  if (options.json) return printJson(changed ?? null);
  if (changed === undefined) return;
  const fields = await listFields(client);
  for (const [scope, values] of Object.entries(changed.config)) {
    for (const [field, { value }] of Object.entries(values)) {
      const path = joinConfigPath(scope, field);
      print(
        `${options.dryRun ? `Would be: ${done.toLowerCase()}` : done} ${path} = ${visible(showValue(value, fields.get(path), false))}`,
      );
    }
  }
}

async function readAssignments(assignments: readonly string[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const assignment of assignments) {
    const end = assignment.indexOf("=");
    if (end < 1) throw new CommandError(`"${assignment}" is not of the form FIELD=VALUE.`, exitCodes.usage);
    const field = assignment.slice(0, end);
    if (texts.has(field)) throw new CommandError(`${field} is given twice.`, exitCodes.usage);
    const given = assignment.slice(end + 1);
    if (given === "-" && assignments.filter(other => other.endsWith("=-")).length > 1) {
      throw new CommandError("Standard input can be read for one field only.", exitCodes.usage);
    }
    texts.set(field, await readText(given));
  }
  return texts;
}

async function readText(given: string): Promise<string> {
  if (given === "-") return withoutLineEnd(await text(process.stdin));
  if (given.startsWith("@@")) return given.slice(1);
  if (!given.startsWith("@")) return given;
  try {
    return withoutLineEnd(await readFile(given.slice(1), "utf8"));
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new CommandError(`${given.slice(1)} cannot be read: ${cause}`, exitCodes.usage);
  }
}

/** The line end that editors and echo put at the end is no part of the value. */
function withoutLineEnd(content: string): string {
  return content.replace(/\r?\n$/, "");
}
