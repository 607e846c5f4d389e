import { type Command, Option } from "commander";
import { isFromFile } from "../../../shared/change-source.ts";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import type { HistoryEntry, Layer, RepositoryEntry } from "../../../shared/protocol.ts";
import { reportRestored } from "../change/change.ts";
import { describeAuthor } from "../change/describe-change.ts";
import type { UndoOptions } from "../change/undo-batch.ts";
import { addChangeOptions, parseRevision } from "../command-options.ts";
import { listFields } from "../connect/fields.ts";
import type { Requests } from "../connect/requests.ts";
import { changeArguments, isOfLayer, layerOf, printChangeJson, throwRefusal } from "../output/changes.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { print } from "../output/terminal.ts";

/** `repoconf undo`: undoes the last change, no matter who made it; in a work tree only a set, if nothing came with the file since. */
export function addUndoCommand(program: Command): void {
  addChangeOptions(program.command("undo"))
    .summary("undo the last change of a repository, no matter who made it")
    .description(
      "undo the last change of a repository, no matter who made it\n\nUndoing is itself a change: a second undo restores what the first one undid. With --local or --shared, it is the last change of these values. In a work tree, what came with its file, by git or an editor, is not undone, because git has that; nor are sets before it, which may belong to another branch. --to REVISION takes back everything since that revision, also what came with the file, after showing what would change.\n\nWhat one command changed in several repositories is a batch: --batch undoes all of it, after showing what would change. Values that were changed since stay as they are; they are named, and the exit code is 3. --by KEY --since TIME undoes in the same way all that a key, such as an agent's, changed in that time.",
    )
    .addOption(
      new Option(
        "--batch [id]",
        "undo all changes that one command made in several repositories (default: your newest such command)",
      ).conflicts(["repo", "ifRevision", "atomic"]),
    )
    .addOption(
      new Option("--to <revision>", "take back everything since this revision, no matter who changed it")
        .argParser(parseRevision)
        .conflicts("batch"),
    )
    .addOption(
      new Option(
        "--by <key>",
        "undo what the key with this id or name, such as an agent's, changed in all repositories",
      ).conflicts(["repo", "ifRevision", "atomic", "batch", "to"]),
    )
    .option("--since <time>", "with --by: how far back, such as 30m, 2h, 7d or 2026-11-21 (a date in UTC)")
    .option("--yes", "with --batch, --to or --by: do not ask for confirmation")
    .action(undo);
}

async function undo(options: UndoOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { batch, to, by, since } = options;
  if ((by === undefined) !== (since === undefined) || /\s/.test(since ?? ""))
    throw new CommandError("--by and --since belong together: repoconf undo --by NAME --since 1h", exitCodes.usage);
  if (by !== undefined && since !== undefined) {
    const { undoAllBy } = await import("../change/undo-batch.ts");
    return withSession(options, ({ client }) => undoAllBy(client, by, since, options));
  }
  if (to !== undefined) {
    const { restoreRevision } = await import("../change/restore-revision.ts");
    const asks = !options.yes && !options.dryRun;
    const request = { to, fields: [], reason: `undo to revision ${to}`, asks };
    return withSession(options, ({ client }) => restoreRevision(client, request, options));
  }
  if (batch !== undefined) {
    const { undoWholeBatch } = await import("../change/undo-batch.ts");
    return withSession(options, ({ client }) => undoWholeBatch(client, batch === true ? undefined : batch, options));
  }
  const { chooseToChange, withRepository } = await import("../connect/repositories.ts");
  const undoLast = async (client: RepoconfClient, repository: RepositoryEntry) => {
    const last = await findLastChange(client, repository, layerOf(options));
    await undoChange(client, repository, last, options, () => batchOfSeveral(client, last));
  };
  await withRepository(options, undoLast, chooseToChange);
}

/** The last change; `also`: the revision before it, which the same request made of another layer. */
interface LastChange extends HistoryEntry {
  readonly also?: HistoryEntry;
}

/** Undoes the last change. `readBatch` is called afterwards. Throws RequestError, CommandError. */
export async function undoChange(
  client: Requests,
  repository: RepositoryEntry,
  last: LastChange,
  options: UndoOptions,
  readBatch: () => Promise<UndoneBatch | undefined>,
): Promise<void> {
  const { revision, also } = last;
  const before = (also?.revision ?? revision) - 1;
  const undone = also === undefined ? `revision ${revision}` : `revisions ${also.revision} and ${revision}`;
  if (options.ifRevision !== undefined && options.ifRevision !== revision) {
    const message = `The last change is revision ${revision}, not ${options.ifRevision}. Nothing was undone; see repoconf history.`;
    throw new CommandError(message, exitCodes.refused);
  }
  const reply = await client.request("history/restore", {
    reason: `undo of ${undone}`,
    // What others see must not change because a private value is taken back, and the other way round.
    ...(also === undefined && last.layer && last.layer !== "base" && { layer: last.layer }),
    ...changeArguments(options),
    repo: repository.id,
    to: before,
    fields: [...new Set([last, ...(also === undefined ? [] : [also])].flatMap(fieldsOf))],
    // Refuses if somebody has changed the repository since, because the user did not ask to undo that. Revisions that the key may
    // not read changed other fields only and are kept.
    revision: Math.max(revision, repository.revision),
  });
  if (reply.errors[0]?.code === 1104) {
    const message =
      "Nothing was undone: somebody changed the repository in the meantime. Check repoconf history and undo again.";
    throw new CommandError(message, exitCodes.refused);
  }
  const [changed] = reply.result;
  const batch = await readBatch();
  if (options.json) {
    await printChangeJson(reply, () => listFields(client), {
      undone: revision,
      ...(batch && { undoneBatch: batch.id }),
    });
    return throwRefusal(reply, () => listFields(client));
  }
  if (changed !== undefined) {
    print(`${options.dryRun ? "Would undo" : "Undid"} ${undone} of ${last.time}, ${describeAuthor(last)}.`);
  }
  await reportRestored(client, reply, options, before);
  if (changed !== undefined && !options.dryRun) {
    print(`This is revision ${changed.revision}; to redo: repoconf undo`);
  }
  if (batch !== undefined)
    print(
      `Revision ${revision} was part of a change of ${batch.count ?? "perhaps several"} repositories; to undo it in the others too: repoconf undo --batch ${batch.id}`,
    );
}

