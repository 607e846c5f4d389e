import type { Config } from "./config.ts";
import type { ErrorEntry } from "./errors.ts";
import type { Grants, KeyRight } from "./grants.ts";
import type { JsonValue } from "./json.ts";
import type { LogPlace } from "./log-place.ts";
import type { Effect, FieldSchema, ScopeSchema } from "./scopes/scope-schema.ts";
import type { ToldChange, TypedChange } from "./typed-changes.ts";
import type { ValueEdit } from "./value-edit.ts";

/**
 * The types of everything that crosses the socket: operations with their arguments and results, and events. Server, client and
 * tests import it. docs/protocol.md describes it in prose.
 */
export const protocolVersion = 1;

/**
 * Where a value is stored: `shared` is the repository's own file, in a work tree the one that git has; `local` is for this machine only,
 * and counts before it.
 */
export type Layer = "shared" | "local";

/** A layer whose values count: `base` in a linked worktree is the local one of the repository that it belongs to, which it never changes. */
export type CountedLayer = Layer | "base";

/** How to make a change. In arguments, null counts as left out. */
export interface ChangeArguments {
  /** One id or several. */
  readonly repo?: string | readonly string[] | null;
  /** Compare and set: the revision that the repository must be at; with an array of ids, one for each. */
  readonly revision?: number | { readonly [repo: string]: number } | null;
  readonly atomic?: boolean | null;
  readonly dryRun?: boolean | null;
  readonly reason?: string | null;
  /** Reply only when the file is written too, or cannot be written now. */
  readonly flush?: boolean | null;
  /** Changes of this key with the same text form one batch. If left out, the changes of one request to several repositories form one. */
  readonly batch?: string | null;
  /** Instead of `repo`: a folder in the repository. */
  readonly path?: string | null;
  /** If left out: where the value that counts is stored, which is `shared` for a field without a local value. */
  readonly layer?: Layer | null;
}

/** The shells that have a hook. */
export type HookShell = "bash" | "zsh" | "fish" | "pwsh";

/** Arguments that may be left out, or null. */
type Optional<Arguments> = { readonly [Name in keyof Arguments]?: Arguments[Name] | null };

/** Which part of a long list. */
export interface PageArguments {
  readonly limit?: number | null;
  readonly after?: string | null;
}

