import type { Clock } from "../../../clock.ts";
import type { Commit, Committed, FollowedEntry, LogEntry, LogNumber, SnapshotPart, Snapshots } from "./commit-log.ts";

/** What is read because something before it is no longer in the stream. */
interface Reading {
  readonly snapshot: LogNumber;
  /** Repositories whose history has arrived. */
  readonly repos: Set<string>;
  /** Scopes that there are. */
  readonly scopes: Set<string>;
  /** Of the repository whose parts are arriving. */
  parts: SnapshotPart[];
}

/**
 * The snapshots in a stream. Anyone who has all that came before passes over them. Anyone who has not, as it joins or was away for long,
 * takes each repository from the snapshot: until all parts of one are there, what is committed to it meanwhile is passed over, for
 * the last part has that too.
 */
export class StreamSnapshots implements Omit<Snapshots, "hasMissed" | "bytes" | "partBytes"> {
  begun: LogNumber = 0;
  ended: LogNumber = 0;
  resumedAt = Number.NEGATIVE_INFINITY;
  forgetting: LogNumber = 0;
  readonly #clock: Clock;
  readonly #begins: { readonly number: LogNumber; readonly sequence: number }[] = [];
  /** Where the newest snapshot that has ended begins, as long as there may be something before it. */
  #unpurged: number | undefined;
  #reading: Reading | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Not all of what is needed has been taken in. */
  get isReading(): boolean {
    return this.#reading !== undefined;
  }

  /** A start has to see the entries from this one on again; undefined: it need not. */
  get keepsFrom(): LogNumber | undefined {
    const owed = [this.forgetting, this.begun].filter(number => number > this.ended);
    if (this.#unpurged !== undefined) owed.push(this.ended);
    return owed.length === 0 ? undefined : Math.min(...owed);
  }

  /** Messages before this sequence can go; undefined: none can. */
  get purgeTo(): number | undefined {
    return this.#unpurged;
  }

  /** They are gone. */
  purged(sequence: number): void {
    if (this.#unpurged === sequence) this.#unpurged = undefined;
  }

  /** What came before the snapshot that begins here was never seen. */
  skipTo(snapshot: LogNumber): void {
    this.#reading = { snapshot, repos: new Set(), scopes: new Set(), parts: [] };
  }

  /** An entry is in the stream, our own or another's. */
  note({ number, entry }: Committed, sequence: number): void {
    if (entry.kind === "forget") this.forgetting = number;
    if (entry.kind !== "snapshot" && entry.kind !== "part" && entry.kind !== "end") return;
    this.resumedAt = this.#clock.monotonic();
    if (entry.kind === "snapshot") {
      this.begun = number;
      this.#begins.push({ number, sequence });
    }
    if (entry.kind !== "end") return;
    const begin = this.#begins.find(one => one.number === entry.snapshot);
    if (begin === undefined) return;
    this.ended = begin.number;
    this.#unpurged = begin.sequence;
    this.#begins.splice(0, this.#begins.indexOf(begin));
  }

  /** What one who follows the log is handed for an entry, one after the other. */
  handed(committed: Committed): Committed<FollowedEntry>[] {
    const { number, entry } = committed;
    const reading = this.#reading;
    switch (entry.kind) {
      case "snapshot":
        return [];
      case "part": {
        if (entry.snapshot !== reading?.snapshot) return [];
        if (entry.isFirst) reading.parts = [];
        reading.parts.push(entry);
        if (!entry.isLast) return [];
        const { parts } = reading;
        reading.parts = [];
        reading.repos.add(entry.repo);
        const commits = joined(parts.flatMap(part => part.commits));
        const forgettings = parts.flatMap(part => part.forgettings);
        const kept = { kind: "kept", repo: entry.repo, commits } as const;
        return [kept, ...forgettings].map(handed => ({ number, entry: handed }));
      }
      case "end":
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

/** The commits that have the values of the beginning become one. */
function joined(commits: readonly Commit[]): Commit[] {
  const pieces = commits.filter(({ documents }) => documents[0]?.isWhole);
  const [first] = pieces;
  const [document] = first?.documents ?? [];
  if (first === undefined || document === undefined) return [...commits];
  const edits = pieces.flatMap(({ documents }) => documents[0]?.edits ?? []);
  return [{ ...first, documents: [{ ...document, edits }] }, ...commits.slice(pieces.length)];
}

/** Without what is about repositories that are still to come. */
function commitWhileReading({ number, entry }: Committed<Commit>, { repos }: Reading): Committed<Commit>[] {
  for (const { repo, begins } of entry.documents) if (begins) repos.add(repo);
  const documents = entry.documents.filter(({ repo }) => repos.has(repo));
  return documents.length === 0 ? [] : [{ number, entry: { ...entry, documents } }];
}

/** Which repositories an entry is about, or which scope, by a name that no repository has; undefined: others may have changed any of them. */
export function repositoriesOf(entry: LogEntry): readonly string[] | undefined {
  switch (entry.kind) {
    case "commit":
      return entry.documents.map(({ repo }) => repo);
    case "snapshot":
    case "end":
      return undefined;
    case "scope":
      return [`scope ${entry.name}`];
    default:
      return [entry.repo];
  }
}
