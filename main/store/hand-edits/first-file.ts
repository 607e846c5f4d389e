import { applyConfigEdits, type Config, configEntries } from "../../../shared/config.ts";
import type { HealthProblem } from "../../../shared/protocol.ts";
import type { StoreContext } from "../context.ts";
import type { TextRecord } from "../history/record.ts";
import type { RepositoryFiles } from "../mirror/repository-files.ts";
import { homeFileOf } from "../mirror/repository-metadata.ts";
import { causeOf } from "../storage-failure.ts";
import type { CommittedState, RepositoryState } from "../types.ts";

/*
 * A repository that begins in the log is first there, then in the history, and last it gets its file, of whose text the history has a
 * record. The disk may be full by then, or the daemon be killed.
 */

/** The repository, as its `RepositoryContext` has it. */
interface Unwritten {
  readonly id: string;
  readonly store: Pick<StoreContext, "paths" | "onProblem">;
  readonly beginsInLog: boolean;
  readonly given: { readonly isLayer?: boolean | undefined };
  readonly current: RepositoryState;
  readonly files: RepositoryFiles;
  readonly journal: { readonly head: { readonly textRecord?: TextRecord | undefined } | undefined };
  readonly mirror: { firstFailure: unknown; accept(onDisk: Config): void };
}

/**
 * Whether the file of this repository was never there: a person deletes only files whose text is recorded. The history may also have texts
 * of an earlier repository with its id. `isLost`: the history lacks something.
 */
export function wasNeverWritten(
  { beginsInLog, given, files, journal }: Unwritten,
  { revision, lineage }: Pick<CommittedState, "revision" | "lineage">,
  isLost: boolean,
): boolean {
  if (!beginsInLog || given.isLayer || isLost || revision === 0) return false;
  const text = journal.head?.textRecord;
  return files.home.status.kind === "missing" && (text === undefined || text.lineage !== lineage);
}

/** Writes the file with these values. Returns whether that was possible; if not, the schedule of writes has it tried again. */
export async function writeFirstFile(repository: Unwritten, config: Config): Promise<boolean> {
  const { id, current, files, mirror, store } = repository;
  try {
    // Without the scopes that only an earlier repository had.
    const values = applyConfigEdits({}, [...configEntries(config)]);
    await files.home.write(homeFileOf(current, values, store.paths));
    await files.refresh();
  } catch (error) {
    if (mirror.firstFailure === undefined)
      store.onProblem("cannot write the file of a repository", { repo: id, error: String(error) });
    mirror.firstFailure = error;
    return false;
  }
  mirror.firstFailure = undefined;
  mirror.accept(config);
  return true;
}

/** `missing`, or that the file could not be written so far. */
export function problemOfFirst({ id, mirror }: Unwritten, missing: HealthProblem): HealthProblem {
  if (mirror.firstFailure === undefined) return missing;
  const why = `cannot be written (${causeOf(mirror.firstFailure)}). Its values are safe in the shared log; Repoconf keeps retrying.`;
  return { code: 1108, message: `${id}.json ${why}` };
}