/** The arguments of each operation. Few are required here, because missing ones have error codes of their own (1006, 1008). */
export interface OperationArgumentsByName {
  "config/list": {
    readonly repo?: string | null;
    readonly scope?: string | null;
    readonly field?: string | null;
    readonly stored?: boolean | null;
    readonly path?: string | null;
    readonly revision?: number | null;
    /** Whether the reply has the schemas of the fields in the result. */
    readonly schemas?: boolean | null;
    /** Whether the reply names the fields whose values wait for trust. */
    readonly waits?: boolean | null;
    /** Whether the reply has the stored values of each layer. */
    readonly layers?: boolean | null;
  };
  /** The fields are additional members, `<scope>.<field>`. */
  "config/set": ChangeArguments & {
    /** Fields whose stored values are removed, in the same revision. */
    readonly unset?: readonly string[] | null;
    /** Edits inside values, applied to the value at the time the set runs. */
    readonly edits?: readonly ValueEdit[] | null;
    /** Changes as people type them, read by the schemas of the fields that the key may read. */
    readonly typed?: readonly TypedChange[] | null;
    readonly schemas?: boolean | null;
  } & { readonly [field: `${string}.${string}`]: unknown };
  "config/unset": ChangeArguments & { readonly fields?: readonly string[] | null };
  /** `inside`: a JSON pointer to what is inside the value, whose place is told. */
  "config/explain": Optional<{ repo: string; path: string; field: string }> & { readonly inside?: string };
  /** `path`: a folder in the repository. */
  "config/hook": { readonly path: string; readonly shell: HookShell };
  "config/search": PageArguments & { readonly query: string };
  "config/matrix": { readonly query: string; readonly after?: string | null };
  "config/cells": Optional<{ repo: string | readonly string[]; fields: readonly string[]; after: string }>;
  "config/watch": {
    readonly repo?: string | readonly string[] | null;
    readonly since?: number | { readonly [repo: string]: number } | null;
    /** For everything watched that `since` does not name: a position from a watch or an event. */
    readonly position?: string | null;
    /** Also send progress events for changes that the key cannot see. */
    readonly progress?: boolean | null;
  };
  "config/unwatch": { readonly repo?: string | readonly string[] | null };
  "history/list": PageArguments & Omit<OperationArgumentsByName["config/explain"], "inside">;
  "history/search": PageArguments & {
    readonly query: string;
    /** Only entries of this batch. */
    readonly batch?: string | null;
  };
  "history/restore": Omit<ChangeArguments, "repo" | "revision"> & {
    readonly repo?: string | null;
    /** The revision to restore. Instead, `undo`: the revisions to take back, except what was changed since. */
    readonly to?: number | null;
    readonly undo?: readonly number[] | null;
    /** If left out: every field that differs, or that `undo` changed, and that the key may write. */
    readonly fields?: readonly string[] | null;
    readonly revision?: number | null;
  };
  "history/forget": { readonly repo?: string | null; readonly field?: string | null };
  "scope/list": object;
  "repo/list": PageArguments & { readonly repo?: string | null; readonly path?: string | null };
  "repo/find": { readonly path: string };
  "repo/add": {
    readonly name: string;
    readonly path?: string | null;
    readonly id?: string | null;
    /** Whether the values are in the folder's `.repoconf.json`. If left out: if the folder has one. */
    readonly inTree?: boolean | null;
  };
  /** At least one of `name`, `path` and `favourite`. */
  "repo/update": Optional<{ repo: string; name: string; path: string; favourite: boolean }>;
  "repo/remove": { readonly repo?: string | null };
  "repo/scan": { readonly path: string };
  /** `path`: as a person types it, perhaps not to its end. */
  "repo/look": { readonly path: string };
  /** `layer`: whose file; by default the shared one's. */
  "file/read": { readonly repo?: string | null; readonly layer?: Layer | null };
  "file/write": {
    readonly repo?: string | null;
    readonly layer?: Layer | null;
    readonly text: string;
    /** The text to be replaced; null if there was no file. */
    readonly expected: string | null;
  };
  "file/restore": { readonly repo?: string | null; readonly layer?: Layer | null };
  "trust/list": { readonly repo?: string | null };
  "trust/accept": {
    readonly repo?: string | null;
    readonly field?: string | null;
    /** From `trust/list`: the hash of the value that the person saw. */
    readonly hash: string;
  };
  /** `text`: the scope's schema, as JSON. */
  "trust/preview": { readonly scope: string; readonly text: string };
  /** Those of one repository, or all. */
  "proposal/list": { readonly repo?: string | null };
  /** `hash`: from `proposal/list`, of what the person saw. */
  "proposal/accept": { readonly id: string; readonly hash: string };
  "proposal/remove": { readonly id: string };
  "draft/list": object;
  "draft/set": { readonly drafts?: SentList<Draft>; readonly removed?: SentList<DraftName> };
  "session/create": { readonly label: string };
  "session/link": { readonly byAddress?: boolean | null };
  "session/touch": object;
  "key/self": object;
  "key/list": PageArguments;
  "key/create": {
    readonly name: string;
    readonly grants: Grants;
    /** If left out: none. */
    readonly rights?: readonly KeyRight[] | null;
    readonly expires?: string | null;
    /** Whether each request of the key is in the audit file, as those of agents must be. */
    readonly audited?: boolean | null;
  };
  "key/revoke": { readonly id: string };
  "daemon/status": object;
  /** `id`: of a finding. */
  "daemon/dismiss": { readonly id: string };
  "daemon/stop": object;
}

export type OperationName = keyof OperationArgumentsByName;
export type OperationArguments<Name extends OperationName> = OperationArgumentsByName[Name];

/** One field in the reply to a set (spec 4.2: "fields, values and descriptions"). */
export interface DescribedValue {
  /** The value that was set; after an unset, the one that counts now. */
  readonly value: JsonValue;
  readonly description: string;
  /** Where it was written, if that is not the shared layer. */
  readonly layer?: "local";
  /** The layer whose value counts, if it is not the one that was written. */
  readonly shadowedBy?: CountedLayer;
  /** In a linked worktree, of a shared value of a field with `x-step`: the value that counts there, which is higher. */
  readonly counts?: JsonValue;
  /** Of a list that is merged by the names of its items: the names of those that are local now. */
  readonly localItems?: readonly string[];
  /** The key lacks the right `reveal`, and the value came from the history: `value` is null. */
  readonly masked?: true;
}

