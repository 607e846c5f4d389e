import type { ConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { FileText, IndexingProgress } from "../../shared/protocol.ts";
import type { Scopes } from "../scopes/scopes.ts";
import type { Turn } from "../time/yielding.ts";
import type { LastChangeOf } from "./history/last-changes.ts";
import type { HistoryGroup, MergedHistoryOptions, UnavailableHistory } from "./history/merged-history.ts";
import type {
  Actor,
  Applied,
  ChangeRequest,
  HistoryRecord,
  NewRepository,
  PastConfig,
  Position,
  Recognition,
  RecordedChange,
  RepositoryState,
  RepositorySummary,
  StoreEvent,
  ValueSource,
  WaitingValue,
} from "./types.ts";
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
