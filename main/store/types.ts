import type { Config, ConfigEdit } from "../../shared/config.ts";
import type { StoredDifference } from "../../shared/config-diff.ts";
import type { ConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { ChangeSource, CountedLayer, Finding, HealthProblem, Layer } from "../../shared/protocol.ts";
import type { Effect } from "../../shared/scopes/scope-schema.ts";

/*
 * The types that several rooms of the store share, and its callers. This file imports nothing of the store. States are immutable: a
 * change creates a new one, so a state can be the key of a cache.
 */

/** The number of a log's entry: consecutive, from 1; 0 is before the first entry. */
export type LogNumber = number;

/** An entry's number with the id of its log, as text. Watchers resume from it. */
export type Position = string;

/** The paths in the home that the store uses. */
export interface StorePaths {
  readonly repositories: string;
  /** The files of the local layers. */
  readonly local: string;
  readonly journal: string;
  readonly log: string;
  readonly temporary: string;
  readonly removed: string;
  readonly indexFile: string;
  readonly findingsFile: string;
  /** The schema that a new repository's file names as its `$schema`. */
  readonly repositorySchemaFile: string;
}

/** What `findings` gets: its message is the whole story in sentences, with the next step and where the damaged or replaced file is kept. */
export interface NewFinding extends Omit<Finding, "id" | "time"> {
  /** It happened now: told again even if the same was dismissed. Otherwise it is a state, which may be found at each start. */
  readonly isIncident?: true;
  /** It is settled once the repository's values have these. */
  readonly until?: readonly ConfigEdit[];
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

/** What tells the linked worktrees of one repository apart. */
export interface LinkedName {
  /** As git calls it. */
  readonly name: string;
  /** From 1; the main work tree is 0. Free again once the worktree is detached. */
  readonly slot: number;
}

export interface NewRepository {
  readonly id: string;
  readonly name: string;
  readonly path?: string;
  readonly inTree: boolean;
  /** See `RepositoryInfo`. */
  readonly base?: string;
  readonly linked?: LinkedName;
  /** With a shared log: a repository with the same remote and without a folder here gets this folder. */
  readonly mayBeKnown?: boolean;
  /** Who adds it: the author of the first revision. */
  readonly actor: Actor;
}

/** What a repository's file in the home says of it beside the values. */
export interface RepositoryMetadata {
  readonly name: string;
  readonly path?: string;
  /** With a shared log: the remote that it is a clone of, as HOST/PATH. */
  readonly remote?: string;
  readonly inTree: boolean;
  /** Of a linked worktree that was not added itself: the id of the repository that it belongs to, whose trust and grants count for it. */
  readonly base?: string;
  /** With `base`. */
  readonly linked?: LinkedName;
  /** The person of this home has marked it. Other machines of a shared log do not know. */
  readonly favourite?: true;
}

export interface RepositoryInfo extends RepositoryMetadata {
  readonly id: string;
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
  /** If the repository has more than one layer: the state of each, the lowest first. All else is what counts over them. */
  readonly layers?: readonly LayerState[];
}

/** The state of the document that a repository's layer is. */
export interface LayerState {
  readonly name: CountedLayer;
  readonly state: RepositoryState;
}

/** An edit of a layer; of the lowest one, the shared one, if none is named. */
export interface LayerEdit extends ConfigEdit {
  readonly layer?: Layer;
}

/** How large a change may make a file, as far as its author may know the size. */
export interface FileRoom {
  readonly bytes: number;
  /** Whether the author may know only about how large a field's value is. */
  hides(path: ConfigPath, value: JsonValue): boolean;
}

export interface ChangeRequest<Answer> extends Pick<Attribution, "actor" | "source" | "reason" | "batch"> {
  /** Answer only when the file has the change too, or cannot be written for now. */
  readonly flush?: boolean;
  /** How much of the file it may fill; undefined: all. */
  readonly room?: FileRoom | undefined;
  /** Nothing is changed: it is only found out whether it could be. */
  readonly isTrial?: boolean;
  /** Whether what it sets may become a command by a later schema without a person's trust; if omitted, it may. */
  readonly trusts?: boolean;
  /**
   * Undefined edits: this repository refuses the request (which undoes the others of `applyTogether`). The `recorded` ones of the edits make
   * a revision even if the field has the value already. The `plain` ones have parts of a value that may not become a command by a later
   * schema without a person's trust, so neither may they.
   */
  decide(state: RepositoryState): {
    readonly edits: readonly LayerEdit[] | undefined;
    readonly recorded?: readonly LayerEdit[];
    readonly plain?: readonly LayerEdit[];
    readonly answer: Answer;
  };
  /** The layer that the request names. */
  readonly layer?: Layer | undefined;
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

/** Who made a change, when and why. */
export interface Attribution {
  /** RFC 3339, UTC, milliseconds. */
  readonly time: string;
  readonly actor: Actor;
  readonly source: ChangeSource;
  readonly reason?: string;
  /** The batch that the change belongs to, perhaps with changes of other repositories. */
  readonly batch?: string;
  /** With a shared log: the name of the machine that it was made on. */
  readonly machine?: string;
}

/** The changes of a commit to one document. Contains only new values; the previous ones result from earlier commits. */
export interface DocumentCommit {
  readonly repo: string;
  /** Identifies the document among all that ever had this id: each add creates a new lineage. */
  readonly lineage: string;
  /** The first commit of its lineage. Its revision need not follow the last one in the history. */
  readonly begins?: true;
  /** With `begins`, or in a recovery: both kinds of edits contain all values. With `begins`, no earlier values are recorded anywhere. */
  readonly isWhole?: true;
  /** With `begins`, only in a shared log: the display name of the repository. */
  readonly name?: string;
  /** With `begins`: the git remote that it is a clone of, as HOST/PATH, without scheme and user. */
  readonly remote?: string;
  /** In a work tree of git: what was checked out when it was decided, as git's HEAD says. Absent if that is not known, or is of a hand edit. */
  readonly head?: string;
  /** The revision after the commit. Unchanged if the commit changes only the file and no active value. */
  readonly revision: number;
  /** The changes to the file. An edit without a value removes the field. */
  readonly edits: readonly ConfigEdit[];
  /** The changes of active values, if they differ from `edits`. */
  readonly activeEdits?: readonly ConfigEdit[];
}

/**
 * What the log says of a repository. Which values are active, and what `health` says, is derived from it, the scopes' rules, and what a
 * person trusts. Immutable: a commit makes a new one.
 */
export interface CommittedState {
  /** Distinguishes this repository from earlier ones with the same id. */
  readonly lineage: string;
  readonly revision: number;
  /** The position of the newest revision; undefined if it is not known. */
  readonly position: Position | undefined;
  /** The values that the file is to have. They need not be valid. */
  readonly target: Config;
  /** The last valid values, also of scopes that are missing now. The same object as `target` if both are equal. */
  readonly valid: Config;
}

/** A revision and its changes of stored values. */
export interface RecordedChange extends Attribution {
  readonly revision: number;
  /** Its position in the log, once it is there. */
  readonly position?: Position;
  /** See `DocumentCommit`. */
  readonly head?: string;
  /** The changes of what counts. */
  readonly changes: readonly RecordedDifference[];
  /** If the repository has more than one layer: the one that the revision changed. */
  readonly ofLayer?: LayerChanges;
  /** The revision before it, or in a history also after it, that the same entry of the log made of another layer. */
  readonly together?: number;
}

/** The changes of one layer's own values. `beneath`: what counts without them, of fields that the layer lacks before or after. */
interface LayerChanges {
  readonly layer: CountedLayer;
  readonly changes: readonly RecordedDifference[];
  readonly beneath: Config;
}

/** A revision, without the values that it changed. */
export interface LastChange extends Pick<RecordedChange, "revision" | "time" | "actor" | "source" | "reason"> {
  /** `<scope>.<field>` of all fields that it changed, in whatever layer. */
  readonly paths: readonly string[];
  /** One of their values was or is a reference to a secret. */
  readonly hasReference?: true;
}

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
  | { readonly kind: "added"; readonly state: RepositoryState }
  | { readonly kind: "updated"; readonly state: RepositoryState }
  | { readonly kind: "health"; readonly state: RepositoryState; readonly before: readonly HealthProblem[] }
  /** What was found about it changed, or was dismissed. */
  | { readonly kind: "found"; readonly state: RepositorySummary }
  | { readonly kind: "removed"; readonly state: RepositoryInfo };
