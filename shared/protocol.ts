import type { Config } from "./config.ts";
import type { ErrorEntry } from "./errors.ts";
import type { Grants } from "./grants.ts";
import type { JsonValue } from "./json.ts";
import type { ScopeSchema } from "./scopes/scope-schema.ts";
import type { ValueEdit } from "./value-edit.ts";

/**
 * The one typed map of everything that crosses the socket: operations with their arguments and results, and events.
 * Server, client and tests import it. The prose is docs/protocol.md.
 */
export const protocolVersion = 1;

/** How a change is to be made. In arguments, null counts as left out. */
export interface ChangeArguments {
  /** One id or several. */
  readonly repo?: string | readonly string[] | null;
  /** Compare and set: the revision that the repository must have; with an array of ids, one for each. */
  readonly revision?: number | { readonly [repo: string]: number } | null;
  readonly atomic?: boolean | null;
  readonly dryRun?: boolean | null;
  readonly reason?: string | null;
  /** Answer only when the file has it too, or cannot be written now. */
  readonly flush?: boolean | null;
  /** Changes of this key with the same text here are one batch; left out: those of one request over several repositories are. */
  readonly batch?: string | null;
}

/** Which part of a long list. */
export interface PageArguments {
  readonly limit?: number | null;
  readonly after?: string | null;
}

/** The arguments of each operation. What is missing has codes of its own (1006, 1008), so little is required here. */
export interface OperationArgumentsByName {
  "config/list": {
    readonly repo?: string | null;
    readonly scope?: string | null;
    readonly field?: string | null;
    readonly stored?: boolean | null;
    readonly revision?: number | null;
  };
  /** The fields are further members, `<scope>.<field>`. */
  "config/set": ChangeArguments & {
    /** Fields whose stored values go, in the same revision. */
    readonly unset?: readonly string[] | null;
    /** Changes of places inside values, decided from what each value is when the set's turn comes. */
    readonly edits?: readonly ValueEdit[] | null;
  } & { readonly [field: `${string}.${string}`]: unknown };
  "config/unset": ChangeArguments & { readonly fields?: readonly string[] | null };
  "config/explain": { readonly repo?: string | null; readonly field?: string | null };
  "config/search": PageArguments & { readonly query: string };
  "config/matrix": { readonly query: string; readonly after?: string | null };
  "config/cells": {
    readonly repo?: string | readonly string[] | null;
    readonly fields?: readonly string[] | null;
    readonly after?: string | null;
  };
  "config/watch": {
    readonly repo?: string | readonly string[] | null;
    readonly since?: number | { readonly [repo: string]: number } | null;
    /** Instead of `since`, for everything that is watched: a position from a watch or an event. */
    readonly position?: string | null;
    /** Also send progress events for changes that the key cannot see. */
    readonly progress?: boolean | null;
  };
  "config/unwatch": { readonly repo?: string | readonly string[] | null };
  "history/list": PageArguments & { readonly repo?: string | null; readonly field?: string | null };
  "history/search": PageArguments & {
    readonly query: string /** Only what belongs to it. */;
    readonly batch?: string | null;
  };
  "history/restore": Omit<ChangeArguments, "repo" | "revision"> & {
    readonly repo?: string | null;
    /** The revision to restore. */
    readonly to: number;
    /** Left out: every field that the key may write and that differs. */
    readonly fields?: readonly string[] | null;
    readonly revision?: number | null;
  };
  "history/forget": { readonly repo?: string | null; readonly field?: string | null };
  "scope/list": object;
  "repo/list": PageArguments & { readonly repo?: string | null; readonly path?: string | null };
  "repo/add": {
    readonly name: string;
    readonly path?: string | null;
    readonly id?: string | null;
    readonly inTree?: boolean | null;
  };
  "repo/update": { readonly repo?: string | null; readonly name?: string | null; readonly path?: string | null };
  "repo/remove": { readonly repo?: string | null };
  "repo/scan": { readonly path: string };
  "file/read": { readonly repo?: string | null };
  "file/write": {
    readonly repo?: string | null;
    readonly text: string;
    /** The text that is to be replaced; null if there was no file. */
    readonly expected: string | null;
  };
  "file/restore": { readonly repo?: string | null };
  "trust/list": { readonly repo?: string | null };
  "trust/accept": {
    readonly repo?: string | null;
    readonly field?: string | null;
    /** From `trust/list`, of the value that the person was shown. */
    readonly hash: string;
  };
  "draft/list": object;
  "draft/set": { readonly drafts?: readonly Draft[] | null; readonly removed?: readonly DraftName[] | null };
  "session/create": { readonly label: string };
  "session/link": { readonly byAddress?: boolean | null };
  "session/touch": object;
  "key/self": object;
  "key/list": PageArguments;
  "key/create": { readonly name: string; readonly grants: Grants; readonly expires?: string | null };
  "key/revoke": { readonly id: string };
  "daemon/status": object;
  "daemon/stop": object;
}

