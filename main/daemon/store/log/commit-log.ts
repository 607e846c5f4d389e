import type { ConfigEdit } from "../../../../shared/config.ts";
import type { ConfigPath } from "../../../../shared/config-path.ts";
import type { ChangeSource } from "../../../../shared/protocol.ts";
import type { Actor } from "../store.ts";

/*
 * The port: the truth about all repositories is one log of commits, durable when they are appended. Files and histories are
 * mirrors of it. Anyone who keeps the log (the file log beside this, another engine one day) knows nothing of what is above:
 * deciding, interpreting, queues, publishing.
 */

/** A place in the log, from 1 on, without gaps; 0 is before everything. */
export type LogNumber = number;

/** A number and the log that it is of, as one text: what a watch goes on from. */
export type Position = string;

export function formatPosition(log: string, number: LogNumber): Position {
  return `${log}.${number}`;
}

/** The number that a position means in this log; 0 for one of another log, as all of that was before. */
export function numberIn(log: string, position: Position | undefined): LogNumber {
  const { id, number } = /^(?<id>[0-9a-f]+)\.(?<number>\d{1,15})$/.exec(position ?? "")?.groups ?? {};
  return id === log ? Number(number) : 0;
}

/** What one request does to one or several documents: all of it is served, or nothing. */
export interface Commit {
  readonly kind: "commit";
  /** RFC 3339, UTC, milliseconds. */
  readonly time: string;
  readonly actor: Actor;
  readonly source: ChangeSource;
  readonly reason?: string;
  readonly batch?: string;
  /** Of a log that several share: the name of the machine that it was made on. */
  readonly machine?: string;
  /** In a snapshot: its number when it was appended first. */
  readonly number?: LogNumber;
  readonly documents: readonly DocumentCommit[];
}

/** What a commit does to one document. Only values after it: those before are in what the commits before it left. */
export interface DocumentCommit {
  readonly repo: string;
  /** Which of the documents that had this id: it is new at each add. */
  readonly lineage: string;
  /** The first of its lineage: it need not follow what its history ends with. */
  readonly begins?: true;
  /** With `begins`: the edits are all values, and earlier ones are not recorded anywhere. */
  readonly isWhole?: true;
  /** With `begins`, of a log that several share: what people call it. */
  readonly name?: string;
  /** With `begins`: what it is a clone of, as HOST/PATH, without how to get there. */
  readonly remote?: string;
  /** After the commit; the earlier one if no active value changed, only what the file should have. */
  readonly revision: number;
  /** What the file should have. An absent value is removed. */
  readonly edits: readonly ConfigEdit[];
  /** What changes in what is served, where that is something else than `edits`. */
  readonly served?: readonly ConfigEdit[];
}

/** The values that a field had before its present one are to be nowhere any more. */
export interface Forgetting extends ConfigPath {
  readonly kind: "forget";
  readonly time: string;
  readonly actor: Actor;
  readonly repo: string;
  readonly revision: number;
}

/** The document is one no longer: what was committed to it before may reach no file. Its history has all of it. */
export interface Removal {
  readonly kind: "remove";
  readonly time: string;
  readonly repo: string;
}

/** Of a log that several share: what people call a repository from now on. */
export interface Renaming {
  readonly kind: "rename";
  readonly time: string;
  readonly repo: string;
  readonly name: string;
}

/** Of a shared log: a scope's file has another text, or is deleted. A snapshot repeats each scope. */
export interface ScopeChange {
  readonly kind: "scope";
  readonly time: string;
  readonly name: string;
  readonly text: string | null;
}

/** Of a shared log: the kept histories of all repositories follow, so earlier entries can be removed. */
interface SnapshotBegin {
  readonly kind: "snapshot";
  readonly time: string;
}

/** A piece of a repository's kept history. */
export interface SnapshotPart {
  readonly kind: "part";
  /** The number that the snapshot begins with. */
  readonly snapshot: LogNumber;
  readonly repo: string;
  /** Behind those of the parts before. The first of all begins the repository. */
  readonly commits: readonly Commit[];
  readonly forgettings: readonly Forgetting[];
  readonly isFirst: boolean;
  /** What was committed to this repository by now is in its parts. */
  readonly isLast: boolean;
}

/** There is no repository but those of the snapshot and those that were added since it began. */
export interface SnapshotEnd {
  readonly kind: "end";
  readonly snapshot: LogNumber;
}

export type LogEntry =
  | Commit
  | Forgetting
  | Removal
  | Renaming
  | ScopeChange
  | SnapshotBegin
  | SnapshotPart
  | SnapshotEnd;

/** A repository as a snapshot has it. */
export interface KeptHistory {
  readonly kind: "kept";
  readonly repo: string;
  readonly commits: readonly Commit[];
}

