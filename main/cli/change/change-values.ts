import type { Command } from "commander";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { type Config, configEntries, configValue } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { ChangeArguments, ChangedRepository, Reply, RepositoryEntry } from "../../../shared/protocol.ts";
import { parseQuery } from "../../../shared/query/parse-query.ts";
import { applyValueEdits, type ValueEdit } from "../../../shared/value-edit.ts";
import {
  addJsonOption,
  addRepositoriesOptions,
  addSessionOptions,
  type OutputOptions,
  type RepositoriesOptions,
  type SessionOptions,
} from "../command-options.ts";
import { type Fields, showValue } from "../connect/fields.ts";
import { chooseRepository } from "../connect/repositories.ts";
import { warnOfPlainSecrets } from "../environment/secret-references.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { printableResult } from "../output/masking.ts";
import { print, printJson } from "../output/terminal.ts";
import {
  addWriteOptions,
  changeArguments,
  printChangeJson,
  throwRefusal,
  type WriteOptions,
  warnOfMirrorProblem,
} from "./change.ts";
import { confirmChange, labels, type Preview, previewChanges } from "./preview-changes.ts";
import { describeAbsent, describeEdit } from "./value-place.ts";

export interface ChangeValuesOptions extends SessionOptions, OutputOptions, RepositoriesOptions, WriteOptions {}

/** Adds the options of `set` and `unset`. */
export function addChangeValuesOptions(command: Command): Command {
  return addWriteOptions(addRepositoriesOptions(addJsonOption(addSessionOptions(command))));
}

/** The changes to fields, and to places inside their values. */
export interface ValueChanges {
  readonly values: { readonly [field: string]: JsonValue };
  readonly unset: readonly string[];
  readonly edits: readonly ValueEdit[];
}

/** Makes the changes in every repository that the options select, and prints them. Throws the errors of refused changes. */
export async function changeValues(
  client: RepoconfClient,
  fields: Fields,
  { values, unset, edits }: ValueChanges,
  options: ChangeValuesOptions,
): Promise<void> {
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
      return throwRefusal(client, preview.reply);
    }
    if (preview.count > 1) await confirmChange(preview.lines, `Change these ${preview.count} repositories?`);
    // The set is refused if a repository has changed since, because the user agreed only to what was shown.
    ({ revisions } = preview);
  }
  const absent = isOne && !options.json ? await findAbsent(client, first.id, { unset, edits }, fields) : [];
  const reply = await send(revisions && { revision: revisions });
  if (options.json) {
    if (isOne) await printChangeJson(client, reply);
    else printAllJson(reply, fields);
  } else {
    const labelOf = labels(repositories);
    for (const changed of reply.result) {
      const head = isOne ? "" : `${labelOf(changed.repo)}: `;
      for (const line of describeChanges(changed, { unset, edits }, fields, absent))
        print(`${head}${options.dryRun ? `Would be: ${line}` : capitalized(line)}`);
      warnOfMirrorProblem(changed);
    }
    printHowToUndo(reply.result, repositories);
  }
  const given = [
    ...Object.entries(values),
    ...edits.map(({ field, value = null }) => [field, value as JsonValue] as const),
  ];
  const isSet = (path: string) => reply.result.some(({ config }) => describedAt(config, path));
  warnOfPlainSecrets(
    given.filter(([path]) => isSet(path)),
    fields,
  );
  await throwRefusal(client, reply);
}

/** A change of several repositories is undone as a whole by its batch. */
function printHowToUndo(result: readonly ChangedRepository[], before: readonly RepositoryEntry[]): void {
  const revisions = new Map(before.map(({ id, revision }) => [id, revision]));
  const changed = result.filter(({ repo, revision }) => revision > (revisions.get(repo) ?? 0));
  const [first, second] = changed;
  if (first?.batch !== undefined && second !== undefined)
    print(`To undo this in all ${changed.length} repositories: repoconf undo --batch ${first.batch}`);
}

function describedAt(config: ChangedRepository["config"], path: string): boolean {
  const { scope = "", field = "" } = splitConfigPath(path) ?? {};
  return config[scope]?.[field] !== undefined;
}

async function chooseRepositories(
  client: RepoconfClient,
  { repo, where }: RepositoriesOptions,
): Promise<readonly RepositoryEntry[]> {
  if (where === undefined) {
    if (repo === undefined) return [await chooseRepository(client, undefined)];
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

/** The fields and edits that have nothing to take away. Others may change the repository meanwhile; only a message depends on it. */
async function findAbsent(
  client: RepoconfClient,
  repo: string,
  { unset, edits }: Pick<ValueChanges, "unset" | "edits">,
  fields: Fields,
): Promise<readonly (string | ValueEdit)[]> {
  const takes = ({ op }: ValueEdit) => op === "unset" || op === "remove";
  if (unset.length === 0 && !edits.some(takes)) return [];
  const [active, stored] = await Promise.all(
    [false, true].map(
      async only => (await client.request("config/list", { repo, ...(only && { stored: true }) })).result,
    ),
  );
  const at = (config: Config = {}, path: string) => {
    const { scope = "", field = "" } = splitConfigPath(path) ?? {};
    return configValue(config, scope, field);
  };
  // A field that the key may not read is not known to lack anything.
  const isKnown = (path: string) => at(active, path) !== undefined;
  // Each edit applies to the outcome of those before it.
  const values = new Map(edits.map(({ field }) => [field, at(active, field)]));
  const lacks = (edit: ValueEdit) => {
    const before = values.get(edit.field);
    const outcome = applyValueEdits(before, [edit], fields.get(edit.field));
    if ("value" in outcome) values.set(edit.field, outcome.value);
    return takes(edit) && isKnown(edit.field) && "value" in outcome && sameJson(outcome.value, before);
  };
  return [...unset.filter(path => isKnown(path) && at(stored, path) === undefined), ...edits.filter(lacks)];
}

/** One line for each field, or for each edit inside its value. */
function describeChanges(
  { config }: ChangedRepository,
  { unset, edits }: Pick<ValueChanges, "unset" | "edits">,
  fields: Fields,
  absent: readonly (string | ValueEdit)[],
): string[] {
  return [...configEntries(configOf(config))].flatMap(({ scope, field, value }) => {
    const path = joinConfigPath(scope, field);
    const schema = fields.get(path);
    const inside = edits.filter(edit => edit.field === path);
    if (inside.length > 0)
      return inside.map(edit => (absent.includes(edit) ? describeAbsent : describeEdit)(edit, schema, false));
    if (absent.includes(path)) return [`nothing to unset: ${path} has its default, ${showValue(value, schema, false)}`];
    return [`${unset.includes(path) ? "unset; now" : "set"} ${path} = ${showValue(value, schema, false)}`];
  });
}

/** The values of a result, without their descriptions. */
function configOf(config: ChangedRepository["config"]) {
  const values = Object.entries(config).map(([scope, fields]) => [
    scope,
    Object.fromEntries(Object.entries(fields).map(([field, { value }]) => [field, value])),
  ]);
  return Object.fromEntries(values);
}

function printAllJson({ result, errors }: Reply<readonly ChangedRepository[]>, fields: Fields): void {
  const repositories = result.map(changed => printableResult(changed, fields));
  printJson({ repositories, ...(errors.length > 0 && { errors }) });
}

function capitalized(line: string): string {
  return line.charAt(0).toUpperCase() + line.slice(1);
}
