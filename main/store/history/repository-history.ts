import { applyConfigEdits, type Config } from "../../../shared/config.ts";
import { editsBefore } from "../../../shared/config-diff.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { CountedLayer } from "../../../shared/protocol.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { endlessTurn, type Turn } from "../../time/yielding.ts";
import { numberIn } from "../log/commit-log.ts";
import { unreadableJournal } from "../storage-failure.ts";
import type { HistoryRecord, PastConfig, Position, RecordedChange, RepositoryState } from "../types.ts";
import { countedValues } from "../values/counted-values.ts";
import { withoutRaisedDefaults } from "../values/stepped-values.ts";
import { LayeredHistory, type RecordedJournal } from "./layered-history.ts";
import type { JournalRecord } from "./record.ts";
import { JournalDamageError, SegmentMissingError } from "./segment.ts";

/*
 * Reads the past of a repository from its journal. The repository must be loaded. Revisions that are on the disk but not visible
 * yet are left out.
 */

/** A history with a number for each revision: of one document, or of all layers of a repository. */
export interface RecordedDocument {
  readonly id: string;
  readonly history: RecordedJournal;
  readonly state: Pick<RepositoryState, "revision" | "position">;
  /** The oldest revision after which all revisions are kept. */
  readonly oldest: number;
  load(): Promise<void>;
  /** Appends commits to the journal. Throws RepoconfError 1108. */
  writeHistory(): Promise<void>;
}

/** One layer of a repository. */
export interface RecordedLayer {
  readonly name: CountedLayer;
  /** See `LayerValues`. */
  readonly slot?: number | undefined;
  /** As it numbers its own revisions. */
  readonly document: RecordedDocument;
  /** The values in the log that belong to its state. */
  readonly recorded: Config;
}

export interface RecordedRepository extends RecordedDocument {
  /** The lowest first. */
  readonly recordedLayers: readonly RecordedLayer[];
}

/** The values of a layer at a revision of its repository. */
export interface PastLayer extends PastConfig {
  readonly name: CountedLayer;
  readonly slot?: number | undefined;
}

/** The changes after a revision, oldest first. Throws RepoconfError 1108, 1110 or 1112. */
export async function* changesAfter(
  repository: RecordedDocument,
  after: number,
  turn: Turn = endlessTurn,
): AsyncGenerator<RecordedChange> {
  assertKept(repository, after);
  const newest = repository.state.revision;
  // Of several layers, it begins with what they have now: later commits are not on the disk.
  const { history } = repository;
  await repository.writeHistory();
  let at = after;
  for await (const change of withErrors(repository, history.forward(after, newest, turn))) {
    if (change.revision !== at + 1 || change.recovered !== undefined) throw lostRevision(repository, at + 1);
    at = change.revision;
    yield change;
  }
  if (at !== newest) throw lostRevision(repository, at + 1);
}

/** The revision at a position of the log with this id. The repository need not be loaded. Throws RepoconfError 1108 or 1110. */
export async function revisionAt(
  repository: RecordedDocument,
  log: string,
  position: Position,
  turn: Turn,
): Promise<number> {
  const number = numberIn(log, position);
  const isReached = (candidate: Position | undefined) => numberIn(log, candidate) <= number;
  const { state: known } = repository;
  if (known.position !== undefined && isReached(known.position)) return known.revision;
  await repository.load();
  const { history, state } = repository;
  await repository.writeHistory();
  let revision = state.revision;
  for await (const record of withErrors(repository, history.backward(state.revision, turn))) {
    if (record.kind !== "change") continue;
    if (isReached(record.position)) return record.revision;
    revision = record.revision - 1;
    if (record.recovered !== undefined) throw lostRevision(repository, revision);
  }
  // A revision older than the kept ones may also be after the position.
  if ((history.segments[0]?.revision ?? 0) > 0) throw lostRevision(repository, revision);
  return revision;
}

/** All records of the journal from the present revision backwards, newest first. Throws RepoconfError 1108, or 1110 where it is damaged. */
export async function* allRecords(repository: RecordedDocument, turn: Turn): AsyncGenerator<JournalRecord> {
  await repository.writeHistory();
  const { history, state } = repository;
  yield* withErrors(repository, history.backward(state.revision, turn));
}

/** The kept history from a revision backwards, newest first. Throws RepoconfError 1108, or 1110 where it is damaged. */
export async function* historyFrom(
  repository: RecordedDocument,
  from: number,
  turn: Turn,
): AsyncGenerator<HistoryRecord> {
  const { history, state } = repository;
  await repository.writeHistory();
  const { oldest } = repository;
  for await (const record of withErrors(repository, history.backward(Math.min(from, state.revision), turn))) {
    if (record.revision <= oldest) return;
    if (record.kind === "change" || record.kind === "forget") yield record;
  }
}

