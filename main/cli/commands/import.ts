import type { Command } from "commander";
import { type RepoconfClient, RequestError } from "../../../shared/client/client.ts";
import { configValue } from "../../../shared/config.ts";
import { splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { OperationArguments, Reply, RepositoryEntry } from "../../../shared/protocol.ts";
import {
  addJsonOption,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "../command-options.ts";
import { type Fields, listFields, showValue } from "../connect/fields.ts";
import { chooseRepository } from "../connect/repositories.ts";
import type { ReadValues } from "../environment/formats.ts";
import { warnOfPlainSecrets } from "../environment/secret-references.ts";
import { CommandError, exitCodeOf, exitCodes } from "../output/exit-codes.ts";
import { printable } from "../output/masking.ts";
import { confirmOrThrow, print, printJson, visible } from "../output/terminal.ts";
import { readNamedFile } from "../system/named-file.ts";
import { addFormatOption, formatOfFile, type ValuesFormat } from "./export.ts";

interface ImportOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly format?: ValuesFormat;
  readonly dryRun?: boolean;
  readonly ignoreUnknown?: boolean;
  readonly yes?: boolean;
}

interface Change {
  readonly field: string;
  /** Omitted if nothing is stored. */
  readonly previous?: JsonValue;
  readonly value: JsonValue;
}

/** `repoconf import FILE`: sets the values from a file, all in one revision or none. */
export function addImportCommand(program: Command): void {
  addFormatOption(addJsonOption(addRepositoryOption(addSessionOptions(program.command("import")))))
    .argument("<file>", "a file written by repoconf export, or one like it; - reads standard input")
    .summary("set the values from a file, after showing what would change")
    .description(
      "set the values from a file, after showing what would change\n\nA line of an env file that is neither a comment nor NAME=value, whose quotes are not closed, or that goes on behind them, refuses all of it.",
    )
    .option("--dry-run", "only show what would change")
    .option("--ignore-unknown", "skip values without a field")
    .option("--yes", "do not ask for confirmation")
    .action(importValues);
}

async function importValues(file: string, options: ImportOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const content = (await readNamedFile(file)).replace(/^\uFEFF/, "");
  await withSession(options, async ({ client }) => {
    const repository = await chooseRepository(client, options.repo);
    const fields = await listFields(client);
    const format = options.format ?? formatOfFile(file);
    const { readEnvironment, readJson } = await import("../environment/formats.ts");
    const name = file === "-" ? "standard input" : file;
    const wanted = (format === "env" ? readEnvironment : readJson)(
      content,
      fields,
      options.ignoreUnknown === true,
      name,
    );
    const stored = await client.request("config/list", { repo: repository.id, stored: true });
    failOnError(stored);
    const { revision = repository.revision } = stored;
    const set = { ...Object.fromEntries(wanted.values), repo: repository.id, revision, atomic: true, flush: true };
    await refuseUnlessValid(client, name, wanted, set);

    const changes: Change[] = [];
    for (const [field, value] of wanted.values) {
      const { scope, field: name } = splitConfigPath(field) ?? { scope: "", field };
      const previous = configValue(stored.result, scope, name);
      if (!sameJson(previous, value)) changes.push({ field, ...(previous !== undefined && { previous }), value });
    }
    if (!options.json) printPreview(changes, fields);
    if (changes.length === 0 || options.dryRun) return printOutcome(repository, revision, changes, fields, options);
    // Standard input cannot contain both the file and the answer.
    if (!options.yes) {
      if (file === "-") throw new CommandError("Nothing was changed. Standard input has the file, so pass --yes.");
      await confirmOrThrow(`Apply these changes to ${repository.name}?`, "Nothing was changed.");
    }
    const reply = await client.request("config/set", set);
    failOnError(reply);
    printOutcome(repository, reply.result[0]?.revision ?? revision, changes, fields, options);
    warnOfPlainSecrets(
      changes.map(({ field, value }) => [field, value] as const),
      fields,
    );
  });
}

/** Throws CommandError with all problems, if there are any. */
async function refuseUnlessValid(
  client: RepoconfClient,
  name: string,
  { values, problems }: ReadValues,
  set: OperationArguments<"config/set">,
): Promise<void> {
  const { errors } = values.size === 0 ? { errors: [] } : await client.request("config/set", { ...set, dryRun: true });
  const all = [...problems, ...errors.map(error => error.message)];
  if (all.length === 0) return;
  const [first] = errors;
  const code =
    first === undefined || problems.length > 0
      ? exitCodes.refused
      : exitCodeOf(new RepoconfError(first.code, first.message, first));
  throw new CommandError([`Nothing was changed; ${name} was rejected:`, ...all.map(visible)].join("\n"), code);
}

function printPreview(changes: readonly Change[], fields: Fields): void {
  for (const { field, previous, value } of changes) {
    const schema = fields.get(field);
    const show = (shown: JsonValue) => showValue(shown, schema, false);
    const before = previous === undefined ? `${show(schema?.default ?? null)} (default)` : show(previous);
    const hidden = before === show(value) ? " (the masked value differs)" : "";
    print(`${field}: ${before} -> ${show(value)}${hidden}`);
  }
}

function printOutcome(
  { id, name }: RepositoryEntry,
  revision: number,
  changes: readonly Change[],
  fields: Fields,
  { json, dryRun }: ImportOptions,
): void {
  const count = changes.length === 1 ? "1 field" : `${changes.length} fields`;
  if (json) printJson({ repo: id, revision, changes: changes.map(change => printableOf(change, fields)) });
  else if (changes.length === 0) print("Nothing to change.");
  else if (dryRun) print("Nothing was changed (--dry-run).");
  else print(`Imported ${count} into ${name} (${id}), revision ${revision}.`);
}

function printableOf({ field, previous, value }: Change, fields: Fields): Change {
  const show = (shown: JsonValue) => printable(field, shown, fields);
  return { field, ...(previous !== undefined && { previous: show(previous) }), value: show(value) };
}

function failOnError(reply: Reply): void {
  const [first] = reply.errors;
  if (first?.code === 1104) {
    const message =
      "Nothing was changed: somebody changed the repository in the meantime. Run the import again to see what would change now.";
    throw new CommandError(message, exitCodes.refused);
  }
  if (first !== undefined) throw new RequestError(first, reply);
}