export type OperationName = keyof OperationArgumentsByName;
export type OperationArguments<Name extends OperationName> = OperationArgumentsByName[Name];

/** One field in the answer of a set (spec 4.2: "fields, values and descriptions"). */
export interface DescribedValue {
  readonly value: JsonValue;
  readonly description: string;
}

/** One repository in the answer of a set: the fields to which this set gave the requested value, no others. */
export interface ChangedRepository {
  readonly repo: string;
  readonly revision: number;
  readonly config: { readonly [scope: string]: { readonly [field: string]: DescribedValue } };
  /** In a restore of all fields: those that did not change, because their values at that revision were erased. */
  readonly forgotten?: readonly string[];
  /** With `flush`: whether the file has it. If not, it is active all the same, and it is tried again. */
  readonly mirrored?: boolean;
  /** Why the file does not have it. */
  readonly mirrorProblem?: string;
  /** The id of its batch, as in events and histories. */
  readonly batch?: string;
}

/** The source of a field's value. */
export interface Explanation {
  /** The effective value. */
  readonly value: JsonValue;
  readonly default: JsonValue;
  /** The stored active value; absent: none is. */
  readonly stored?: JsonValue;
  /**
   * `default`: nothing is stored. `stored`: what the file says. `lastGood`: the file says something that cannot be used,
   * so the last value that could serves.
   */
  readonly origin: "default" | "stored" | "lastGood";
  /** For the owner's key: the file that holds the repository's values, and the place of this one in it, from 1. */
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** The last revision that changed the field, as far as the history is kept: when, by whom, how and why. */
  readonly revision?: number;
  /** RFC 3339, UTC, milliseconds. */
  readonly time?: string;
  readonly actor?: string;
  readonly source?: ChangeSource;
  readonly reason?: string;
}

/** Something a person should know about a repository's file. `line` and `column` count from 1. */
export interface HealthProblem {
  /**
   * 1104: a hand edit and a set at the same time were merged. 1108: the file cannot be written; the values are active.
   * 1114: the value runs as a command, came with a work tree's file, and waits until a person trusts it.
   * 1115: the file has a field by an old name, and it serves.
   */
  readonly code: 1011 | 1103 | 1104 | 1106 | 1108 | 1114 | 1115;
  readonly message: string;
  readonly field?: string;
  readonly line?: number;
  readonly column?: number;
}

export interface RepositoryEntry {
  readonly id: string;
  readonly name: string;
  /** The work tree's folder, absolute. */
  readonly path?: string;
  /** Whether the values stand in `<path>/.repoconf.json` and not in the home. */
  readonly inTree: boolean;
  readonly revision: number;
  /** How many fields are stored (and readable by this key). */
  readonly modified: number;
  readonly health: readonly HealthProblem[];
}

export interface KeyEntry {
  readonly id: string;
  readonly name: string;
  readonly grants: Grants;
  /** RFC 3339, UTC. */
  readonly expires?: string;
  /** A session of the screen; it ends with the daemon, and after 12 hours without use. */
  readonly kind?: "session";
}

/** A key or a session as the list of them has it. Times are RFC 3339, UTC. */
export interface ListedKey extends KeyEntry {
  readonly createdAt: string;
  /** When a client last connected or disconnected with this key; for a session, when a person last used it. Absent: never. */
  readonly usedAt?: string;
  /** How many are open with it now. */
  readonly connections: number;
}

/** What a search found: a repository by its name, or a field by its name or its value. */
export interface SearchHit {
  readonly repo: string;
  readonly scope?: string;
  readonly field?: string;
  /** The effective value; absent if it is masked. */
  readonly value?: JsonValue;
}