/** The values that counted at a revision; `stored`: those of them that some layer had. Throws RepoconfError 1108, 1110 or 1112. */
export async function configAt(
  repository: RecordedRepository,
  revision: number,
  scopes: Scopes,
  turn: Turn = endlessTurn,
): Promise<PastConfig & { readonly stored: Config }> {
  const pasts = await layersAt(repository, revision, turn);
  const [only, ...others] = pasts;
  if (only !== undefined && others.length === 0 && only.slot === undefined) return { ...only, stored: only.config };
  const layers = pasts.map(({ name, config, slot }) => ({ name, stored: config, slot }));
  const config = countedValues(layers, scopes).stored;
  const stored = withoutRaisedDefaults(config, layers, scopes);
  return { config, stored, forgotten: new Set(pasts.flatMap(({ forgotten }) => [...forgotten])) };
}

/** The stored values of each layer at a revision, the lowest first. Throws RepoconfError 1108, 1110 or 1112. */
export async function layersAt(
  repository: RecordedRepository,
  revision: number,
  turn: Turn = endlessTurn,
): Promise<readonly PastLayer[]> {
  assertKept(repository, revision);
  const { history, recordedLayers } = repository;
  if (history instanceof LayeredHistory) await repository.writeHistory();
  const pasts = history instanceof LayeredHistory ? await readErrors(repository, history.pastAt(revision, turn)) : null;
  if (pasts === undefined) throw unknownValues(repository, revision);
  return Promise.all(
    recordedLayers.map(async ({ name, slot, document, recorded }, index) => {
      const own = pasts === null ? revision : (pasts[index]?.revision ?? 0);
      // Before its document began, a layer had no values.
      if (index > 0 && own <= 1) return { name, config: {}, forgotten: new Set<string>() };
      return { name, slot, ...(await documentAt(document, recorded, own, turn)) };
    }),
  );
}

/** The present values with every later change reverted, so only the records of later revisions must be intact. */
async function documentAt(
  repository: RecordedDocument,
  recorded: Config,
  revision: number,
  turn: Turn,
): Promise<PastConfig> {
  assertKept(repository, revision);
  const { history, state } = repository;
  let config = recorded;
  const forgotten = new Set<string>();
  if (revision === state.revision) return { config, forgotten };
  await repository.writeHistory();
  let reached: number | undefined;
  for await (const record of withErrors(repository, history.backward(state.revision, turn))) {
    // Where a revision is missing, later values cannot be reverted to earlier ones.
    if (record.revision < (reached ?? state.revision)) break;
    reached = record.revision;
    if (reached <= revision || (record.kind === "change" && record.recovered !== undefined)) break;
    if (record.kind !== "change") continue;
    for (const change of record.changes) {
      const path = joinConfigPath(change.scope, change.field);
      if (change.forgotten) forgotten.add(path);
      else forgotten.delete(path);
    }
    config = applyConfigEdits(config, editsBefore(record.changes));
    reached -= 1;
    if (reached === revision) break;
  }
  // Otherwise the revision was lost with the journal's end, or compacted during this read.
  if (reached === revision) return { config, forgotten };
  throw unknownValues(repository, revision);
}

function unknownValues(repository: RecordedDocument, revision: number): RepoconfError {
  const message = `The values of revision ${revision} are not known: records after it are lost or damaged.`;
  return unavailable(repository, message);
}

function lostRevision(repository: RecordedDocument, revision: number): RepoconfError {
  const message = `The journal no longer contains revision ${revision}. Read the values again and continue from there.`;
  return unavailable(repository, message);
}

function unavailable(
  { id, oldest, state }: RecordedDocument,
  message: string,
  code: 1110 | 1112 = 1110,
): RepoconfError {
  return new RepoconfError(code, message, { repo: id, details: { current: state.revision, oldest } });
}

function assertKept(repository: RecordedDocument, revision: number): void {
  const { oldest, state } = repository;
  if (revision > state.revision) {
    const message = `Revision ${revision} does not exist yet; the newest is ${state.revision}.`;
    throw unavailable(repository, message, 1112);
  }
  if (revision < oldest) {
    const message = `Revision ${revision} is no longer kept: the oldest is ${oldest}, the newest ${state.revision}. Read the values again and continue from there.`;
    throw unavailable(repository, message);
  }
}

/** Converts damage to the journal, and failed reads (1108), to errors for callers. */
async function* withErrors<Item>(repository: RecordedDocument, records: AsyncIterable<Item>): AsyncGenerator<Item> {
  try {
    yield* records;
  } catch (error) {
    throw readError(repository, error);
  }
}

function readErrors<Result>(repository: RecordedDocument, read: Promise<Result>): Promise<Result> {
  return read.catch(error => {
    throw readError(repository, error);
  });
}

function readError(repository: RecordedDocument, error: unknown): unknown {
  if (error instanceof JournalDamageError) return damagedJournal(repository, error);
  if (systemErrorCode(error) !== undefined) return unreadableJournal(repository.id, error);
  if (!(error instanceof SegmentMissingError)) return error;
  return unavailable(repository, "The journal was compacted while it was being read. Retry.");
}

/** The error for callers; also reports the damage to the daemon's log. */
export function damagedJournal({ id, state, history }: RecordedDocument, error: JournalDamageError): RepoconfError {
  history.reportDamage(error);
  const message = `The journal of this repository is damaged (${error.message}); older entries cannot be shown.`;
  return new RepoconfError(1110, message, { repo: id, details: { current: state.revision } });
}
