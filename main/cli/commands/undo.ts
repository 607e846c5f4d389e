import { type Command, Option } from "commander";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import type { HistoryEntry, RepositoryEntry } from "../../../shared/protocol.ts";
import { addChangeOptions, changeArguments, printChangeJson, reportRestored, throwRefusal } from "../change/change.ts";
import { describeAuthor } from "../change/describe-change.ts";
import type { UndoOptions } from "../change/undo-batch.ts";
import { chooseRepository } from "../connect/repositories.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { print } from "../output/terminal.ts";

/** `repoconf undo`: undoes the last change, no matter who made it. */
export function addUndoCommand(program: Command): void {
  addChangeOptions(program.command("undo"))
    .summary("undo the last change of a repository, no matter who made it")
    .description(
      "undo the last change of a repository, no matter who made it\n\nUndoing is itself a change: a second undo restores what the first one undid. To go back further, use repoconf history and repoconf restore.\n\nWhat one command changed in several repositories is a batch: --batch undoes all of it, after showing what would change. Values that were changed since stay as they are; they are named, and the exit code is 3.",
    )
    .addOption(
      new Option(
        "--batch [id]",
        "undo all changes that one command made in several repositories (default: your newest such command)",
      ).conflicts(["repo", "ifRevision", "atomic"]),
    )
    .option("--yes", "with --batch: do not ask for confirmation")
    .action(undo);
}

async function undo(options: UndoOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { batch } = options;
  if (batch !== undefined) {
    const { undoWholeBatch } = await import("../change/undo-batch.ts");
    return withSession(options, ({ client }) => undoWholeBatch(client, batch === true ? undefined : batch, options));
  }
  await withSession(options, async ({ client }) => {
    const repository = await chooseRepository(client, options.repo);
    const last = await findLastChange(client, repository);
    const { revision } = last;
    if (options.ifRevision !== undefined && options.ifRevision !== revision) {
      const message = `The last change is revision ${revision}, not ${options.ifRevision}. Nothing was undone; see repoconf history.`;
      throw new CommandError(message, exitCodes.refused);
    }
    const reply = await client.request("history/restore", {
      reason: `undo of revision ${revision}`,
      ...changeArguments(options),
      repo: repository.id,
      to: revision - 1,
      fields: fieldsOf(last),
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
    const batch = await batchOfSeveral(client, last);
    if (options.json) {
      await printChangeJson(client, reply, { undone: revision, ...(batch && { undoneBatch: batch.id }) });
      return throwRefusal(client, reply);
    }
    if (changed !== undefined) {
      print(
        `${options.dryRun ? "Would undo" : "Undid"} revision ${revision} of ${last.time}, ${describeAuthor(last)}.`,
      );
    }
    await reportRestored(client, reply, options, revision - 1);
    if (changed !== undefined && !options.dryRun) {
      print(`This is revision ${changed.revision}; to redo: repoconf undo`);
    }
    if (batch !== undefined)
      print(
        `Revision ${revision} was part of a change of ${batch.count ?? "perhaps several"} repositories; to undo it in the others too: repoconf undo --batch ${batch.id}`,
      );
  });
}

/** The batch of a change and how many repositories it changed, if that can be read; undefined if it changed no other one. */
async function batchOfSeveral(
  client: RepoconfClient,
  { batch, time }: HistoryEntry,
): Promise<{ readonly id: string; readonly count: number | undefined } | undefined> {
  if (batch === undefined) return undefined;
  const { entriesOfBatch } = await import("../../../shared/client/undo-batch.ts");
  // The undo is done: a history of another repository that is damaged must not make it look like a failure.
  const entries = await entriesOfBatch(client, batch, time).catch(() => undefined);
  const count = entries && new Set(entries.map(({ repo }) => repo)).size;
  return count === 1 ? undefined : { id: batch, count };
}

/** The newest revision that can be undone. Throws CommandError if there is none. */
async function findLastChange(client: RepoconfClient, { id, name }: RepositoryEntry): Promise<HistoryEntry> {
  // Two revisions, to know whether the last one is also the first. Skips erasures, of which there may be any number.
  const changes: HistoryEntry[] = [];
  let older: string | undefined;
  let damage: string | undefined;
  do {
    const page = { limit: 2, ...(older !== undefined && { after: older }) };
    const { result, errors, next } = await client.request("history/list", { repo: id, ...page });
    changes.push(...(result ?? []).filter(({ source }) => source !== "forget"));
    older = next;
    damage = errors[0]?.message;
  } while (changes.length < 2 && older !== undefined && damage === undefined);
  const [last] = changes;
  if (last === undefined && damage !== undefined) throw new CommandError(`Nothing was undone. ${damage}`);
  if (last === undefined) throw nothingToUndo(name, "its history has no changes");
  // The first revision has the values from when the history began; earlier values are unknown.
  if (changes.length === 1 && damage === undefined && last.source === "file") {
    throw nothingToUndo(name, `its history starts at revision ${last.revision}`);
  }
  if (last.source === "recovery")
    throw nothingToUndo(name, `what revision ${last.revision} changed is not known, as records before it were lost`);
  if (fieldsOf(last).length === 0) throw nothingToUndo(name, `revision ${last.revision} changed no field`);
  return last;
}

function nothingToUndo(name: string, why: string): CommandError {
  return new CommandError(`Nothing to undo in ${name}: ${why}.`, exitCodes.refused);
}

function fieldsOf({ changes }: HistoryEntry): string[] {
  return Object.entries(changes).flatMap(([scope, fields]) =>
    Object.keys(fields).map(field => joinConfigPath(scope, field)),
  );
}
