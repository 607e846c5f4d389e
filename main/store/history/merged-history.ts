import { RepoconfError } from "../../../shared/errors.ts";
import type { Turn } from "../../time/yielding.ts";
import { type CommitLog, numberIn } from "../log/commit-log.ts";
import type { HistoryRecord, LogNumber, Position } from "../types.ts";
import { historyFrom, type RecordedDocument } from "./repository-history.ts";

interface RecordedRepositories {
  /** The log position of the newest revision, or a later one; undefined if it is not known. */
  position(id: string): Position | undefined;
  load(id: string): Promise<RecordedDocument>;
}

/** The place of an entry among those of all repositories. */
export interface HistoryPlace {
  /** The number in this log; 0 if the entry is older than it. */
  readonly number: LogNumber;
  readonly repo: string;
  readonly revision: number;
}

/** The records of one revision in a repository's history: the change, and later requests to forget values. */
export interface HistoryGroup extends HistoryPlace {
  /** Newest first. */
  readonly records: readonly HistoryRecord[];
}

/** A history that cannot be read, or not from here on. */
export interface UnavailableHistory {
  readonly repo: string;
  readonly error: RepoconfError;
}

interface Range {
  /** Only entries after this place. */
  readonly after: HistoryPlace | undefined;
  /** Milliseconds since 1970: older entries may be left out. */
  readonly since: number;
}

/** The maximum of histories that are open at the same time, because each one holds a file's text. */
const mostOpen = 32;
/** Milliseconds by which the system's clock may have been set back. */
const clockSlack = 3_600_000;

/** Negative if `one` comes first. Newest first; entries older than the log follow, one repository after the other. */
function comparePlaces(one: HistoryPlace, other: HistoryPlace): number {
  if (one.number !== other.number) return other.number - one.number;
  if (one.repo !== other.repo) return one.repo < other.repo ? -1 : 1;
  return other.revision - one.revision;
}

/** One repository's history. */
interface Source {
  /** The next one; before the first read, without records, and before all of them. */
  next: HistoryGroup;
  /** Those after it; undefined while its file is closed. */
  groups: AsyncGenerator<HistoryGroup> | undefined;
}

async function* groupsOf(repository: RecordedDocument, log: string, from: number, turn: Turn) {
  const { id: repo } = repository;
  let records: HistoryRecord[] = [];
  for await (const record of historyFrom(repository, from, turn)) {
    records.push(record);
    if (record.kind !== "change") continue;
    yield { number: numberIn(log, record.position), repo, revision: record.revision, records };
    records = [];
  }
  // Requests to forget values after the oldest kept revision.
  const last = records.at(-1);
  if (last !== undefined) yield { number: 0, repo, revision: last.revision, records };
}

/**
 * The histories of several repositories as one, the newest first by place in the log, each repository's in the order of its
 * revisions. A history is read when nothing else can come before it, so the beginning costs no more than what changed last.
 */
export async function* mergedHistory(
  repositories: RecordedRepositories,
  log: CommitLog,
  repos: Iterable<string>,
  // Later changes would not be in their order.
  { after = { number: log.newest, repo: "", revision: 0 }, since }: Range,
  turn: Turn,
): AsyncGenerator<HistoryGroup | UnavailableHistory> {
  const sourceOf = (repo: string): Source => {
    const newest = repositories.position(repo);
    // Without a known position, its history may contain any change.
    const number = newest === undefined ? Number.POSITIVE_INFINITY : numberIn(log.id, newest);
    return { next: { number, repo, revision: Number.MAX_SAFE_INTEGER, records: [] }, groups: undefined };
  };
  const unread = [...repos]
    .map(sourceOf)
    // The one that may come first stands last.
    .sort((one, other) => comparePlaces(other.next, one.next));
  const reading = new Set<Source>();
  /** Those that were read last stand last. */
  const open = new Set<Source>();

  /** Closes its file, which is opened again when needed. */
  const close = async (source: Source) => {
    const { groups } = source;
    source.groups = undefined;
    await groups?.return(undefined);
  };

  /** Advances a source to its first entry in the requested range. */
  async function* advance(source: Source): AsyncGenerator<UnavailableHistory> {
    reading.delete(source);
    open.delete(source);
    open.add(source);
    try {
      do {
        if (turn.isOver) await turn.pass();
        const { repo, revision } = source.next;
        source.groups ??= groupsOf(await repositories.load(repo), log.id, revision - 1, turn);
        const { value } = await source.groups.next();
        if (value === undefined) return;
        source.next = value;
      } while (comparePlaces(source.next, after) <= 0);
      reading.add(source);
    } catch (error) {
      if (!(error instanceof RepoconfError)) throw error;
      // One that was removed meanwhile has no history.
      if (error.code !== 1102) yield { repo: source.next.repo, error };
    } finally {
      if (!reading.has(source)) await close(source);
    }
    for (const oldest of open) {
      if (open.size <= mostOpen) return;
      open.delete(oldest);
      await close(oldest);
    }
  }

  try {
    for (;;) {
      let first: Source | undefined;
      for (const source of reading)
        if (first === undefined || comparePlaces(source.next, first.next) < 0) first = source;
      const unreadFirst = unread.at(-1);
      if (unreadFirst !== undefined && (first === undefined || comparePlaces(unreadFirst.next, first.next) < 0)) {
        unread.pop();
        yield* advance(unreadFirst);
        continue;
      }
      if (first === undefined) return;
      const { next: group } = first;
      if (Date.parse(group.records.at(-1)?.time ?? "") < since - clockSlack) {
        // Everything that follows is older.
        if (group.number > 0) return;
        reading.delete(first);
        open.delete(first);
        await close(first);
        continue;
      }
      yield group;
      yield* advance(first);
    }
  } finally {
    for (const source of open) await close(source);
  }
}
