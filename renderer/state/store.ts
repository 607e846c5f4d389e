import { createStore, useStore } from "zustand";
import type { Config } from "../../shared/config.ts";
import type { JsonValue } from "../../shared/json.ts";
import type {
  ConfigChanged,
  FileText,
  IndexingProgress,
  Reply,
  RepositoryEntry,
  SearchHit,
} from "../../shared/protocol.ts";
import type { FieldSchema, ScopeSchema } from "../../shared/scopes/scope-schema.ts";
import { type Place, placeAt } from "./place.ts";

/** Who changed something, and on which machine if several share a log. */
export type Author = Pick<ConfigChanged, "actor" | "machine">;

/** The values of a repository that has been opened. */
export interface OpenRepository {
  readonly effective: Config;
  readonly stored: Config;
  readonly revision: number;
  /** The stored values of each layer, once they are known. */
  readonly layers?: Reply["layers"] | undefined;
}

/** An unsaved edit of a field. */
export interface PendingEdit {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
  /** Undefined: reset to the default. */
  readonly value: JsonValue | undefined;
  /** The stored value when the edit began; undefined: none. */
  readonly base: JsonValue | undefined;
  /** It is an edit of a local value, and stays one if that is taken out meanwhile. */
  readonly layer?: "local" | undefined;
  /** Where its schema masked when it was made; see `schemaOfEdit`. */
  readonly masks?: string | undefined;
  /** Set if the field changed elsewhere meanwhile: the person has to choose. */
  readonly conflict?: { readonly stored: JsonValue | undefined; readonly by: Author };
  /** Who changed other parts of the field meanwhile; the value includes both changes. */
  readonly mergedWith?: Author;
  /** The value that a save has sent and not heard of yet: if the field gets it, that was nobody else. */
  readonly sent?: JsonValue;
  /** Why the daemon rejected it at the last save. */
  readonly refusal?: string;
  /** The same in edits that one action of the person began, and that one undo takes back. */
  readonly begun?: symbol;
}

/** The edited, unsaved text of a repository's file. */
export interface Draft {
  /** The file when the editing began. */
  readonly file: FileText;
  readonly text: string;
}

/** What this window saved in one repository, for undo and redo. */
export interface SavedChange {
  readonly repo: string;
  /** The revision of the save. */
  readonly revision: number;
  readonly fields: readonly string[];
  /** The id of its batch. */
  readonly batch?: string;
}

/** What was saved or undone in one step. */
export interface SavedStep {
  readonly saved: readonly SavedChange[];
}

export interface Notice {
  readonly id: number;
  readonly kind: "done" | "problem";
  readonly text: string;
  /** A button of the notice. */
  readonly action?: { readonly text: string; run(): void };
  /** Its subject; only the newest notice about a subject is shown. */
  readonly about?: string;
  /** Whether its cause is still there; the notice ends with it. */
  holds?(): boolean;
}

/** The dialogs that belong to no particular page. */
export type DialogName = "add" | "move" | "palette" | "remove" | "rename" | "review" | "shortcuts" | "sign-out";

/** Which fields the page of a repository shows; the same in each repository. */
export interface FieldFilter {
  /** Words in the path, the title or a value. */
  readonly text: string;
  /** Only fields with a stored value or an edit. */
  readonly isModified: boolean;
  /** Only fields whose edit or stored value has a problem. */
  readonly hasProblem: boolean;
  /** Only fields of this scope; undefined, or the name of one that does not exist: of all. */
  readonly scope: string | undefined;
}

/** How the matrix shows what its query finds. */
export interface MatrixView {
  /** Only fields that are not the same everywhere. */
  readonly isOfDifferences: boolean;
  /** The field by whose values the repositories are sorted; undefined: they are sorted by name. */
  readonly sort: MatrixSort | undefined;
  /** In rem, of columns that a person has resized, by `<scope>.<field>`. */
  readonly widths: ReadonlyMap<string, number>;
}

export interface MatrixSort {
  /** `<scope>.<field>`. */
  readonly field: string;
  readonly isDescending: boolean;
}

/** What the daemon found for a query. */
interface FoundHits {
  readonly query: string;
  readonly hits: readonly SearchHit[];
  readonly next?: string;
  /** Why there are none, or not all: the query is invalid, or something could not be read. */
  readonly problem?: string | undefined;
}

export interface ScopeEntry {
  readonly scope: string;
  readonly schema: ScopeSchema;
}