/** A field of a matrix, and the value that most of its repositories have. */
export interface MatrixField {
  /** `<scope>.<field>`. */
  readonly field: string;
  /** In how many of the repositories the key may read it. */
  readonly of: number;
  /** How many of those have the value that most have; absent of a masked one. */
  readonly count?: number;
  /** That value. */
  readonly value?: JsonValue;
  /** In its place, where its JSON is longer than 200 characters: a repository that has it. */
  readonly like?: string;
}

/** The repositories and fields that a query spans, by repositories' ids. */
export interface Matrix {
  readonly repositories: readonly string[];
  /** Only of the first page, as is the rest. */
  readonly total?: { readonly repositories: number; readonly fields: number };
  readonly fields?: readonly MatrixField[];
}

/** Some cells of one repository. */
export interface MatrixRow {
  readonly repo: string;
  readonly revision: number;
  /** Effective values, without masked ones. */
  readonly config: Config;
  /** Which of the fields that were asked for are stored, masked ones too: `<scope>.<field>`. */
  readonly stored: readonly string[];
}

/** A git work tree on this machine. */
export interface FoundWorkTree {
  readonly path: string;
  readonly name: string;
  /** The repository that has this folder already. */
  readonly repo?: string;
}

/** The file with a repository's values. */
export interface FileText {
  readonly file: string;
  /** Null: there is no file, or none that can be read as text. */
  readonly text: string | null;
}

/** A value of a work tree's file that runs as a command and that nobody has trusted. */
export interface UntrustedValue {
  readonly repo: string;
  /** `<scope>.<field>`. */
  readonly field: string;
  /** What the file says. */
  readonly value: JsonValue;
  /** Of that value, for `trust/accept`: SHA-256, hexadecimal. */
  readonly hash: string;
  /** What serves until it is trusted. */
  readonly serving: JsonValue;
}

/** Names a draft: that of a field, or without one that of the text of the repository's file. */
export interface DraftName {
  readonly repo: string;
  /** `<scope>.<field>`. */
  readonly field?: string;
}

/** An edit of a field that the owner has not saved. */
export interface FieldDraft {
  readonly repo: string;
  readonly field: string;
  /** Absent: back to the default. */
  readonly value?: JsonValue;
  /** What was stored when the edit began; absent: nothing was. */
  readonly base?: JsonValue;
}

/** The text of a repository's file, edited and not saved. */
export interface TextDraft {
  readonly repo: string;
  readonly text: string;
  /** The text that the edit began with; null: there was none. */
  readonly base: string | null;
}

export type Draft = FieldDraft | TextDraft;

/** `inMemory`: it is lost when the daemon ends, because it contains a masked value, or may. */
export type KeptDraft = Draft & { readonly inMemory?: true };

export interface DraftsChanged {
  /** Counts the changes of drafts since the daemon's start; `draft/list` and `draft/set` answer it too. */
  readonly revision: number;
  /** Those that are new or another. */
  readonly drafts: readonly KeptDraft[];
  readonly removed: readonly DraftName[];
}

/** How many of the files that have changed since the daemon last ran, or have come since, were read. */
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
  /** While files are being read that nobody has read yet. */
  readonly indexing?: IndexingProgress;
  readonly sockets?: number;
  /** Requests turned away since the start, by cause. */
  readonly refusals?: { readonly [cause: string]: number };
  /** What is wrong with settings or scope files; empty when all is well. */
  readonly problems?: readonly string[];
}

