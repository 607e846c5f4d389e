import { createStore, useStore } from "zustand";
import type { Config } from "../../shared/config.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { FileText, IndexingProgress, RepositoryEntry, SearchHit } from "../../shared/protocol.ts";
import type { FieldSchema, ScopeSchema } from "../../shared/scopes/scope-schema.ts";
import { type Place, placeAt } from "./place.ts";

/** The values of a repository that has been opened. */
export interface OpenRepository {
  readonly effective: Config;
  readonly stored: Config;
  readonly revision: number;
}

/** A change that the person has made and not saved. */
export interface PendingEdit {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
  /** Undefined: back to the default. */
  readonly value: JsonValue | undefined;
  /** What was stored when the edit began; undefined: nothing was. */
  readonly base: JsonValue | undefined;
  /** The field changed elsewhere meanwhile: the person has to choose. */
  readonly conflict?: { readonly stored: JsonValue | undefined; readonly actor: string };
  /** Who changed other places of the field meanwhile: the value has both changes. */
  readonly mergedWith?: string;
  /** What the daemon said of it at the last save. */
  readonly refusal?: string;
}

/** The text of a repository's file, edited and not saved. */
export interface Draft {
  /** What the text began with. */
  readonly file: FileText;
  readonly text: string;
}

/** What was saved of one repository in this window, for undo and redo. */
export interface SavedChange {
  readonly repo: string;
  /** Of the save. */
  readonly revision: number;
  readonly fields: readonly string[];
  /** The id of the batch that it belongs to. */
  readonly batch?: string;
}

/** What was saved at once, or undone at once. */
export interface SavedStep {
  /** It was not made before: RFC 3339. */
  readonly since: string;
  readonly saved: readonly SavedChange[];
}

export interface Notice {
  readonly id: number;
  readonly kind: "done" | "problem";
  readonly text: string;
  /** What can be done about it. */
  readonly action?: { readonly text: string; run(): void };
  /** What it is about; only the newest notice about it is shown. */
  readonly about?: string;
}

/** The dialogs that belong to no page. */
export type DialogName = "add" | "palette" | "review" | "shortcuts" | "sign-out";

export interface ScopeEntry {
  readonly scope: string;
  readonly schema: ScopeSchema;
}

export interface ScreenState {
  readonly connection: "connecting" | "connected" | "lost" | "ended";
  /** By name, then id; undefined until they are known. */
  readonly repositories: readonly RepositoryEntry[] | undefined;
  /** How far the daemon is in reading files that it has not read yet, while that is waited for. */
  readonly indexing: IndexingProgress | undefined;
  /** Some of them, for the tree, until all are known. */
  readonly firstRepositories: readonly RepositoryEntry[];
  readonly scopes: readonly ScopeEntry[];
  readonly opened: ReadonlyMap<string, OpenRepository>;
  /** By `editKey`, in the order in which they were made. */
  readonly pending: ReadonlyMap<string, PendingEdit>;
  /** By repository. */
  readonly drafts: ReadonlyMap<string, Draft>;
  /** Follows the window's address; see navigation.ts. */
  readonly place: Place;
  /** Where one was in this window, the last first, and that is `place`: each page and repository once. */
  readonly recent: readonly Place[];
  readonly dialog: DialogName | undefined;
  /** A narrow window shows the repositories, over the page. */
  readonly drawn: boolean;
  readonly expanded: ReadonlySet<string>;
  readonly query: string;
  /** What the daemon found for the query; undefined while there is none. */
  readonly found: { readonly query: string; readonly hits: readonly SearchHit[]; readonly next?: string } | undefined;
  /** Fields changed elsewhere a moment ago, by `editKey`. */
  readonly flashes: ReadonlySet<string>;
  readonly undoable: readonly SavedStep[];
  readonly redoable: readonly SavedStep[];
  readonly notices: readonly Notice[];
  /** How often keys or sessions came or went while this window is open. */
  readonly keyChanges: number;
  readonly saving: boolean;
}

export const screenStore = createStore<ScreenState>(() => ({
  connection: "connecting",
  repositories: undefined,
  indexing: undefined,
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
  flashes: new Set(),
  undoable: [],
  redoable: [],
  notices: [],
  keyChanges: 0,
  saving: false,
}));

export function useScreen<Selected>(select: (state: ScreenState) => Selected): Selected {
  return useStore(screenStore, select);
}

/** Names one field of one repository. */
export function editKey(repo: string, scope: string, field: string): string {
  return `${repo} ${scope}.${field}`;
}

/** By id, of each list there was: every row of a page asks at every change, and there may be 10,000. */
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

/** What people call a repository; its id where it is not there any more. */
export function nameOfRepository(state: Pick<ScreenState, "repositories">, id: string): string {
  return findRepository(state, id)?.name ?? id;
}

export function findField(scopes: readonly ScopeEntry[], scope: string, field: string): FieldSchema | undefined {
  const schema = scopes.find(entry => entry.scope === scope)?.schema;
  return schema !== undefined && Object.hasOwn(schema.properties, field) ? schema.properties[field] : undefined;
}