export interface ScreenState {
  readonly connection: "connecting" | "connected" | "lost" | "ended";
  /** When the daemon was asked first of what it has not answered, in milliseconds since 1970; undefined: it answers. */
  readonly silentSince: number | undefined;
  /** Sorted by name, then id; undefined until they are loaded. */
  readonly repositories: readonly RepositoryEntry[] | undefined;
  /** The daemon's progress in reading new files, while the screen waits for it. */
  readonly indexing: IndexingProgress | undefined;
  /** The name of this machine, if several share a log. */
  readonly machine: string | undefined;
  /** What is wrong with the home as a whole, such as a shared log that cannot be reached, in sentences. */
  readonly problems: readonly string[];
  /** The first repositories, for the tree, until all are loaded. */
  readonly firstRepositories: readonly RepositoryEntry[];
  readonly scopes: readonly ScopeEntry[];
  readonly opened: ReadonlyMap<string, OpenRepository>;
  /** By `editKey`, in the order in which the edits were made. */
  readonly pending: ReadonlyMap<string, PendingEdit>;
  /** By repository. */
  readonly drafts: ReadonlyMap<string, Draft>;
  /** Follows the window's address; see navigation.ts. */
  readonly place: Place;
  /** The places visited in this window, the current one first; each page and repository once. */
  readonly recent: readonly Place[];
  readonly dialog: DialogName | undefined;
  /** Whether a narrow window shows the repository drawer over the page. */
  readonly drawn: boolean;
  readonly expanded: ReadonlySet<string>;
  readonly query: string;
  /** The daemon's answer to the query; undefined while there is none. */
  readonly found: FoundHits | undefined;
  readonly fieldFilter: FieldFilter;
  readonly matrixView: MatrixView;
  /** Fields changed elsewhere a moment ago, by `editKey`. */
  readonly flashes: ReadonlySet<string>;
  readonly undoable: readonly SavedStep[];
  readonly redoable: readonly SavedStep[];
  readonly notices: readonly Notice[];
  /** Incremented whenever keys or sessions were added or removed. */
  readonly keyChanges: number;
  /** Incremented whenever what keys propose has changed. */
  readonly proposalChanges: number;
  /** The save that is under way: how many of its repositories are done, and whether the person wants no more of it. */
  readonly saving: { readonly done: number; readonly total: number; readonly isCancelled: boolean } | undefined;
}

export const allFields: FieldFilter = { text: "", isModified: false, hasProblem: false, scope: undefined };

export const screenStore = createStore<ScreenState>(() => ({
  connection: "connecting",
  silentSince: undefined,
  repositories: undefined,
  indexing: undefined,
  machine: undefined,
  problems: [],
  firstRepositories: [],
  scopes: [],
  opened: new Map(),
  pending: new Map(),
  drafts: new Map(),
  place: placeAt(""),
  recent: [],
  dialog: undefined,
  drawn: false,
  expanded: new Set(),
  query: "",
  found: undefined,
  fieldFilter: allFields,
  matrixView: { isOfDifferences: false, sort: undefined, widths: new Map() },
  flashes: new Set(),
  undoable: [],
  redoable: [],
  notices: [],
  keyChanges: 0,
  proposalChanges: 0,
  saving: undefined,
}));

export function useScreen<Selected>(select: (state: ScreenState) => Selected): Selected {
  return useStore(screenStore, select);
}

/** The key of a field in a repository. */
export function editKey(repo: string, scope: string, field: string): string {
  return `${repo} ${scope}.${field}`;
}

/** Indexes each list by id: every row of a page looks up its entry at every change, and there may be 10,000. */
const byId = new WeakMap<readonly RepositoryEntry[], ReadonlyMap<string, RepositoryEntry>>();

export function findRepository(
  { repositories }: Pick<ScreenState, "repositories">,
  id: string,
): RepositoryEntry | undefined {
  if (repositories === undefined) return undefined;
  const entries = byId.get(repositories) ?? new Map(repositories.map(entry => [entry.id, entry]));
  byId.set(repositories, entries);
  return entries.get(id);
}

/** The repository that the page shows; undefined: none, or one that does not exist. */
export function shownRepository(state: Pick<ScreenState, "place" | "repositories">): RepositoryEntry | undefined {
  return state.place.page === "repo" ? findRepository(state, state.place.repo) : undefined;
}

/** The name of a repository, or its id if it no longer exists. */
export function nameOfRepository(state: Pick<ScreenState, "repositories">, id: string): string {
  return findRepository(state, id)?.name ?? id;
}

export function findField(scopes: readonly ScopeEntry[], scope: string, field: string): FieldSchema | undefined {
  const schema = scopes.find(entry => entry.scope === scope)?.schema;
  return schema !== undefined && Object.hasOwn(schema.properties, field) ? schema.properties[field] : undefined;
}

/** A field's value where this is its stored one, which may be null; undefined: none is stored, so it has its default. */
export function orDefault<Default>(stored: JsonValue | undefined, byDefault: Default): JsonValue | Default {
  return stored === undefined ? byDefault : stored;
}
