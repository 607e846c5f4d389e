import type { Command } from "commander";
import type { RepoconfClient } from "../../shared/client/client.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { HistoryEntry, RepositoryEntry } from "../../shared/protocol.ts";
import {
  addChangeOptions,
  type ChangeCommandOptions,
  changeArguments,
  printChangeJson,
  reportRestored,
  throwRefusal,
} from "./change.ts";
import { describeAuthor } from "./describe-change.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { chooseRepository } from "./repositories.ts";
import { print } from "./terminal.ts";

/** `repoconf undo`: undoes the last change, no matter who made it. */
export function addUndoCommand(program: Command): void {
  addChangeOptions(program.command("undo"))
    .summary("undo the last change of a repository, no matter who made it")
    .description(
      "undo the last change of a repository, no matter who made it\n\nUndoing is itself a change: a second undo restores what the first one undid. To go back further, use repoconf history and repoconf restore.",
    )
    .action(undo);
}

async function undo(options: ChangeCommandOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
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
    if (options.json) {
      await printChangeJson(client, reply, { undone: revision });
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
  });
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
