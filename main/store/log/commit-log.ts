import type { ConfigPath } from "../../../shared/config-path.ts";
import type { LogPlace } from "../../../shared/log-place.ts";
import type { FileSystem } from "../../files/file-system.ts";
import type { Clock } from "../../time/clock.ts";
import type { Actor, Attribution, DocumentCommit, LogNumber, Position } from "../types.ts";

/*
 * The interface of the log, which is the source of truth for all repositories; files and histories mirror it. An implementation
 * (`file-log.ts`, `stream-log.ts`) makes entries durable and orders them, and knows nothing of what they mean.
 */

export function formatPosition(log: string, number: LogNumber): Position {
  return `${log}.${number}`;
}

/** The entry number of a position; 0 if it belongs to another log, because everything in that one came before this log. */
export function numberIn(log: string, position: Position | undefined): LogNumber {
  const { log: id, number } = parsePosition(position ?? "");
  return id === log ? number : 0;
}

/** The log's id and the number; empty and 0 if it is no position. */
export function parsePosition(position: string): { readonly log: string; readonly number: LogNumber } {
  const { log = "", number = 0 } = /^(?<log>[0-9a-f]+)\.(?<number>\d{1,15})$/.exec(position)?.groups ?? {};
  return { log, number: Number(number) };
}

/** The changes of one request to one or several documents: all of them become active, or none. */
export interface Commit extends Attribution {
  readonly kind: "commit";
  /** Only in a snapshot: the number of the original entry. */
  readonly number?: LogNumber;
  readonly documents: readonly DocumentCommit[];
}

/** A request to erase all earlier values of a field from the history and the log. */
export interface Forgetting extends ConfigPath {
  readonly kind: "forget";
  readonly time: string;
  readonly actor: Actor;
  readonly repo: string;
  readonly revision: number;
}

/** A document was removed: its earlier commits must not be written to any file. Its history contains them. */
export interface Removal {
  readonly kind: "remove";
  readonly time: string;
  readonly repo: string;
}

/** Only in a shared log: a repository has a new display name. */
export interface Renaming {
  readonly kind: "rename";
  readonly time: string;
  readonly repo: string;
  readonly name: string;
}

/** Only in a shared log: the text of a scope's file changed, or the file was deleted. A snapshot repeats each scope. */
export interface ScopeChange {
  readonly kind: "scope";
  readonly time: string;
  readonly name: string;
  readonly text: string | null;
}

/** Only in a shared log: the kept histories of all repositories follow, so earlier entries can be removed. */
interface SnapshotBegin {
  readonly kind: "snapshot";
  readonly time: string;
}

/** A part of a repository's kept history. */
export interface SnapshotPart {
  readonly kind: "part";
  /** The number of the entry that began the snapshot; 0 if the repository is copied into the log, without a snapshot. */
  readonly snapshot: LogNumber;
  readonly repo: string;
  /** They follow the commits of earlier parts. The first commit of all begins the repository. */
  readonly commits: readonly Commit[];
  readonly erasures: readonly Forgetting[];
  readonly isFirst: boolean;
  /** The parts contain every earlier commit to this repository. */
  readonly isLast: boolean;
}

/** The snapshot is complete. Only its repositories, and those that were added since it began, exist. */
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

/** The history of a repository, from the parts of a snapshot. */
export interface KeptHistory {
  readonly kind: "kept";
  readonly repo: string;
  readonly commits: readonly Commit[];
}

/** The only repositories and scopes that exist after a snapshot. */
interface Remaining {
  readonly kind: "remaining";
  readonly repos: ReadonlySet<string>;
  readonly scopes: ReadonlySet<string>;
}

/** What a follower of the log receives. */
export type FollowedEntry = Commit | Forgetting | Removal | Renaming | ScopeChange | KeptHistory | Remaining;

export interface Committed<Entry extends LogEntry | FollowedEntry = LogEntry> {
  readonly number: LogNumber;
  readonly entry: Entry;
}

export interface AppendRequest {
  readonly entries: readonly LogEntry[];
  /** The last entry that the decision took into account. */
  readonly after: LogNumber;
  /** Called when the entries are durable, in the order of the log, before later entries become visible. */
  committed(first: LogNumber): void;
}

/** What every log needs. */
export interface LogOptions {
  readonly folder: string;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  /** Called before each write or append; throws if the home is no longer this daemon's. */
  assertHeld(): void;
  onProblem(message: string, context: { readonly [name: string]: unknown }): void;
}

