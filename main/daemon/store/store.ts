import type { Config, ConfigEdit } from "../../../shared/config.ts";
import type { StoredDifference } from "../../../shared/config-diff.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { ChangeSource, FileText, HealthProblem, IndexingProgress } from "../../../shared/protocol.ts";
import type { Turn } from "../yielding.ts";
import type { LastChangeOf } from "./last-changes.ts";
import type { Position } from "./log/commit-log.ts";
import type { HistoryGroup, MergedHistoryOptions, UnavailableHistory } from "./merged-history.ts";

/**
 * What reads a history takes its `turn`: left out, it lets nobody go on meanwhile.
 *
 * The store's port. What the product can do (config-service.ts) knows this and nothing of files; a store on another
 * engine would implement it. States are immutable: a change makes a new one, so a state can key what is derived from it.
 */
export interface RepositoryStore {
  /** Whether the repository exists. */
  has(id: string): boolean;
  /** Ids in no particular order. */
  ids(): Iterable<string>;
  /** The state if it is in memory already, so that the hot path needs no await. */
  peek(id: string): RepositoryState | undefined;
  /** The state, read if need be; undefined if there is no such repository. */
  read(id: string): Promise<RepositoryState | undefined>;
  /** Every repository in short, true to what is stored: waits for what is being read. */
  summaries(): Promise<readonly RepositorySummary[]>;
  /** How far the reading of files is that nobody has read yet, which `summaries` waits for; undefined when that is done. */
  readonly indexing: IndexingProgress | undefined;
  /** The file with the repository's values. Undefined: no such repository. */
  file(id: string): string | undefined;
  /**
   * Where one of the repository's values is in the file, once the file has it; only the file if the value is not there. Undefined: no
   * such repository.
   */
  source(id: string, scope: string, field: string): Promise<ValueSource | undefined>;
  /** Whether the active value is what the repository's file says, and not the last valid one. */
  isFromFile(id: string, scope: string, field: string): boolean;
  /** The newest revision, as far as known now; 0 if there is no such repository. */
  revision(id: string): number;
  /** The oldest revision whose successors are all kept; 0 if there is no such repository. */
  oldest(id: string): number;
  /** Why what is told here may be old, and nothing can be changed, as a sentence; undefined: it is not, and can. */
  readonly problem: string | undefined;
  /** Where the log is: what is published from now on has a later position. */
  readonly position: Position;
  /**
   * The revision that a repository had at a position of this log. Throws RepoconfError 1102, or 1110 where what came after it
   * cannot be told.
   */
  revisionAt(id: string, position: Position, turn?: Turn): Promise<number>;
  /** Which of the repositories that had this id; known once it is loaded. */
  lineage(id: string): string;
  /**
   * The changes after revision `after` up to the newest, the oldest first. Throws RepoconfError 1102, 1110 if they are no
   * longer kept, 1112 if there is no such revision yet.
   */
  changes(id: string, after: number, turn?: Turn): AsyncGenerator<RecordedChange>;
  /** What is kept of the past, the newest first, from revision `from` on. Throws RepoconfError 1102 or, where it is damaged, 1110. */
  history(id: string, from: number, turn?: Turn): AsyncGenerator<HistoryRecord>;
  /**
   * The histories of several repositories as one, the newest first by place in the log; what is from before this log follows,
   * one repository after the other. `since`: milliseconds since 1970; what is older need not be told.
   */
  mergedHistory(
    ids: Iterable<string>,
    options: Pick<MergedHistoryOptions, "after" | "since" | "turn">,
  ): AsyncGenerator<HistoryGroup | UnavailableHistory>;
  /** By which each field changed last, from one reading of the history. Throws RepoconfError 1102 or 1108. */
  lastChanges(id: string, turn?: Turn): Promise<LastChangeOf>;
  /** What was stored at a revision. Throws RepoconfError 1102, 1110 or 1112. */
  configAt(id: string, revision: number, turn?: Turn): Promise<PastConfig>;
  /** Blanks the values that a field had before its present one. Throws RepoconfError 1102, 1108 or 1110. */
  forget(id: string, path: ConfigPath, actor: Actor): Promise<void>;
  /**
   * Gives `decide` the newest state and applies its edits, durably and visible together, as one revision.
   * `decide` may run more than once and must be pure. Throws RepoconfError 1102, 1106, 1107 or 1108.
   */
  apply<Answer>(id: string, request: ChangeRequest<Answer>): Promise<Applied<Answer>>;
  /** As `apply` on several repositories, all or none: if any `decide` refuses or any write fails, nothing is changed. */
  applyTogether<Answer>(requests: ReadonlyMap<string, ChangeRequest<Answer>>): Promise<Map<string, Applied<Answer>>>;
  /** The file that holds the values, as text. Throws RepoconfError 1102. */
  readText(id: string): Promise<FileText>;
  /** Replaces that text, as an edit by hand does; false if it is not `expected` any more. Throws RepoconfError 1102 or 1108. */
  writeText(id: string, text: string, expected: string | null): Promise<boolean>;
  /** Writes the file again from the active values; returns where the replaced file is kept. Throws RepoconfError 1102, 1106 or 1108. */
  restoreText(id: string): Promise<string | undefined>;
  /** Throws RepoconfError 1111 if the id or the in-tree path is in use, 1101 if a path cannot be used, 1108. */
  add(repository: NewRepository): Promise<RepositorySummary & Recognition>;
  /** Throws RepoconfError 1102, 1106, 1108 or 1111. */
  update(id: string, changes: { readonly name?: string; readonly path?: string }): Promise<RepositorySummary>;
  /** Takes the repository out of use and keeps its file, if there is one, aside; returns where. Throws RepoconfError 1102 or 1108. */
  remove(id: string): Promise<string | undefined>;
  /** What waits in a repository until it is trusted, as its file is now. Throws RepoconfError 1102. */
  waiting(id: string): Promise<readonly WaitingValue[]>;
  /**
   * Trusts the value that waits in a field, and is known by its hash; returns the revision by which it is active. Throws
   * RepoconfError 1102, 1104 if that value does not wait there any more, 1106 or 1108.
   */
  accept(id: string, path: ConfigPath, hash: string): Promise<number>;
  /** Whether a value that runs as a command may become active in a repository again: it is not in-tree, or trusted. */
  isTrusted(id: string, path: ConfigPath, value: JsonValue): boolean;
  /** Every change, after it is durable and visible, in the order of the log. */
  subscribe(listener: (event: StoreEvent) => void): void;
  /** The rules for values changed: what is stored is judged anew. */
  reinterpret(): void;
  /** Finishes what is waiting, then lets go. */
  close(): Promise<void>;
}