export interface OperationResults {
  "config/list": Config;
  "config/set": readonly ChangedRepository[];
  "config/unset": readonly ChangedRepository[];
  "config/explain": Explanation;
  "config/search": readonly SearchHit[];
  "config/matrix": Matrix;
  "config/cells": readonly MatrixRow[];
  "config/watch": {
    readonly revisions: { readonly [repo: string]: number };
    /** With `position`: the revisions behind which the events begin. */
    readonly since?: { readonly [repo: string]: number };
    /** A later watch can go on from here; absent where `since` has a past to be told first. */
    readonly position?: string;
  };
  "config/unwatch": Record<string, never>;
  "history/list": readonly HistoryEntry[];
  "history/search": readonly FoundHistoryEntry[];
  "history/restore": readonly ChangedRepository[];
  "history/forget": Record<string, never>;
  "scope/list": readonly { readonly scope: string; readonly schema: ScopeSchema }[];
  "repo/list": readonly RepositoryEntry[];
  /** `recognized`: it was there, from another machine, and now has this folder here. */
  "repo/add": RepositoryEntry & { readonly recognized?: true };
  "repo/update": RepositoryEntry;
  /** Without `movedTo` there was no file any more. */
  "repo/remove": { readonly movedTo?: string };
  "repo/scan": readonly FoundWorkTree[];
  "file/read": FileText;
  "file/write": Record<string, never>;
  /** Where the text that was replaced is kept; absent: there was none. */
  "file/restore": { readonly movedTo?: string };
  "trust/list": readonly UntrustedValue[];
  /** The revision by which the value is active. */
  "trust/accept": { readonly revision: number };
  /** In the order in which they were begun. */
  "draft/list": readonly KeptDraft[];
  /** `inMemory`: those of the given drafts that are gone when the daemon ends. */
  "draft/set": { readonly revision: number; readonly inMemory: readonly DraftName[] };
  "session/create": { readonly id: string; readonly secret: string };
  "session/link": { readonly url: string };
  "session/touch": Record<string, never>;
  "key/self": KeyEntry;
  "key/list": readonly ListedKey[];
  "key/create": KeyEntry & { readonly key: string };
  "key/revoke": Record<string, never>;
  "daemon/status": DaemonStatus;
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

/** The one argument of every callback. `errors` is empty when all went well. */
export interface Reply<Result = unknown> {
  readonly result: Result;
  readonly errors: readonly ErrorEntry[];
  /** Of a list: the revision whose values, or drafts, these are. */
  readonly revision?: number;
  /** Of a long list: the `after` that fetches what follows. */
  readonly next?: string;
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

/** The source of a change: an operation, a hand edit (`file`), or a hand edit merged with simultaneous sets (`merge`). */
export type ChangeSource = "set" | "unset" | "file" | "merge" | "restore";

export interface FieldChange {
  readonly value: JsonValue;
  readonly previous: JsonValue;
  /** False after an unset: the value is the default. */
  readonly stored: boolean;
  /** In a history: `previous`, or both where `value` is null, are not known any more, as `history/forget` blanked them. */
  readonly forgotten?: true;
}

export interface ConfigChanged {
  readonly repo: string;
  readonly revision: number;
  /** A later watch can go on from here; absent while a past is being told, for then others may come before it. */
  readonly position?: string;
  /** RFC 3339, UTC, milliseconds. */
  readonly time: string;
  readonly actor: string;
  readonly source: ChangeSource;
  readonly reason?: string;
  /** The batch of a change, which may span several repositories; only the owner and the key that made it get this. */
  readonly batch?: string;
  /** If several machines share a log: the one that made the change; only the owner gets this. */
  readonly machine?: string;
  readonly changes: { readonly [scope: string]: { readonly [field: string]: FieldChange } };
}

/** One revision in a repository's history, or (source `forget`) a field whose values were erased. */
export interface HistoryEntry extends Omit<ConfigChanged, "repo" | "source" | "position"> {
  readonly source: ChangeSource | "forget";
  /** With the source `forget`: the field whose older values were blanked. */
  readonly field?: string;
}

/** One that was found among the histories of all repositories, with the fields that were asked for. */
export interface FoundHistoryEntry extends HistoryEntry {
  readonly repo: string;
  /** `config/watch` can go on from here; absent of what is from before this home's log. */
  readonly position?: string;
}

/** `socket.on("svc", (resource, event, payload) => ...)`. */
export type EventMessage =
  | [resource: "config", event: "changed", payload: ConfigChanged]
  | [resource: "repo", event: "added" | "updated" | "removed" | "health", payload: RepositoryEntry]
  | [resource: "scope", event: "changed", payload: { readonly scope: string }]
  | [resource: "key", event: "changed", payload: Record<string, never>]
  | [resource: "draft", event: "changed", payload: DraftsChanged];

/**
 * For those who asked for it. `progress`: up to this revision there was nothing else that the key could see; `position`: all
 * that was watched has been told up to here. Watch again from there.
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
 * For clients that proved their key, while the daemon reads files that nobody has read yet, and each time that it has come
 * further: what needs all repositories is answered behind that. How far it is, is for the owner.
 */
export type IndexingMessage = [
  resource: "daemon",
  event: "indexing",
  payload: IndexingProgress | Record<string, never>,
];

/** The first packet for a client that proved its key: the daemon's own proof ("The handshake" in docs/protocol.md). */
export type ProofMessage = [resource: "session", proof: string];

export interface ServerToClientEvents {
  svc: (...message: EventMessage | ProgressMessage | IndexingMessage | ProofMessage) => void;
}
