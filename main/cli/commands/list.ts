import type { Command } from "commander";
import { type Config, configEntries, configValue } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { forgottenMark } from "../change/describe-change.ts";
import { addOptions, type OutputOptions, type RepositoryOptions, type SessionOptions } from "../command-options.ts";
import { listFields, readConfig, showValue } from "../connect/fields.ts";
import type { Requests } from "../connect/requests.ts";
import { listRows } from "../options.ts";
import { printableConfig, withHidden } from "../output/masking.ts";
import { isTerminal, print, printJson, printTable, style } from "../output/terminal.ts";

export interface ListOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly revision?: number;
  readonly stored?: boolean;
  readonly reveal?: boolean;
  readonly withRevision?: boolean;
}

/** `repoconf list [field|scope]`: shows effective values, and marks stored ones. */
export function addListCommand(program: Command): void {
  addOptions(program.command("list"), listRows)
    .argument("[field|scope]", "only this field (svc.timeout) or scope (svc)")
    .description("show the values of a repository")
    .action(list);
}

async function list(wanted: string | undefined, options: ListOptions): Promise<void> {
  const { withRepository } = await import("../connect/repositories.ts");
  await withRepository(options, (client, repository) => printList(client, repository, wanted, options));
}

/** Throws RequestError, CommandError. */
export async function printList(
  client: Requests,
  repository: RepositoryEntry,
  wanted: string | undefined,
  options: ListOptions,
): Promise<void> {
  const part = wanted === undefined ? {} : wanted.includes(".") ? { field: wanted } : { scope: wanted };
  const { revision } = options;
  const place = { repo: repository.id, ...(revision !== undefined && { revision }) };
  const read = await readConfig(client, { ...place, ...part, ...(options.stored && { stored: true }) });
  const config = withHidden(read.config, read.masked);
  if (options.json || options.withRevision) {
    const shown = options.reveal ? config : printableConfig(config, await listFields(client));
    return printJson(options.withRevision ? { revision: read.revision, config: shown } : shown);
  }
  const [fields, stored] = await Promise.all([
    listFields(client),
    readConfig(client, { ...place, stored: true }).then(one => withHidden(one.config, one.masked)),
  ]);
  const rows = [...configEntries(config)].map(({ scope, field, value }) => {
    const path = joinConfigPath(scope, field);
    const shown = showValue(value, fields.get(path), options.reveal === true);
    const isStored = configValue(stored, scope, field) !== undefined;
    // For an older revision, the text of the file is not known.
    const lastGood = isStored && revision === undefined && isRefused(path, repository);
    return [path, shown, lastGood ? "last valid" : isStored ? "stored" : "default"];
  });
  const missing = revision === undefined || options.stored ? [] : missingFields(fields.keys(), config, wanted);
  for (const path of missing) rows.push([path, forgottenMark, ""]);
  const which = revision === undefined ? `revision ${read.revision}` : `revision ${revision} of ${repository.revision}`;
  if (isTerminal()) print(style("dim", `${repository.name} (${repository.id}), ${which}`));
  printTable(["FIELD", "VALUE", "FROM"], rows);
}

/** Whether the field's value in the file, or the whole file, is invalid. */
function isRefused(path: string, { health }: RepositoryEntry): boolean {
  return health.some(({ code, field }) => field === path || (field === undefined && code === 1106));
}

/** Every field has a value at every revision, unless it was erased. */
function missingFields(paths: Iterable<string>, config: Config, wanted: string | undefined): string[] {
  const listed = new Set([...configEntries(config)].map(({ scope, field }) => joinConfigPath(scope, field)));
  return [...paths].filter(
    path => !listed.has(path) && (wanted === undefined || path === wanted || path.startsWith(`${wanted}.`)),
  );
}
