import type { StoreContext, StoreSurroundings } from "./context.ts";
import type { Retention } from "./history/journal.ts";
import { Journals } from "./history/journals.ts";
import { listSegmentNames } from "./history/segment.ts";
import type { OpenedLog } from "./log/commit-log.ts";
import { FileLog, type FileLogOptions } from "./log/file-log.ts";
import { knownPositions, type MissedEntries, missedEntries } from "./missed-entries.ts";
import { type IndexData, RepositoryIndex } from "./state/repository-index.ts";
import type { NewFinding } from "./types.ts";

export interface OpenOptions {
  /** Opens the log; if omitted, the home's own. */
  openLog?(options: FileLogOptions): Promise<OpenedLog>;
  /** How much of each repository's history is kept. */
  retention(): Retention;
  /** Throws if the home is no longer this daemon's. */
  assertHeld(): void;
}

/** What a start reads before any repository: the witnesses of what happened, which may contradict each other. */
export interface OpenedStore {
  readonly context: StoreContext;
  readonly index: RepositoryIndex;
  readonly indexed: IndexData;
  readonly journals: Journals;
  readonly missed: MissedEntries;
}

/** Reads the index, lists the segments of histories, and opens the log. */
export async function openStore(
  surroundings: StoreSurroundings,
  { openLog, retention, assertHeld }: OpenOptions,
): Promise<OpenedStore> {
  const { paths, findings, fileSystem, clock, onProblem } = surroundings;
  const index = new RepositoryIndex(paths.indexFile, paths.temporary, fileSystem, clock);
  const { data: indexed, damaged } = await index.read();
  const message = `${paths.indexFile} was damaged, so this start read every repository's file and history instead. Nothing needs to be done; if it happens again, check the disk.`;
  if (damaged) await findings.addDamaged(paths.indexFile, message);
  const names = await listSegmentNames(paths.journal);
  const onDamage = (damage: NewFinding) => findings.add(damage);
  const logOptions = { folder: paths.log, fileSystem, clock, assertHeld, onProblem, onDamage };
  const witnesses = (stop: string | undefined) =>
    knownPositions(indexed, { names, folder: paths.journal }, fileSystem, stop);
  const opened = await (openLog?.(logOptions) ?? FileLog.open({ ...logOptions, witnesses }));
  const context = { ...surroundings, log: opened.log };
  const journals = new Journals(context, retention, names);
  return { context, index, indexed, journals, missed: missedEntries(opened) };
}
