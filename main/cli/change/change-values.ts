import type { Command } from "commander";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import type { ChangeArguments, ChangedRepository, Reply, RepositoryEntry } from "../../../shared/protocol.ts";
import { parseQuery } from "../../../shared/query/parse-query.ts";
import {
  effectsOf,
  needsEffects,
  type ToldEffects,
  toldChanges,
  type ValueChanges,
} from "../../../shared/typed-changes.ts";
import {
  addOptions,
  type OutputOptions,
  type RepositoriesOptions,
  type SessionOptions,
  type WriteOptions,
} from "../command-options.ts";
import type { Fields } from "../connect/fields.ts";
import { chooseRepository, chooseToChange } from "../connect/repositories.ts";
import { changeValuesRows } from "../options.ts";
import { changeArguments, printChangeJson, printChanges, throwRefusal, warnOfSecrets } from "../output/changes.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { printableResult } from "../output/masking.ts";
import { print, printJson } from "../output/terminal.ts";
import { confirmChange, labels, type Preview, previewChanges } from "./preview-changes.ts";

export interface ChangeValuesOptions extends SessionOptions, OutputOptions, RepositoriesOptions, WriteOptions {}

/** Adds the options of `set` and `unset`. */
export function addChangeValuesOptions(command: Command): Command {
  return addOptions(command, changeValuesRows);
}

/** Makes the changes in every repository that the options select, and prints them. Throws the errors of refused changes. */
export async function changeValues(
  client: RepoconfClient,
  fields: Fields,
  changes: ValueChanges,
  options: ChangeValuesOptions,
): Promise<void> {
  const { values, unset, edits } = changes;
  const readFields = async () => fields;
  const repositories = await chooseRepositories(client, options);
  const [first, second] = repositories;
  if (first === undefined) throw nothingFound(options.where);
  const isOne = second === undefined;
  if (!isOne && options.ifRevision !== undefined)
    throw new CommandError("--if-revision applies to a single repository; name one.", exitCodes.usage);
  const isUnset = Object.keys(values).length === 0 && edits.length === 0;
  const repo = isOne ? first.id : repositories.map(({ id }) => id);
  const send = (more: Pick<ChangeArguments, "revision" | "dryRun"> = {}) => {
    const how = { ...changeArguments(options), ...more, repo };
    return isUnset
      ? client.request("config/unset", { ...how, fields: unset })
      : client.request("config/set", { ...values, ...how, unset, edits });
  };
  let revisions: Preview["revisions"] | undefined;
  if (!isOne && (options.dryRun ? !options.json : !options.yes)) {
    const tryOut = (at: Preview["revisions"]) => send({ revision: at, dryRun: true });
    const preview = await previewChanges(client, { repositories, unset, fields, tryOut });
    if (options.dryRun) {
      print(...preview.lines, "Nothing was changed (--dry-run).");
      return throwRefusal(preview.reply, readFields);
    }
    if (preview.count > 1) await confirmChange(preview.lines, `Change these ${preview.count} repositories?`);
    // The set is refused if a repository has changed since, because the user agreed only to what was shown.
    ({ revisions } = preview);
  }
  const effects = isOne && !options.json ? await findEffects(client, first.id, changes, fields) : new Map();
  const told = toldChanges(changes, effects);
  const reply = await send(revisions && { revision: revisions });
  if (options.json) {
    if (isOne) await printChangeJson(reply, readFields);
    else printAllJson(reply, fields);
  } else {
    const labelOf = labels(repositories);
    const headOf = ({ repo: id }: ChangedRepository) => (isOne ? "" : `${labelOf(id)}: `);
    printChanges(reply.result, { changes: told, fields, dryRun: options.dryRun === true, headOf });
    printHowToUndo(reply.result, repositories);
  }
  warnOfSecrets(reply.result, told, fields);
  await throwRefusal(reply, readFields);
}

/** A change of several repositories is undone as a whole by its batch. */
function printHowToUndo(result: readonly ChangedRepository[], before: readonly RepositoryEntry[]): void {
  const revisions = new Map(before.map(({ id, revision }) => [id, revision]));
  const changed = result.filter(({ repo, revision }) => revision > (revisions.get(repo) ?? 0));
  const [first, second] = changed;
  if (first?.batch !== undefined && second !== undefined)
    print(`To undo this in all ${changed.length} repositories: repoconf undo --batch ${first.batch}`);
}

async function chooseRepositories(
  client: RepoconfClient,
  { repo, where }: RepositoriesOptions,
): Promise<readonly RepositoryEntry[]> {
  if (where === undefined) {
    if (repo === undefined) return [await chooseToChange(client, undefined)];
    const named = await Promise.all(repo.map(name => chooseRepository(client, name)));
    return [...new Map(named.map(entry => [entry.id, entry])).values()];
  }
  if (repo !== undefined) throw new CommandError("Use either --repo or --where, not both.", exitCodes.usage);
  // A query without conditions finds everything. It is probably a mistake, such as --where "$UNSET".
  if (parseQuery(where, Date.now()).length === 0)
    throw new CommandError(
      "The query of --where is empty: perhaps a variable is not set. For all repositories: --where 'repo:*'",
      exitCodes.usage,
    );
  const found = new Set<string>();
  for await (const hit of client.search(where)) found.add(hit.repo);
  return (await client.repositories()).filter(({ id }) => found.has(id));
}

function nothingFound(query: string | undefined): CommandError {
  return new CommandError(`No repository matches ${JSON.stringify(query)}. Try the query first: repoconf search`);
}

/** See `effectsOf`. Others may change the repository meanwhile; only a message depends on it. */
async function findEffects(
  client: RepoconfClient,
  repo: string,
  changes: ValueChanges,
  fields: Fields,
): Promise<ToldEffects> {
  if (!needsEffects(changes)) return new Map();
  const [active = {}, stored = {}] = await Promise.all(
    [false, true].map(
      async only => (await client.request("config/list", { repo, ...(only && { stored: true }) })).result,
    ),
  );
  return effectsOf(changes, active, stored, fields);
}

function printAllJson({ result, errors }: Reply<readonly ChangedRepository[]>, fields: Fields): void {
  const repositories = result.map(changed => printableResult(changed, fields));
  printJson({ repositories, ...(errors.length > 0 && { errors }) });
}
