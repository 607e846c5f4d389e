import { statSync } from "node:fs";
import type { IndexingProgress } from "../../shared/protocol.ts";
import { repositoryOfDocument } from "../../shared/repository-id.ts";
import type { FileSystem } from "../files/file-system.ts";
import { forEachConcurrently } from "../time/for-each-concurrently.ts";
import type { StoreContext } from "./context.ts";
import { readWidth } from "./hand-edits/repository-folder.ts";
import type { JournalLine, Segment } from "./history/record.ts";
import { endOf, readTail, type SegmentNames, segmentsNamed } from "./history/segment.ts";
import type { Commit, Committed, Forgetting, OpenedLog } from "./log/commit-log.ts";
import type { OpenRepository, Repositories } from "./repository/repositories.ts";
import type { IndexData } from "./state/repository-index.ts";
import type { LogNumber, Position } from "./types.ts";

/** What a start finds in the log that histories and files may lack. */
export interface MissedEntries extends Omit<OpenedLog, "log"> {
  /** The commits of each repository since its last removal. */
  readonly commits: ReadonlyMap<string, readonly Committed<Commit>[]>;
}

export function missedEntries({ entries, log: _, ...found }: OpenedLog): MissedEntries {
  const commits = new Map<string, Committed<Commit>[]>();
  for (const { number, entry } of entries) {
    if (entry.kind === "remove") commits.delete(entry.repo);
    if (entry.kind !== "commit") continue;
    for (const { repo } of entry.documents) {
      const known = commits.get(repo) ?? [];
      commits.set(repo, known);
      known.push({ number, entry });
    }
  }
  return { ...found, entries, commits };
}

/**
 * The newest positions that index and histories name. After a clean stop (the log is marked with the same `stop` as the index), that is
 * the index's; after any other end, histories may name later ones. One that cannot be read says nothing: its repository is not opened.
 */
export async function knownPositions(
  index: IndexData,
  { names, folder }: { readonly names: SegmentNames; readonly folder: string },
  fileSystem: FileSystem,
  stop: string | undefined,
): Promise<readonly Position[]> {
  const positions = index.log === undefined ? [] : [index.log];
  if (index.stop !== undefined && index.stop === stop) return positions;
  await forEachConcurrently([...names], readWidth, async ([id, ofOne]) => {
    const known = (index.repositories.get(id) ?? index.layers.get(id))?.history;
    const position = await newestPosition(segmentsNamed(ofOne, folder), fileSystem, known).catch(() => undefined);
    if (position !== undefined) positions.push(position);
  });
  return positions;
}

/**
 * The newest position in the log that a journal names. Undefined if it has none, or ends as `known` tells (`Journal.end`). Throws the
 * system's error.
 */
async function newestPosition(
  segments: readonly Segment[],
  fileSystem: FileSystem,
  known: string | undefined,
): Promise<Position | undefined> {
  const segment = segments.at(-1);
  // Without an await, because all journals are asked after a crash.
  const bytes = segment && statSync(segment.path, { throwIfNoEntry: false })?.size;
  if (segment === undefined || bytes === undefined || endOf(segment, bytes) === known) return undefined;
  const positionIn = ({ record }: JournalLine) =>
    record.kind === "change" || record.kind === "text" ? record.position : undefined;
  const { lines } = await readTail(segment.path, fileSystem, line => positionIn(line) !== undefined);
  return lines.map(positionIn).find(position => position !== undefined);
}

/** Ids of repositories whose last entry is their removal. */
export function removedIds(entries: readonly Committed[]): ReadonlySet<string> {
  const removed = new Set<string>();
  for (const { entry } of entries) {
    if (entry.kind === "remove") removed.add(entry.repo);
    else if (entry.kind === "commit") for (const { repo } of entry.documents) removed.delete(repo);
  }
  return removed;
}

interface MissingRepository extends OpenRepository {
  refresh(): Promise<void>;
}

interface PendingErasures {
  add(number: LogNumber, entry: Forgetting): void;
  carryOut(): Promise<void>;
}

/** Copies commits that a crash left only in the log to the histories, so that answers about repositories are correct. */
export async function recoverHistories(
  { onProblem }: StoreContext,
  { repositories, documents }: { readonly [kind in "repositories" | "documents"]: Repositories<MissingRepository> },
  erasures: PendingErasures,
  { entries, commits, lost }: MissedEntries,
  onProgress: (progress: IndexingProgress) => void,
): Promise<void> {
  for (const id of commits.keys()) {
    const all = id === repositoryOfDocument(id) ? repositories : documents;
    if (!all.has(id)) all.add(id);
  }
  // All are open before any is read, because the log meanwhile releases entries that no open repository needs.
  const ids = lost.length > 0 ? [...repositories.ids(), ...documents.ids()] : [...commits.keys()];
  const touched = ids.flatMap(id => repositories.get(id) ?? documents.get(id) ?? []);
  for (const { number, entry } of entries) if (entry.kind === "forget") erasures.add(number, entry);
  let done = 0;
  await forEachConcurrently(touched, readWidth, async repository => {
    await repository.refresh();
    done += 1;
    onProgress({ done, total: touched.length });
  });
  await erasures
    .carryOut()
    .catch(error => onProblem("some values could not be erased; the next start retries", { error: String(error) }));
}