/** One repository in the reply to a set, with only the fields that this set gave the requested value. */
export interface ChangedRepository {
  readonly repo: string;
  readonly revision: number;
  readonly config: { readonly [scope: string]: { readonly [field: string]: DescribedValue } };
  /** In a restore of all fields: those left as they are because their values at that revision were erased, or the key may not see them. */
  readonly forgotten?: readonly string[];
  readonly masked?: readonly string[];
  /** With `flush`: whether the file is written. If not, the change is active anyway, and Repoconf keeps retrying. */
  readonly mirrored?: boolean;
  /** Why the file is not written. */
  readonly mirrorProblem?: string;
  /** The id of its batch, as in events and histories. */
  readonly batch?: string;
}

/** The stored value of a field in one layer. */
export interface ExplainedLayer {
  readonly layer: CountedLayer;
  /** With `base`: the name of the repository whose local value it is. */
  readonly of?: string;
  readonly value: JsonValue;
  /** The key lacks the right `reveal`: `value` is null. */
  readonly masked?: true;
  /** Only for the owner's key, as in `Explanation`. */
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

/** Where a field's value comes from. */
export interface Explanation {
  /** The effective value. */
  readonly value: JsonValue;
  readonly default: JsonValue;
  /** The stored active value; absent if none is stored. */
  readonly stored?: JsonValue;
  /** `default`: nothing is stored. `stored`: the value in the file. `lastGood`: that one is invalid, so the last valid one is active. */
  readonly origin: "default" | "stored" | "lastGood";
  /** The layer whose value counts, if it is not the shared one. `origin`, `file`, `line` and `column` are about it; `of` as in `ExplainedLayer`. */
  readonly layer?: Exclude<CountedLayer, "shared">;
  readonly of?: string;
  /** In a linked worktree, of a field with `x-step`: by how much `value` is higher than the one that it inherits, of which `origin` tells. */
  readonly step?: number;
  /** If local values count in it: the layers that have a value of the field, the one that counts first. */
  readonly layers?: readonly ExplainedLayer[];
  /** Only for the owner's key: the file with the repository's values, and the position of this one in it, counted from 1. */
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** The last change of the field in the history: its revision, time, actor, source and reason. */
  readonly revision?: number;
  readonly time?: string;
  readonly actor?: string;
  readonly source?: ChangeSource;
  readonly reason?: string;
  /** The key lacks the right `reveal`: `value` and `default` are null, and `stored` is absent. */
  readonly masked?: true;
}

/** Something a person should know about a repository's file. `line` and `column` count from 1. */
export interface HealthProblem {
  /**
   * 1104: a hand edit was merged with a simultaneous set. 1108: the file cannot be written; the values are active anyway. 1114:
   * the value runs as a command and came with a work tree's file, so it waits until a person trusts it. 1115: the file uses a
   * field's old name, has a value without its format, or items of two layers that do not fit together, and it is used all the same. 1116:
   * something was found that a person should know until they dismiss it.
   */
  readonly code: 1011 | 1103 | 1104 | 1106 | 1108 | 1114 | 1115 | 1116;
  readonly message: string;
  readonly field?: string;
  readonly line?: number;
  readonly column?: number;
  /** The layer that it is about, if it is not the shared one. */
  readonly layer?: Exclude<CountedLayer, "shared">;
  /** With 1106: the work tree's folder is missing or may be another one, so that its file cannot be restored. */
  readonly noFolder?: true;
  /** With 1116, the id to dismiss it by. */
  readonly finding?: string;
}

/** Something that was found, such as damage, and that is told until a person dismisses it. */
export interface Finding {
  readonly id: string;
  /** RFC 3339, UTC. */
  readonly time: string;
  /** Absent if it is about the home. */
  readonly repo?: string;
  /** What was found and concluded, where the damaged or replaced file is kept, and the next step. */
  readonly message: string;
  /** The path of the file that is kept. */
  readonly kept?: string;
  /** Nothing is wrong, and nothing needs to be done. */
  readonly isNote?: true;
}

export interface RepositoryEntry {
  readonly id: string;
  readonly name: string;
  /** The work tree's folder, absolute. */
  readonly path?: string;
  /** Whether the values are in `<path>/.repoconf.json` rather than in the home. */
  readonly inTree: boolean;
  /** Of a linked worktree that was not added itself: the id of the repository that it belongs to. */
  readonly base?: string;
  /** With `base`: as git calls the worktree, and its number among those of its repository, from 1. */
  readonly linked?: { readonly name: string; readonly slot: number };
  /** The person of this home has marked it. */
  readonly favourite?: true;
  readonly revision: number;
  /** The number of stored fields that this key may read. */
  readonly modified: number;
  readonly health: readonly HealthProblem[];
}

export interface KeyEntry {
  readonly id: string;
  readonly name: string;
  readonly grants: Grants;
  readonly rights: readonly KeyRight[];
  /** RFC 3339, UTC. */
  readonly expires?: string;
  /** Each request of the key is in the audit file. */
  readonly audited?: true;
  /** A session of the screen; it ends with the daemon, and after 12 hours without use. */
  readonly kind?: "session";
}

/** A key or a session in `key/list`. Times are RFC 3339, UTC. */
export interface ListedKey extends KeyEntry {
  readonly createdAt: string;
  /** When a client last connected or disconnected with this key, or when a person last used the session. Absent if never. */
  readonly usedAt?: string;
  /** The number of open connections. */
  readonly connections: number;
}

/** A search result: a repository by its name, or a field by its name or value. */
export interface SearchHit {
  readonly repo: string;
  readonly scope?: string;
  readonly field?: string;
  /** The effective value; absent if it is masked. */
  readonly value?: JsonValue;
}

/** A field of a matrix, and its most common value. */
export interface MatrixField {
  /** `<scope>.<field>`. */
  readonly field: string;
  /** The number of repositories in which the key may read it. */
  readonly of: number;
  /** How many of them have the most common value; absent if it is masked. */
  readonly count?: number;
  /** The most common value. */
  readonly value?: JsonValue;
  /** Instead of `value` if its JSON is longer than 200 characters: a repository that has it. */
  readonly like?: string;
}

/** The repositories and fields that match a query, ordered by repository id. */
export interface Matrix {
  readonly repositories: readonly string[];
  /** Only on the first page, like the members below. */
  readonly total?: { readonly repositories: number; readonly fields: number };
  readonly fields?: readonly MatrixField[];
}

/** The requested fields of one repository. */
export interface MatrixRow {
  readonly repo: string;
  readonly revision: number;
  /** Effective values, without masked ones. */
  readonly config: Config;
  /** Which of the requested fields are stored, including masked ones: `<scope>.<field>`. */
  readonly stored: readonly string[];
}

/** A git work tree on this machine. */
export interface FoundWorkTree {
  readonly path: string;
  readonly name: string;
  /** The repository that already uses this folder. */
  readonly repo?: string;
}

/** What there is to know of a path that a person types. */
export interface FolderLook {
  /** The path itself, absolute. */
  readonly path: string;
  /** The names of folders with which it may go on, at most 50. */
  readonly folders: readonly string[];
  /** The repository that already uses this folder. */
  readonly repo?: string;
  /** Whether the folder has a `.repoconf.json`. */
  readonly hasFile?: boolean;
}

/** The file with a repository's values. */
export interface FileText {
  readonly file: string;
  /** Null if there is no file or it cannot be read as text. */
  readonly text: string | null;
}

/** A value in a work tree's file that runs as a command or becomes an environment variable, and that nobody has trusted as such. */
export interface UntrustedValue {
  readonly repo: string;
  /** `<scope>.<field>`. */
  readonly field: string;
  /** The value in the file. */
  readonly value: JsonValue;
  /** What the value would do. */
  readonly effect: Effect;
  /** Identifies the value and its effect, for `trust/accept`. */
  readonly hash: string;
  /** The active value until it is trusted. */
  readonly serving: JsonValue;
}

/** A value that a scope would make a command or an environment variable, if it were in the home. */
export interface PreviewedEffect {
  /** `<scope>.<field>`. */
  readonly field: string;
  readonly effect: Effect;
  readonly value: JsonValue;
  /** False: the value is the default of the schema. */
  readonly stored: boolean;
  /** Whether the value would wait until a person trusts it; otherwise it would be active at once. */
  readonly waits: boolean;
  /** The ids of the repositories with this value, sorted. A new or changed default is listed even if none uses it. */
  readonly repos: readonly string[];
}

/** A value that a key without the right `commands` would set in a field that is a command or a variable. */
export interface ProposedValue {
  readonly id: string;
  readonly repo: string;
  /** `<scope>.<field>`. */
  readonly field: string;
  /** The layer that it would be set in, if that is not the shared one. */
  readonly layer?: "local";
  /** Absent if the field would be unset. */
  readonly value?: JsonValue;
  /** The key may not see the value, which it would restore: `value` is null. */
  readonly masked?: true;
  /** The name of the key; for that key itself "this key". */
  readonly by: string;
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly reason?: string;
  /** Only for the owner, like the members below: what the value would do. */
  readonly effect?: Effect;
  /** The active value, which it would replace. */
  readonly serving?: JsonValue;
  /** Identifies the value, its effect and the active value, for `proposal/accept`. */
  readonly hash?: string;
}

/** Names a draft: of a field, or without `field` of the text of the repository's file. */
export interface DraftName {
  readonly repo: string;
  /** `<scope>.<field>`. */
  readonly field?: string;
}

/** An unsaved edit of a field. */
export interface FieldDraft {
  readonly repo: string;
  readonly field: string;
  /** Absent to go back to the default. */
  readonly value?: JsonValue;
  /** What was stored when the edit began; absent if nothing was. */
  readonly base?: JsonValue;
  /** It began as an edit of a local value. */
  readonly layer?: "local";
  /** Where its schema masked when it was made, as a text to compare; absent: nowhere. */
  readonly masks?: string;
}

/** The unsaved text of a repository's file. */
export interface TextDraft {
  readonly repo: string;
  readonly text: string;
  /** The text that the edit began with; null if there was no file. */
  readonly base: string | null;
}

export type Draft = FieldDraft | TextDraft;

/** `inMemory`: the draft is lost when the daemon ends, because it contains or may contain a masked value. */
export type KeptDraft = Draft & { readonly inMemory?: true };

/** `known`: the revision up to which the sender knows the draft; absent: this counts whatever others have sent. */
export type Sent<Named extends DraftName> = Named & { readonly known?: number };
type SentList<Named extends DraftName> = readonly Sent<Named>[] | null;

export interface DraftsChanged {
  /** Counts the changes of drafts since the daemon started; `draft/list` and `draft/set` return it too. */
  readonly revision: number;
  /** New and changed drafts. */
  readonly drafts: readonly KeptDraft[];
  readonly removed: readonly DraftName[];
}

/** How many of the files that are new or changed since the daemon last ran have been read. */
export interface IndexingProgress {
  readonly done: number;
  readonly total: number;
}

export interface DaemonStatus {
  readonly version: string;
  readonly protocol: number;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  // The rest is for the owner's key only.
  readonly home?: string;
  readonly url?: string;
  readonly pid?: number;
  readonly repositories?: number;
  /** Present if the home uses a shared log. */
  readonly log?: LogPlace;
  /** Present while the daemon reads files for the first time. */
  readonly indexing?: IndexingProgress;
  readonly sockets?: number;
  /** Requests refused since the start, by cause. */
  readonly refusals?: { readonly [cause: string]: number };
  /** What is wrong with the home as a whole, one sentence each, such as a shared log that cannot be reached; empty if nothing is. */
  readonly problems?: readonly string[];
  /** What was found and not dismissed, also about repositories, the oldest first. */
  readonly findings?: readonly Finding[];
  /** The names of its environment variables. */
  readonly variables?: readonly string[];
}

export interface OperationResults {
  "config/list": Config;
  "config/set": readonly ChangedRepository[];
  "config/unset": readonly ChangedRepository[];
  "config/explain": Explanation;
  /** Lines for the script that `repoconf hook` printed for this shell. */
  "config/hook": string;
  "config/search": readonly SearchHit[];
  "config/matrix": Matrix;
  "config/cells": readonly MatrixRow[];
  "config/watch": {
    readonly revisions: { readonly [repo: string]: number };
    /** With `position`: the revisions after which the events begin. */
    readonly since?: { readonly [repo: string]: number };
    /** Where a later watch can resume; absent if `since` requests past changes first. */
    readonly position?: string;
  };
  "config/unwatch": Record<string, never>;
  "history/list": readonly HistoryEntry[];
  "history/search": readonly FoundHistoryEntry[];
  "history/restore": readonly ChangedRepository[];
  "history/forget": Record<string, never>;
  "scope/list": readonly { readonly scope: string; readonly schema: ScopeSchema }[];
  "repo/list": readonly RepositoryEntry[];
  /** `worktree`: the linked worktree that the folder is in, if it has no values of its own but those of the repository. */
  "repo/find": RepositoryEntry & { readonly worktree?: string };
  /** `recognized`: the repository was known from another machine and now has this folder here. */
  "repo/add": RepositoryEntry & { readonly recognized?: true };
  "repo/update": RepositoryEntry;
  /** Without `movedTo` there was no file. */
  "repo/remove": { readonly movedTo?: string };
  "repo/scan": readonly FoundWorkTree[];
  "repo/look": FolderLook;
  "file/read": FileText;
  "file/write": Record<string, never>;
  /** Where the replaced text is kept; absent if there was none. */
  "file/restore": { readonly movedTo?: string };
  "trust/list": readonly UntrustedValue[];
  /** The revision that made the value active. */
  "trust/accept": { readonly revision: number };
  /** In the order of the schema's fields, each one's default first. */
  "trust/preview": readonly PreviewedEffect[];
  /** The oldest first. */
  "proposal/list": readonly ProposedValue[];
  /** The revision that set the value. */
  "proposal/accept": { readonly revision: number };
  "proposal/remove": Record<string, never>;
  /** In the order in which they were begun. */
  "draft/list": readonly KeptDraft[];
  /** Of the given drafts, `inMemory`: lost when the daemon ends; `behind`: left as they are, changed after what the sender knew. */
  "draft/set": { readonly revision: number } & Readonly<Record<"inMemory" | "behind", readonly DraftName[]>>;
  "session/create": { readonly id: string; readonly secret: string };
  "session/link": { readonly url: string };
  "session/touch": Record<string, never>;
  "key/self": KeyEntry;
  "key/list": readonly ListedKey[];
  "key/create": KeyEntry & { readonly key: string };
  "key/revoke": Record<string, never>;
  "daemon/status": DaemonStatus;
  "daemon/dismiss": Record<string, never>;
  "daemon/stop": Record<string, never>;
}

/** The `result` of an operation that failed as a whole: the empty result of spec 7, otherwise null. */
export function emptyResult(name: string): unknown {
  switch (name) {
    case "config/list":
      return {};
    case "config/set":
    case "config/unset":
    case "history/restore":
      return [];
    default:
      return null;
  }
}

/** The only argument of every callback. `errors` is empty on success. */
export interface Reply<Result = unknown> {
  readonly result: Result;
  readonly errors: readonly ErrorEntry[];
  /** For a list: the revision of these values or drafts. */
  readonly revision?: number;
  /** For a long list: the `after` that fetches the next page. */
  readonly next?: string;
  /** For a request by path: the id of the repository. */
  readonly repo?: string;
  /** If they were asked for: those of the fields in the result that the key may read, by `<scope>.<field>`. */
  readonly schemas?: { readonly [field: string]: FieldSchema };
  /** If they were asked for: the fields whose values in the current file wait for trust. */
  readonly waits?: readonly string[];
  /** With `waits`, of a linked worktree: as in its entry. */
  readonly linked?: { readonly name: string; readonly slot: number };
  /** If they were asked for: the stored values of each layer; without `local` there are no local values. */
  readonly layers?: { readonly shared: Config; readonly base?: Config; readonly local?: Config };
  /** For a list by a key without the right `reveal`: the fields that the result, or a layer of it, would have, and whose values it may not see. */
  readonly masked?: readonly string[];
  /** What typed changes were read as. */
  readonly typed?: readonly ToldChange[];
}

type Split<Name extends OperationName> = Name extends `${infer Resource}/${infer Operation}`
  ? [Resource, Operation]
  : never;

/** `socket.emit("svc", resource, operation, args, callback)`, for each operation. */
export type OperationMessage = {
  [Name in OperationName]: [
    ...target: Split<Name>,
    args: OperationArguments<Name>,
    callback?: (reply: Reply<OperationResults[Name]>) => void,
  ];
}[OperationName];

/**
 * The source of a change: an operation, a hand edit (`file`), a hand edit merged with simultaneous sets (`merge`), or a start after
 * records were lost (`recovery`): it lists no changes, and what changed is not known.
 */
export type ChangeSource = "set" | "unset" | "file" | "merge" | "restore" | "recovery";

export interface FieldChange {
  readonly value: JsonValue;
  readonly previous: JsonValue;
  /** False after an unset: the value is the default, or in an entry of a layer above the shared one, what counts without it. */
  readonly stored: boolean;
  /** In a history: `previous`, or both if `stored` is false, were erased by `history/forget`. */
  readonly forgotten?: true;
  /** The key lacks the right `reveal`: `value` and `previous` are null, and may be equal or not. */
  readonly masked?: true;
}

export interface ConfigChanged {
  readonly repo: string;
  readonly revision: number;
  /** Where a later watch can resume; absent while past changes are being sent, because others may come before it. */
  readonly position?: string;
  /** RFC 3339, UTC, milliseconds. */
  readonly time: string;
  readonly actor: string;
  /** The id of the named key that made the change. Only the owner receives it. */
  readonly key?: string;
  readonly source: ChangeSource;
  readonly reason?: string;
  /** The batch of a change, which may span several repositories. Only the owner and the key that made the change receive it. */
  readonly batch?: string;
  /** The machine that made the change, if several share a log. Only the owner receives it. */
  readonly machine?: string;
  /** The revision that the same change made of another layer: before or after it in a history, before it in an event. */
  readonly together?: number;
  readonly changes: { readonly [scope: string]: { readonly [field: string]: FieldChange } };
}

/** One revision in a repository's history, or (source `forget`) a field whose values were erased. */
export interface HistoryEntry extends Omit<ConfigChanged, "repo" | "source" | "position"> {
  readonly source: ChangeSource | "forget";
  /** The layer that it changed, if the repository has local values; its changes are those of this layer. */
  readonly layer?: CountedLayer;
  /** With the source `forget`: the field whose older values were erased. */
  readonly field?: string;
}

/** A history entry of any repository that matches a search, with only the requested fields. */
export interface FoundHistoryEntry extends HistoryEntry {
  readonly repo: string;
  /** Where `config/watch` can resume; absent for entries older than this home's log. */
  readonly position?: string;
}

/** `socket.on("svc", (resource, event, payload) => ...)`. */
export type EventMessage =
  | [resource: "config", event: "changed", payload: ConfigChanged]
  | [resource: "repo", event: "added" | "updated" | "removed" | "health", payload: RepositoryEntry]
  | [resource: "scope", event: "changed", payload: { readonly scope: string }]
  | [resource: "key", event: "changed", payload: Record<string, never>]
  | [resource: "proposal", event: "changed", payload: Record<string, never>]
  | [resource: "draft", event: "changed", payload: DraftsChanged]
  | [resource: "daemon", event: "problems", payload: { readonly problems: readonly string[] }];

/**
 * For watches that ask for it. `progress`: up to this revision there was nothing else that the key may see. `position`:
 * everything watched has been sent up to here. A watch can resume from there.
 */
export type ProgressMessage =
  | [
      resource: "config",
      event: "progress",
      payload: { readonly repo: string; readonly revision: number; readonly position?: string },
    ]
  | [resource: "config", event: "position", payload: { readonly position: string }];

export interface ClientToServerEvents {
  svc: (...message: OperationMessage) => void;
}

/**
 * Sent to clients that proved their key while the daemon reads files for the first time, each time it made progress. Requests
 * that need all repositories wait until that is done. Only the owner receives the numbers.
 */
export type IndexingMessage = [
  resource: "daemon",
  event: "indexing",
  payload: IndexingProgress | Record<string, never>,
];

/** The first packet to a client that proved its key: the daemon's own proof ("The handshake" in docs/protocol.md). */
export type ProofMessage = [resource: "session", proof: string];

export interface ServerToClientEvents {
  svc: (...message: EventMessage | ProgressMessage | IndexingMessage | ProofMessage) => void;
}
