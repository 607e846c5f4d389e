import type { Config } from "../../../shared/config.ts";
import { sameConfig } from "../../../shared/config-diff.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import type { StoreContext } from "../context.ts";
import type { RepositoryFiles } from "../mirror/repository-files.ts";
import type { StartingPoint } from "../mirror/starting-point.ts";
import { keepAside } from "../removed-files.ts";
import type { RepositoryState } from "../types.ts";

/** A repository whose files are read. */
export interface ReadRepository {
  readonly id: string;
  readonly store: StoreContext;
  readonly files: RepositoryFiles;
  readonly current: RepositoryState;
}

/** Tells what a person should know of a start. `others`: unknown files with names of temporary ones, which are deleted in the home. */
export async function tellStart(
  { id, store, files, current }: ReadRepository,
  { pending, isCopy, onDisk, state }: StartingPoint,
  others: readonly string[],
): Promise<void> {
  const { findings } = store;
  for (const path of others)
    if (files.tree === undefined) await store.fileSystem.unlink(path).catch(() => {});
    else
      await findings.add({
        repo: id,
        message: `${path} has a name like a temporary file of Repoconf, but this home did not write it, or was killed while it did. It is kept. Delete it if it is not yours.`,
      });
  // A name may be any text, which a shell would read otherwise.
  const named = /^\w[\w.-]*$/.test(current.name) ? current.name : id;
  for (const [{ revision, time, actor }, edits] of Map.groupBy(pending, ({ by }) => by)) {
    const fields = edits.map(({ scope, field }) => joinConfigPath(scope, field));
    const who = actor.kind === "key" ? ` by ${actor.name}` : "";
    const message = `Revision ${revision} (set at ${time}${who}) is not in this file: ${files.values.path} (${fields.join(", ")}). The daemon ended before it was written, or another branch has been checked out. The file's values are used. To get it back: repoconf restore ${revision} ${fields.join(" ")} --repo ${named}`;
    await findings.add({
      repo: id,
      message,
      isIncident: true,
      until: edits.map(({ scope, field, value }) => ({ scope, field, value })),
    });
  }
  if (!isCopy || sameConfig(onDisk, state.target)) return;
  const kept = await keepAside(store, `${id}.before-copy`, files.values.path).catch(() => undefined);
  const message = `This home is a copy, and the file of this repository was older than its history: it gets the values of revision ${state.revision}.${kept === undefined ? "" : ` The file as it was is kept in ${kept}: if somebody had edited it, look there.`}`;
  await findings.add({ repo: id, message, isIncident: true, ...(kept !== undefined && { kept }) });
}

/** Tells that a recovery follows, and keeps the file as it is, if that is going to be changed. */
export async function tellRecovery({ id, store, current, files }: ReadRepository, target: Config): Promise<void> {
  const { content, values } = files;
  const isToChange = content.kind === "good" && !sameConfig(content.config, target);
  const kept = isToChange
    ? await keepAside(store, `${id}.before-recovery`, values.path).catch(() => undefined)
    : undefined;
  const last = current.revision;
  const where = files.tree === undefined ? "of its file, with later changes that are still known" : "of its file";
  const message = `Records of this repository's history are lost or damaged: what changed up to revision ${last} is not known for certain. Its values since revision ${last + 1} are those ${where}. Check whether they are right; a backup may have the lost history.${kept === undefined ? "" : ` The file as it was is kept in ${kept}.`}`;
  await store.findings.add({ repo: id, message, isIncident: true, ...(kept !== undefined && { kept }) });
}