/** There is no repository and no scope but these. */
interface Remaining {
  readonly kind: "remaining";
  readonly repos: ReadonlySet<string>;
  readonly scopes: ReadonlySet<string>;
}

/** What one who follows a log is handed. */
export type FollowedEntry = Commit | Forgetting | Removal | Renaming | ScopeChange | KeptHistory | Remaining;

/** An entry, and where it stands. */
export interface Committed<Entry extends LogEntry | FollowedEntry = LogEntry> {
  readonly number: LogNumber;
  readonly entry: Entry;
}

/** What is appended; `committed` is called when it is durable, in the order of the log, before anybody may see what follows. */
export interface Appending {
  readonly entries: readonly LogEntry[];
  /** What they were decided on: all up to here. */
  readonly after: LogNumber;
  committed(first: LogNumber): void;
}

export interface CommitLog {
  /** Which log this is: a number of one log says nothing about another. */
  readonly id: string;
  /** Others append to it too, under the name that this machine has there; undefined: nobody else does. */
  readonly shared: { readonly machine: string } | undefined;
  /** Of a log that others append to too: what is known of its snapshots. */
  readonly snapshots: Snapshots | undefined;
  /** Why what is taken in may be old, and nothing can be appended, as a sentence; undefined: it is up to date. */
  readonly problem: string | undefined;
  /** The newest entry that is durable. */
  readonly newest: LogNumber;
  /**
   * Appends entries durably, all or none, after everything appended before. Throws AppendError: then none is in the log, unless the
   * error says that the outcome is unknown. Throws ConflictError if others appended something about the same repositories after
   * `after`; then none is in the log.
   */
  append(appending: Appending): Promise<void>;
  /**
   * From now on what others append is taken in, one entry after the other, in the order of the log: `prepare` is waited for, then
   * the entry counts (`newest`), and what `prepare` answered makes it visible. Once this resolves, all is taken in that is in
   * the log now, or it cannot be reached.
   */
  follow(follower: Follower): Promise<void>;
  /** What is in the log by now can go without what comes after it. However much is being appended. Throws the system's error. */
  seal(): Promise<void>;
  /** Whether there is anything sealed, so that releasing may let something go. */
  readonly hasSealed: boolean;
  /** Entries up to this one need not be kept any longer: the histories have them. Those that are sealed go. Throws the system's error. */
  release(through: LogNumber): Promise<void>;
  /**
   * As `release`; of those that are sealed nothing is left anywhere, whole or damaged. Where others append too there has to be a
   * snapshot behind `through` that has ended. Throws the system's error.
   */
  erase(through: LogNumber): Promise<void>;
  /**
   * No number that was told before is to count: what is lost of the log would be passed over in silence. Nor do the entries of
   * before, from the next start on. Throws the system's error.
   */
  renew(): Promise<void>;
  /** Ends when all that was appended is durable. */
  close(): Promise<void>;
}

/** The numbers are 0 where there is none. */
export interface Snapshots {
  /** The newest snapshot, and the newest that has ended. */
  readonly begun: LogNumber;
  readonly ended: LogNumber;
  /** When a piece of one was taken in last, by the clock's `monotonic()`. */
  readonly resumedAt: number;
  /** The newest entry that erases values: the log must begin after it. */
  readonly forgetting: LogNumber;
  /** Something that others appended could not be taken in: what is here is no snapshot of the log. */
  readonly hasMissed: boolean;
  /** Bytes of the whole log, about; and so many may be in one part of a snapshot. */
  readonly bytes: number;
  readonly partBytes: number;
}

export interface Follower {
  prepare(committed: Committed<FollowedEntry>): Promise<() => void>;
  /** The log can be appended to again after it could not. */
  onReachable(): void;
}

/** What is in the log at a start and may not be in the histories. */
export interface OpenedLog {
  readonly log: CommitLog;
  readonly entries: readonly Committed[];
  /** So many entries were acknowledged and cannot be read. */
  readonly lost: number;
  /** It is a copy of another home's: `renew` it once the histories have what is in it. */
  readonly isCopy: boolean;
}

/** As histories tell of it. */
export function positionOf({ number, entry }: Committed<Commit>, log: string): Position {
  return formatPosition(log, entry.number ?? number);
}

/** Entries could not be put on the disk. */
export class AppendError extends Error {
  override readonly name = "AppendError";
  /** They may be in the log all the same, and turn up after a restart. */
  readonly isOutcomeUnknown: boolean;

  constructor(cause: unknown, isOutcomeUnknown: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.isOutcomeUnknown = isOutcomeUnknown;
  }
}

/** Others were first: what was to be appended was decided on what is no longer so. None of it is in the log. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
  /** Settled when what others appended has been taken in, and another decision makes sense. */
  readonly taken: Promise<void>;

  constructor(taken: Promise<void>) {
    super("another machine changed it first");
    this.taken = taken;
  }
}