interface UndoneBatch {
  readonly id: string;
  /** How many repositories it changed; undefined if that cannot be read. */
  readonly count: number | undefined;
}

/** The batch of a change; undefined if it changed no other repository. */
async function batchOfSeveral(client: RepoconfClient, { batch, time }: HistoryEntry): Promise<UndoneBatch | undefined> {
  if (batch === undefined) return undefined;
  const { entriesOfBatch } = await import("../../../shared/client/undo-batch.ts");
  // The undo is done: a history of another repository that is damaged must not make it look like a failure.
  const entries = await entriesOfBatch(client, batch, time).catch(() => undefined);
  const count = entries && new Set(entries.map(({ repo }) => repo)).size;
  return count === 1 ? undefined : { id: batch, count };
}

/** The newest revision, of a layer if one is named, if it can be undone. Throws CommandError if not. */
export async function findLastChange(
  client: Requests,
  repository: RepositoryEntry,
  layer?: Layer,
): Promise<LastChange> {
  const { id, name, inTree } = repository;
  const changes: HistoryEntry[] = [];
  const fromFile: HistoryEntry[] = [];
  // The base's are undone there.
  const isMeant = (entry: HistoryEntry) => entry.layer !== "base" && isOfLayer(entry, layer);
  let ofOthers = 0;
  let oldest = 0;
  let older: string | undefined;
  let damage: string | undefined;
  do {
    // Two revisions, to know whether the last one is also the first.
    const page = { limit: fromFile.length + ofOthers === 0 ? 2 : 100, ...(older !== undefined && { after: older }) };
    const { result, errors, next } = await client.request("history/list", { repo: id, ...page });
    for (const entry of result ?? []) {
      // Erasures, of which there may be any number, are no changes.
      if (entry.source === "forget") continue;
      oldest = entry.revision;
      if (!isMeant(entry)) {
        if (changes.length === 0) ofOthers += 1;
        continue;
      }
      if (inTree && entry.layer !== "local" && changes.length === 0 && isFromFile(entry)) fromFile.push(entry);
      else changes.push(entry);
    }
    older = next;
    damage = errors[0]?.message;
  } while (changes.length < 2 && older !== undefined && damage === undefined);
  const [last, previous] = changes;
  if (last === undefined && damage !== undefined) throw new CommandError(`Nothing was undone. ${damage}`);
  // With its first revision, a repository was added.
  const isSet = last !== undefined && last.revision > 1 && fieldsOf(last).length > 0;
  if (fromFile.length > 0 && !isSet)
    throw nothingToUndo(
      name,
      `${describeFromFile(fromFile)}, and nothing was set. To go back all the same, with a preview: repoconf undo --to REVISION (to list them: repoconf history)`,
    );
  // A switch of branches cannot be told from an edit, and the set may belong to the other branch, even if its value is here too.
  const isHidden = inTree && layer !== "local" && last !== undefined && last.revision + ofOthers < repository.revision;
  if (isSet && (fromFile.length > 0 || isHidden)) {
    const since = fromFile.length > 0 ? describeFromFile(fromFile) : "there are revisions that this key may not read";
    throw new CommandError(
      `Nothing was undone: after the last set, revision ${last.revision}, ${since}, so the set may belong to another branch. To take back everything since, with a preview: repoconf undo --to ${last.revision - 1}. To change single values: repoconf set`,
      exitCodes.refused,
    );
  }
  if (last === undefined)
    throw nothingToUndo(name, `its history has no changes${layer === undefined ? "" : ` of ${layer} values`}.`);
  // The first revision has the values from when the history began; earlier values are unknown.
  const isFirst = changes.length === 1 && oldest === last.revision && damage === undefined;
  if (isFirst && (last.source === "file" || (inTree && last.revision === 1))) {
    throw nothingToUndo(name, `its history starts at revision ${last.revision}.`);
  }
  if (last.source === "recovery")
    throw nothingToUndo(name, `what revision ${last.revision} changed is not known, as records before it were lost.`);
  if (fieldsOf(last).length === 0) throw nothingToUndo(name, `revision ${last.revision} changed no field.`);
  return previous !== undefined && last.together === previous.revision ? { ...last, also: previous } : last;
}

function describeFromFile(entries: readonly HistoryEntry[]): string {
  const [newest, oldest] = [entries.at(0)?.revision, entries.at(-1)?.revision];
  const revisions = newest === oldest ? `revision ${newest}` : `revisions ${oldest} to ${newest}`;
  const fields = [...new Set(entries.flatMap(fieldsOf))].join(", ");
  return `${revisions} (${fields}) came with the work tree's file, by git or an editor`;
}

function nothingToUndo(name: string, why: string): CommandError {
  return new CommandError(`Nothing to undo in ${name}: ${why}`, exitCodes.refused);
}

function fieldsOf({ changes }: HistoryEntry): string[] {
  return Object.entries(changes).flatMap(([scope, fields]) =>
    Object.keys(fields).map(field => joinConfigPath(scope, field)),
  );
}