/** A field that a revision changed. With `forgotten` the value before is not known, nor that after if it is absent. */
export interface RecordedDifference extends StoredDifference {
  readonly forgotten?: true;
}

/** A value that runs as a command, came with a work tree's file, and is not active until a person trusts it. */
export interface WaitingValue extends ConfigPath {
  readonly value: JsonValue;
  /** SHA-256 of its canonical JSON, hexadecimal. */
  readonly hash: string;
  /** The stored value that serves meanwhile; absent: the default does. */
  readonly serving?: JsonValue;
}

export interface ValueSource {
  readonly file: string;
  /** From 1; absent if the value does not stand there. */
  readonly line?: number;
  readonly column?: number;
}

/** Whether a repository that was to be added was there already, and got the folder. */
export interface Recognition {
  readonly recognized?: true;
}

export interface NewRepository {
  readonly id: string;
  readonly name: string;
  readonly path?: string;
  readonly inTree: boolean;
  /** Of a log that several machines share: the one that is a clone of the same remote, and has no folder here, gets this one. */
  readonly mayBeKnown?: boolean;
  /** Who adds it: the first revision is this one's. */
  readonly actor: Actor;
}

export interface RepositoryInfo {
  readonly id: string;
  readonly name: string;
  readonly path?: string;
  /** Of a log that several machines share: what it is a clone of, as HOST/PATH. */
  readonly remote?: string;
  readonly inTree: boolean;
  readonly revision: number;
  readonly health: readonly HealthProblem[];
}

export interface RepositorySummary extends RepositoryInfo {
  /** How many fields are stored. */
  readonly modified: number;
}

export interface RepositoryState extends RepositoryInfo {
  /** Where the log has the revision, or later; undefined if that is not known. */
  readonly position?: Position | undefined;
  /** The stored values that are active: valid ones, and for a broken file or value the last valid one. Undefined: never known. */
  readonly stored: Config | undefined;
  /** Set while the file as a whole cannot be used; then nothing can be written (1106). */
  readonly broken?: HealthProblem;
}

export interface ChangeRequest<Answer> {
  readonly actor: Actor;
  readonly source: ChangeSource;
  readonly reason?: string;
  /** What is done at once, perhaps in several repositories. */
  readonly batch?: string;
  /** Answered only when the file says it too, or cannot for now. */
  readonly flush?: boolean;
  /** Undefined edits: this repository refuses the request (which undoes the others of `applyTogether`). */
  decide(state: RepositoryState): { readonly edits: readonly ConfigEdit[] | undefined; readonly answer: Answer };
}

export interface Applied<Answer> {
  readonly state: RepositoryState;
  readonly answer: Answer;
  /** Of a request that asked to wait for the file. */
  readonly mirrored?: Mirrored;
}

/** Whether the file says what was committed: true, or why not. Then it is tried again. */
export type Mirrored = true | string;

/** Who changed something: an API key, or a person with an editor. */
export type Actor = { readonly kind: "key"; readonly id: string; readonly name: string } | { readonly kind: "file" };

/** A revision, and what it changed in the stored values. */
export interface RecordedChange {
  readonly revision: number;
  /** Where the log has it; absent in a history from before there was one. */
  readonly position?: Position;
  /** RFC 3339, UTC, milliseconds. */
  readonly time: string;
  readonly actor: Actor;
  readonly source: ChangeSource;
  readonly reason?: string;
  readonly batch?: string;
  /** Of a log that several machines share: which of them it was made on. */
  readonly machine?: string;
  readonly changes: readonly RecordedDifference[];
}

/** A revision, without what it changed. */
export type LastChange = Pick<RecordedChange, "revision" | "time" | "actor" | "source" | "reason">;

/** What stands in a repository's history: its revisions, and what was made to be forgotten after which. */
export type HistoryRecord =
  | ({ readonly kind: "change" } & RecordedChange)
  | ({ readonly kind: "forget"; readonly revision: number; readonly time: string; readonly actor: Actor } & ConfigPath);

export interface PastConfig {
  readonly config: Config;
  /** Fields (`<scope>.<field>`) whose values of then were blanked. */
  readonly forgotten: ReadonlySet<string>;
}

export type StoreEvent =
  | {
      readonly kind: "changed";
      readonly state: RepositoryState;
      readonly change: RecordedChange;
      /** Of a commit to several repositories: others of it are still to be told. */
      readonly isPart: boolean;
    }
  | { readonly kind: "added" | "updated"; readonly state: RepositoryState }
  | { readonly kind: "health"; readonly state: RepositoryState; readonly before: readonly HealthProblem[] }
  | { readonly kind: "removed"; readonly state: RepositoryInfo };
