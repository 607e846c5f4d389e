import fuzzysort from "fuzzysort";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import type { ScopeSchema } from "../../shared/scopes/scope-schema.ts";
import { addressOf, type Place, views } from "../state/place.ts";

/** What the palette needs to know about a command. */
interface Command {
  readonly id: string;
  readonly title: string;
  readonly group: string;
}

/** An entry of the palette. */
export interface Entry<Action extends Command> {
  /** Unique among the shown entries. */
  readonly id: string;
  readonly title: string;
  /** Distinguishes it from others with the same title. */
  readonly detail: string;
  /** Its kind in one word; for an action, its group. */
  readonly kind: string;
  readonly target: { readonly place: Place } | { readonly action: Action } | { readonly query: string };
}

/** An entry that leads to a place or starts a search. */
type PlaceEntry = Entry<never>;

export const maxEntries = 50;
/** The maximum of favourites without a query: there has to be room for commands. */
const maxFavourites = 12;
/** The maximum of repositories that match the first word and whose fields are searched for the rest. */
const maxNamed = 8;

/** The part of the screen's state that is needed. */
interface EntriesState {
  readonly repositories: readonly RepositoryEntry[] | undefined;
  readonly scopes: readonly { readonly scope: string; readonly schema: ScopeSchema }[];
  readonly place: Place;
  readonly recent: readonly Place[];
}

/**
 * Prepares what does not depend on the query, such as the names of many repositories.
 * @param actions The applicable actions.
 * @returns The entries for a query, best first, at most `maxEntries`. Without a query: recent places, favourites, then
 * commands.
 */
export function entriesIn<Action extends Command>(
  state: EntriesState,
  actions: readonly Action[],
): (query: string) => readonly Entry<Action>[] {
  const repositories = state.repositories ?? [];
  const names = fuzzysort.snapshot(repositories, { keys: [({ name }) => name, ({ path, id }) => path ?? id] });
  const { place } = state;
  const shown = place.page === "repo" ? repositories.find(({ id }) => id === place.repo) : undefined;
  const always = [...actions.map(entryOfAction), ...(shown === undefined ? [] : viewsOf(shown))];
  return typed => {
    const query = typed.trim();
    const fieldsShown = shown === undefined ? [] : fieldsOf(shown, state.scopes);
    if (query === "") {
      const entries = [...recentEntries(state, always), ...favouritesOf(state), ...always, ...fieldsShown];
      return [...new Set(entries)].slice(0, maxEntries);
    }
    const [first = "", ...more] = query.split(/\s+/);
    const named = more.length === 0 ? [] : fuzzysort.go(first, names, { limit: maxNamed }).map(({ obj }) => obj);
    const fields = named.filter(({ id }) => id !== shown?.id).flatMap(repo => fieldsOf(repo, state.scopes));
    const limit = maxEntries;
    const found = [
      ...fuzzysort.go(query, [...always, ...fieldsShown, ...fields], { keys: ["title", "detail"], limit }),
      ...fuzzysort.go(query, names, { limit }).map(({ score, obj }) => ({ score, obj: entryOfRepository(obj) })),
    ];
    const ranked = found.toSorted((one, other) => other.score - one.score).map(({ obj }) => obj);
    return [...ranked.slice(0, maxEntries - 1), searchFor(query)];
  };
}

function entryOfAction<Action extends Command>(action: Action): Entry<Action> {
  return { id: `action ${action.id}`, title: action.title, detail: "", kind: action.group, target: { action } };
}

function entryOfRepository({ id, name, path }: RepositoryEntry): PlaceEntry {
  const place = { page: "repo", view: "fields", repo: id } as const;
  return { id: `repo ${id}`, title: name, detail: path ?? id, kind: "Repository", target: { place } };
}

/** The favourites that are not among the recent places anyway. */
function favouritesOf({ repositories = [], recent }: EntriesState): readonly PlaceEntry[] {
  const others = new Set(recent.map(place => (place.page === "repo" ? place.repo : undefined)));
  const favourites = repositories.filter(({ id, favourite }) => favourite && !others.has(id));
  return favourites.slice(0, maxFavourites).map(entry => ({ ...entryOfRepository(entry), kind: "Favourite" }));
}

function viewsOf({ id, name }: RepositoryEntry): readonly PlaceEntry[] {
  return views.map(([view, title]) => {
    const place = { page: "repo", view, repo: id } as const;
    return { id: `view ${view}`, title: `${title} of ${name}`, detail: "", kind: "View", target: { place } };
  });
}

function fieldsOf({ id, name }: RepositoryEntry, scopes: EntriesState["scopes"]): readonly PlaceEntry[] {
  return scopes.flatMap(({ scope, schema }) =>
    Object.entries(schema.properties).map(([field, { title = field }]) => {
      const place = { page: "repo", view: "fields", repo: id, scope, field } as const;
      const detail = `${name} · ${joinConfigPath(scope, field)}`;
      return { id: `field ${id} ${scope}.${field}`, title, detail, kind: "Field", target: { place } };
    }),
  );
}

/** Recent places, without the current one. */
function recentEntries<Action extends Command>(
  state: EntriesState,
  always: readonly Entry<Action>[],
): readonly Entry<Action>[] {
  return state.recent.slice(1).flatMap((place): readonly Entry<Action>[] => {
    const address = addressOf(place);
    const common = { id: `recent ${address}`, kind: "Recent", target: { place } } as const;
    if (place.page !== "repo")
      return [always.find(({ id }) => id === `action go-${place.page}`) ?? { ...common, title: address, detail: "" }];
    const entry = state.repositories?.find(({ id }) => id === place.repo);
    if (entry === undefined) return [];
    const { scope, field, view } = place;
    const path = scope === undefined ? undefined : joinConfigPath(scope, field ?? "*");
    const viewTitle = views.find(([id]) => id === view)?.[1];
    return [{ ...common, title: entry.name, detail: path ?? viewTitle ?? "" }];
  });
}

function searchFor(query: string): PlaceEntry {
  return {
    id: "search",
    title: `Search for “${query}”`,
    detail: "names, fields and values",
    kind: "Search",
    target: { query },
  };
}