export interface CommitLog {
  /** Identifies the log: numbers of different logs cannot be compared. */
  readonly id: string;
  /** The number of a position of this log, or of one that it continues under a new id; 0 for any other. */
  numberOf(position: Position | undefined): LogNumber;
  /**
   * Whether a repository is there once the log has it, and a start gets from the log what files and histories lack. In a home whose log
   * is its own, the files decide: one that somebody puts into the folder is a repository.
   */
  readonly isAuthority: boolean;
  /** What commits that are made here name: this machine, unless only this home appends to the log. */
  readonly signature: { readonly machine?: string };
  /** Where a shared log is; undefined for any other. */
  readonly place?: LogPlace | undefined;
  /** The snapshots of a shared log; undefined for any other. */
  readonly snapshots?: Snapshots | undefined;
  /** If the log is a copy, its last entry then: files were copied then or later, perhaps before their histories, and have other stamps. */
  readonly copiedAt?: LogNumber | undefined;
  /** Why nothing can be appended and applied entries may be outdated, as a sentence; undefined if the log is up to date. */
  readonly problem?: string | undefined;
  /** Of a shared log that can be reached: why this home cannot go on with it, as a sentence. It is in `problem` too. */
  readonly divergence?: string | undefined;
  /** What a person should know of a log that can be appended to, as sentences with what to do. */
  readonly warnings?: readonly string[] | undefined;
  /** The newest entry that is durable and applied. */
  readonly newest: LogNumber;
  /**
   * Appends entries durably, all or none, after everything appended earlier. Throws AppendError or ConflictError; then none is in the log,
   * unless the error says that the outcome is unknown.
   */
  append(request: AppendRequest): Promise<void>;
  /**
   * Starts to apply the entries of other machines, one at a time, in the order of the log: `prepare` is awaited, `newest` becomes the
   * entry's number, and the function that `prepare` returned makes the entry visible. Resolves when everything in the log is applied,
   * or when the log cannot be reached.
   */
  subscribe(follower: Follower): Promise<void>;
  /** Seals all entries so far, so that they can be deleted without later ones, even during appends. Throws the system's error. */
  seal(): Promise<void>;
  /** Whether anything is sealed, so that `release` may delete something. */
  readonly hasSealed: boolean;
  /** Deletes sealed entries up to this one, because the histories contain them. Throws the system's error. */
  release(through: LogNumber): Promise<void>;
  /**
   * As `release`, but no copy of a sealed entry remains, not even of a damaged one. A shared log needs a complete snapshot that began
   * after `through`. Throws the system's error.
   */
  erase(through: LogNumber): Promise<void>;
  /** Resolves when all appends are settled. */
  close(): Promise<void>;
}

/** The snapshots of a shared log. A number is 0 if there is no such entry. */
export interface Snapshots {
  /** The entries that began the newest snapshot, and the newest complete one. */
  readonly begun: LogNumber;
  readonly ended: LogNumber;
  /** When the last entry of any snapshot was applied, by the clock's `monotonic()`. */
  readonly progressedAt: number;
  /** The newest entry that erases values: the log must begin after it. */
  readonly forgetting: LogNumber;
  /** An entry of another machine could not be applied, so this machine must not write a snapshot. */
  readonly hasFailedEntries: boolean;
  /** The approximate size of the log in bytes. */
  readonly bytes: number;
  /** The maximum size of a snapshot part in bytes. */
  readonly partBytes: number;
}

export interface Follower {
  /** Prepares an entry; the returned function makes it visible. */
  prepare(committed: Committed<FollowedEntry>): Promise<() => void>;
  /** Called when the log can be appended to again. */
  onReachable(): void;
  /** Called when `problem` or `warnings` may have changed, and at each check of the log, at least every few seconds. */
  onProblems(): void;
}

/** A log, with the entries that the histories may lack at a start. */
export interface OpenedLog {
  readonly log: CommitLog;
  readonly entries: readonly Committed[];
  /** Acknowledged entries that cannot be read. */
  readonly lost: readonly LogNumber[];
}

/** The position of a commit as histories record it. */
export function positionOf({ number, entry }: Committed<Commit>, log: string): Position {
  return formatPosition(log, entry.number ?? number);
}

export class AppendError extends Error {
  override readonly name = "AppendError";
  /** The entries may still be in the log, and appear later. */
  readonly isOutcomeUnknown: boolean;

  constructor(cause: unknown, isOutcomeUnknown: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.isOutcomeUnknown = isOutcomeUnknown;
  }
}

/** Another machine changed the same repositories after the entry `after`: the append was decided on an outdated state. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
  /** Resolves when the conflicting entries are applied, so that the change can be decided again. */
  readonly applied: Promise<void>;

  constructor(applied: Promise<void>) {
    super("another machine changed it first");
    this.applied = applied;
  }
}
