import type { Clock } from "../../../time/clock.ts";
import type { Commit, Committed, FollowedEntry, SnapshotPart, Snapshots } from "../../log/commit-log.ts";
import type { LogNumber } from "../../types.ts";

/** The maximum size of a snapshot part, except for a single larger entry. */
const maxPartBytes = 256 * 1024;

/** A snapshot that is being read because earlier entries were purged. */
interface SnapshotReading {
  readonly snapshot: LogNumber;
  /** Repositories with a complete history. */
  readonly repos: Set<string>;
  /** Scopes that exist. */
  readonly scopes: Set<string>;
}

/**
 * The snapshots in a stream. A machine that applied all earlier entries skips them. A machine that joins, or was offline for long, reads
 * each repository from the snapshot. Until the last part of a repository is received, commits to it are skipped, because its parts
 * contain them.
 */
export class StreamSnapshots implements Snapshots {
  begun: LogNumber = 0;
  ended: LogNumber = 0;
  progressedAt = Number.NEGATIVE_INFINITY;
  forgetting: LogNumber = 0;
  hasFailedEntries = false;
  bytes = 0;
  partBytes = maxPartBytes;
  /** Messages before this sequence, at which the newest complete snapshot begins, can be deleted; undefined if there are none. */
  purgeTo: number | undefined;
  readonly #clock: Clock;
  readonly #begins: { readonly number: LogNumber; readonly sequence: number }[] = [];
  #reading: SnapshotReading | undefined;
  /** By snapshot and repository: the parts received so far of repositories that are not complete. */
  readonly #parts = new Map<string, SnapshotPart[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a snapshot, or a repository that is copied into the log, is being read and is not complete. */
  get isReading(): boolean {
    return this.#reading !== undefined || this.#parts.size > 0;
  }

  /** The first entry that a start must read again, as erasing values, a snapshot or a purge is unfinished; undefined if there is none. */
  get replayFrom(): LogNumber | undefined {
    const pending = [this.forgetting, this.begun].filter(number => number > this.ended);
    if (this.purgeTo !== undefined) pending.push(this.ended);
    return pending.length === 0 ? undefined : Math.min(...pending);
  }

  /** Call when the size of the log is known, and the maximum size of a message. */
  connected(bytes: number, maxPayload: number): void {
    this.bytes = bytes;
    this.partBytes = Math.min(maxPartBytes, Math.floor(maxPayload / 2));
  }

  /** Starts to read the snapshot that begins here, as the entries before it were never applied. */
  skipTo(snapshot: LogNumber): void {
    this.#reading = { snapshot, repos: new Set(), scopes: new Set() };
    this.#parts.clear();
  }

  /** Call for every entry in the stream, our own or another machine's. */
  track({ number, entry }: Committed, sequence: number): void {
    if (entry.kind === "forget") this.forgetting = number;
    if (entry.kind !== "snapshot" && entry.kind !== "part" && entry.kind !== "end") return;
    this.progressedAt = this.#clock.monotonic();
    if (entry.kind === "snapshot") {
      this.begun = number;
      this.#begins.push({ number, sequence });
    }
    if (entry.kind !== "end") return;
    const begin = this.#begins.find(one => one.number === entry.snapshot);
    if (begin === undefined) return;
    this.ended = begin.number;
    this.purgeTo = begin.sequence;
    this.#begins.splice(0, this.#begins.indexOf(begin));
  }

  /** The entries to pass to the follower for an entry of the stream, in order. */
  followedEntries(committed: Committed): Committed<FollowedEntry>[] {
    const { number, entry } = committed;
    const reading = this.#reading;
    switch (entry.kind) {
      case "snapshot":
        return [];
      case "part": {
        if (entry.snapshot > 0 && entry.snapshot !== reading?.snapshot) return [];
        const key = `${entry.snapshot} ${entry.repo}`;
        const parts = entry.isFirst ? [entry] : [...(this.#parts.get(key) ?? []), entry];
        // The first ones of a copy were purged: it is found incomplete by who copies, and repeated.
        if (!parts[0]?.isFirst) return [];
        this.#parts.set(key, parts);
        if (!entry.isLast) return [];
        this.#parts.delete(key);
        reading?.repos.add(entry.repo);
        const commits = joinPieces(parts.flatMap(part => part.commits));
        const erasures = parts.flatMap(part => part.erasures);
        const kept = { kind: "kept", repo: entry.repo, commits } as const;
        return [kept, ...erasures].map(followed => ({ number, entry: followed }));
      }
      case "end":
        // A copy that was interrupted before it is not continued.
        this.#parts.clear();
        if (entry.snapshot !== reading?.snapshot) return [];
        this.#reading = undefined;
        return [{ number, entry: { kind: "remaining", repos: reading.repos, scopes: reading.scopes } }];
      case "commit":
        return reading === undefined ? [{ number, entry }] : commitWhileReading({ number, entry }, reading);
      case "forget":
      case "rename":
        return reading === undefined || reading.repos.has(entry.repo) ? [{ number, entry }] : [];
      case "scope":
        if (entry.text === null) reading?.scopes.delete(entry.name);
        else reading?.scopes.add(entry.name);
        return [{ number, entry }];
      case "remove":
        reading?.repos.delete(entry.repo);
        return [{ number, entry }];
    }
  }
}

/** Joins the leading commits that contain the values of the beginning into one. */
function joinPieces(commits: readonly Commit[]): Commit[] {
  const pieces = commits.filter(({ documents }) => documents[0]?.isWhole);
  const [first] = pieces;
  const [document] = first?.documents ?? [];
  if (first === undefined || document === undefined) return [...commits];
  const edits = pieces.flatMap(({ documents }) => documents[0]?.edits ?? []);
  return [{ ...first, documents: [{ ...document, edits }] }, ...commits.slice(pieces.length)];
}

/** Drops the documents of repositories whose parts are not complete. */
function commitWhileReading({ number, entry }: Committed<Commit>, { repos }: SnapshotReading): Committed<Commit>[] {
  for (const { repo, begins } of entry.documents) if (begins) repos.add(repo);
  const documents = entry.documents.filter(({ repo }) => repos.has(repo));
  return documents.length === 0 ? [] : [{ number, entry: { ...entry, documents } }];
}
