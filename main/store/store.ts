import type { Config, ConfigEdit } from "../../shared/config.ts";
import type { StoredDifference } from "../../shared/config-diff.ts";
import type { ConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { ChangeSource, FileText, HealthProblem, IndexingProgress } from "../../shared/protocol.ts";
import type { Effect } from "../../shared/scopes/scope-schema.ts";
import type { Scopes } from "../scopes/scopes.ts";
import type { Turn } from "../time/yielding.ts";
import type { LastChangeOf } from "./history/last-changes.ts";
import type { HistoryGroup, MergedHistoryOptions, UnavailableHistory } from "./history/merged-history.ts";
import type { Position } from "./log/commit-log.ts";
import type { PreviewedValue } from "./values/scope-preview.ts";

/**
 * The store's port. The operations (config-service.ts) know only this interface and nothing of files; a store on another engine would
 * implement it. States are immutable: a change creates a new one, so a state can be the key of a cache.
 *
 * Functions that read a history yield by their `turn`; without one they do not yield.
 */
export interface RepositoryStore {
  /** Whether the repository exists. */
  has(id: string): boolean;
  /** Ids in no particular order. */
  ids(): Iterable<string>;
  /** The state if it is in memory, so that the hot path needs no await. */
  peek(id: string): RepositoryState | undefined;
  /** The state, read if necessary; undefined if the repository does not exist. */
  read(id: string): Promise<RepositoryState | undefined>;
  /** A summary of every repository. Waits for files that are being read. */
  summaries(): Promise<readonly RepositorySummary[]>;
  /** The progress of the first read of files, which `summaries` waits for; undefined when it is complete. */
  readonly indexing: IndexingProgress | undefined;
  /** The file with the repository's values; undefined if the repository does not exist. */
  file(id: string): string | undefined;
  /**
   * The place of a value in the repository's file, once the file has it; only the file if it has no such value. Undefined if the
   * repository does not exist.
   */
  source(id: string, scope: string, field: string): Promise<ValueSource | undefined>;
  /** Whether the active value is the one in the repository's file, and not the last valid one. */
  isFromFile(id: string, scope: string, field: string): boolean;
  /** The newest revision known now; 0 if the repository does not exist. */
  revision(id: string): number;
  /** The oldest revision after which all revisions are kept; 0 if the repository does not exist. */
  oldest(id: string): number;
  /** Why answers may be outdated and changes are refused, as a sentence; undefined if neither is the case. */
  readonly problem: string | undefined;
  /** The log's present position: later changes have later positions. */
  readonly position: Position;
  /**
   * The revision that a repository had at a position of this log. Throws RepoconfError 1102, or 1110 if later revisions cannot be
   * read.
   */
  revisionAt(id: string, position: Position, turn?: Turn): Promise<number>;
  /** Distinguishes a repository from earlier ones with the same id; known once it is loaded. */
  lineage(id: string): string;
  /**
   * The changes after revision `after` up to the newest, oldest first. Throws RepoconfError 1102, 1110 if they are no
   * longer kept, 1112 if there is no such revision yet.
   */
  changes(id: string, after: number, turn?: Turn): AsyncGenerator<RecordedChange>;
  /** The kept history from revision `from` backwards, newest first. Throws RepoconfError 1102, or 1110 where it is damaged. */
  history(id: string, from: number, turn?: Turn): AsyncGenerator<HistoryRecord>;
  /**
   * The histories of several repositories as one, newest first by place in the log; entries older than the log follow, one repository
   * after the other. `since`: milliseconds since 1970; older entries may be left out.
   */
  mergedHistory(
    ids: Iterable<string>,
    options: Pick<MergedHistoryOptions, "after" | "since" | "turn">,
  ): AsyncGenerator<HistoryGroup | UnavailableHistory>;
  /** The last change of each field. Throws RepoconfError 1102 or 1108. */
  lastChanges(id: string, turn?: Turn): Promise<LastChangeOf>;
  /** The stored values at a revision. Throws RepoconfError 1102, 1110 or 1112. */
  configAt(id: string, revision: number, turn?: Turn): Promise<PastConfig>;
  /** Erases the values that a field had before its present one. Throws RepoconfError 1102, 1108 or 1110. */
  forget(id: string, path: ConfigPath, actor: Actor): Promise<void>;
  /**
   * Gives `decide` the newest state and applies its edits, durably and visible together, as one revision.
   * `decide` may run more than once and must be pure. Throws RepoconfError 1102, 1106, 1107 or 1108.
   */
  apply<Answer>(id: string, request: ChangeRequest<Answer>): Promise<Applied<Answer>>;
  /** As `apply` on several repositories, all or none: if any `decide` refuses or any write fails, nothing is changed. */
  applyTogether<Answer>(requests: ReadonlyMap<string, ChangeRequest<Answer>>): Promise<Map<string, Applied<Answer>>>;
  /** The text of the file with the values. Throws RepoconfError 1102. */
  readText(id: string): Promise<FileText>;
  /** Replaces that text, as an edit by hand does. Returns false if it is not `expected` any more. Throws RepoconfError 1102 or 1108. */
  writeText(id: string, text: string, expected: string | null): Promise<boolean>;
  /** Rewrites the file from the active values. Returns where the replaced file is kept. Throws RepoconfError 1102, 1106 or 1108. */
  restoreText(id: string): Promise<string | undefined>;
  /** Throws RepoconfError 1111 if the id or the in-tree path is in use, 1101 if a path cannot be used, 1108. */
  add(repository: NewRepository): Promise<RepositorySummary & Recognition>;
  /** Throws RepoconfError 1102, 1106, 1108 or 1111. */
  update(id: string, changes: { readonly name?: string; readonly path?: string }): Promise<RepositorySummary>;
  /** Removes the repository and moves its file, if there is one, to `removed/`. Returns its path. Throws RepoconfError 1102 or 1108. */
  remove(id: string): Promise<string | undefined>;
  /** The values in a repository's present file that are not trusted yet. Throws RepoconfError 1102. */
  waiting(id: string): Promise<readonly WaitingValue[]>;
  /**
   * Trusts the waiting value of a field, identified by its hash. Returns the revision in which it is active. Throws RepoconfError 1102,
   * 1104 if that value is not waiting any more, 1106 or 1108.
   */
  accept(id: string, path: ConfigPath, hash: string): Promise<number>;
  /** See `previewScope`. Reads the file first. Throws RepoconfError 1102. */
  previewScope(id: string, scopes: Scopes, name: string): Promise<readonly PreviewedValue[]>;
  /** Whether a value that runs as a command may become active: the repository is not in-tree, or the value is trusted. */
  isTrusted(id: string, path: ConfigPath, value: JsonValue): boolean;
  /** Calls `listener` with every change, once it is durable and visible, in the order of the log. */
  subscribe(listener: (event: StoreEvent) => void): void;
  /** Call when the rules for values have changed: checks the stored values again. */
  reinterpret(): void;
  /** Finishes pending work, then closes the store. */
  close(): Promise<void>;
}

/** A field that a revision changed. With `forgotten`, the earlier value is unknown, and the later one too if it is absent. */
export interface RecordedDifference extends StoredDifference {
  readonly forgotten?: true;
}

/** A value in a work tree's file that runs as a command and is inactive until a person trusts it. */
export interface WaitingValue extends ConfigPath {
  readonly value: JsonValue;
  /** What it would do; the hash identifies the value as this. */
  readonly effect: Effect;
  readonly hash: string;
  /** The stored value that is active meanwhile; absent if that is the default. */
  readonly serving?: JsonValue;
}

export interface ValueSource {
  readonly file: string;
  /** From 1; absent if the file does not have the value. */
  readonly line?: number;
  readonly column?: number;
}

/** Whether the added repository already existed and got the folder. */
export interface Recognition {
  readonly recognized?: true;
}

export interface NewRepository {
  readonly id: string;
  readonly name: string;
  readonly path?: string;
  readonly inTree: boolean;
  /** With a shared log: a repository with the same remote and without a folder here gets this folder. */
  readonly mayBeKnown?: boolean;
  /** Who adds it: the author of the first revision. */
  readonly actor: Actor;
}

export interface RepositoryInfo {
  readonly id: string;
  readonly name: string;
  readonly path?: string;
  /** With a shared log: the remote that it is a clone of, as HOST/PATH. */
  readonly remote?: string;
  readonly inTree: boolean;
  readonly revision: number;
  readonly health: readonly HealthProblem[];
}

export interface RepositorySummary extends RepositoryInfo {
  /** The number of stored fields. */
  readonly modified: number;
}

export interface RepositoryState extends RepositoryInfo {
  /** The log position of the revision, or a later one; undefined if it is not known. */
  readonly position?: Position | undefined;
  /** The active stored values; for a broken file or value the last valid ones. Undefined if none were ever known. */
  readonly stored: Config | undefined;
  /** Set while the file as a whole cannot be used; then nothing can be written (1106). */
  readonly broken?: HealthProblem;
}

export interface ChangeRequest<Answer> {
  readonly actor: Actor;
  readonly source: ChangeSource;
  readonly reason?: string;
  /** The batch that the change belongs to, perhaps with changes of other repositories. */
  readonly batch?: string;
  /** Answer only when the file has the change too, or cannot be written for now. */
  readonly flush?: boolean;
  /** Undefined edits: this repository refuses the request (which undoes the others of `applyTogether`). */
  decide(state: RepositoryState): { readonly edits: readonly ConfigEdit[] | undefined; readonly answer: Answer };
}

export interface Applied<Answer> {
  readonly state: RepositoryState;
  readonly answer: Answer;
  /** Only for requests with `flush`. */
  readonly mirrored?: Mirrored;
}

/** True if the file has the committed values; otherwise the reason. The write is retried then. */
export type Mirrored = true | string;

/** Who changed something: an API key, or a person with an editor. */
export type Actor = { readonly kind: "key"; readonly id: string; readonly name: string } | { readonly kind: "file" };

/** A revision and its changes of stored values. */
export interface RecordedChange {
  readonly revision: number;
  /** Its position in the log; absent in a history from before there was a log. */
  readonly position?: Position;
  /** RFC 3339, UTC, milliseconds. */
  readonly time: string;
  readonly actor: Actor;
  readonly source: ChangeSource;
  readonly reason?: string;
  readonly batch?: string;
  /** With a shared log: the machine that it was made on. */
  readonly machine?: string;
  readonly changes: readonly RecordedDifference[];
}

/** A revision, without its changes. */
export type LastChange = Pick<RecordedChange, "revision" | "time" | "actor" | "source" | "reason">;

/** A record of a repository's history: a revision, or a request to forget values. */
export type HistoryRecord =
  | ({ readonly kind: "change" } & RecordedChange)
  | ({ readonly kind: "forget"; readonly revision: number; readonly time: string; readonly actor: Actor } & ConfigPath);

export interface PastConfig {
  readonly config: Config;
  /** Fields (`<scope>.<field>`) whose values at that revision were erased. */
  readonly forgotten: ReadonlySet<string>;
}

export type StoreEvent =
  | {
      readonly kind: "changed";
      readonly state: RepositoryState;
      readonly change: RecordedChange;
      /** For a commit to several repositories: whether events for other ones follow. */
      readonly isPart: boolean;
    }
  | { readonly kind: "added" | "updated"; readonly state: RepositoryState }
  | { readonly kind: "health"; readonly state: RepositoryState; readonly before: readonly HealthProblem[] }
  | { readonly kind: "removed"; readonly state: RepositoryInfo };
