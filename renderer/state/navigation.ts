import { daemon, openRepository } from "./connection.ts";
import { dismissAbout, messageOf, notify } from "./notices.ts";
import { addressOf, type Place, pageKeyOf, placeAt, type Selection, type View } from "./place.ts";
import { screenStore } from "./store.ts";

/** Milliseconds after the last key press until the daemon is queried. */
const searchDelay = 150;
const searchLimit = 300;
/** The maximum of repositories whose values are loaded because they contain a match. */
const maxOpenedBySearch = 50;
/** The maximum of recent places remembered in this window. */
const maxRecent = 9;
let searchTimer: ReturnType<typeof setTimeout> | undefined;

/** Goes to a place; Back returns. */
export function go(place: Place): void {
  const address = addressOf(place);
  if (address !== location.hash) history.pushState(null, "", address);
  followAddress();
}

/** Call when the focus enters a part of the page with its own address: a reload shows that part, but Back skips it. */
export function focusPlace(place: Place): void {
  const address = addressOf(place);
  if (address === location.hash) return;
  history.replaceState(history.state, "", address);
  followAddress();
}

/** Shows the place of the window's address. */
export function followAddress(): void {
  const place = placeAt(location.hash);
  screenStore.setState(({ recent }) => {
    const others = recent.filter(one => pageKeyOf(one) !== pageKeyOf(place) && one.page !== "unknown");
    return { place, recent: [place, ...others].slice(0, maxRecent) };
  });
}

/** Shows a repository in the current view; a scope or a field of it is shown among the fields. */
export function select(selection: Selection): void {
  go(placeOf(selection, screenStore.getState().place));
}

/** Where `select` goes from a place. */
export function placeOf(selection: Selection, from: Place): Place {
  return {
    page: "repo",
    view: from.page === "repo" && selection.scope === undefined ? from.view : "fields",
    ...selection,
  };
}

/** Shows a view of a repository. */
export function show(repo: string, view: View): void {
  go({ page: "repo", view, repo });
}

/** Loads what the page of a repository shows. */
export async function open(repo: string): Promise<void> {
  try {
    await openRepository(repo);
    dismissAbout(repo);
  } catch (error) {
    notify("problem", messageOf(error), repo);
  }
}

/** Expands or collapses a row. */
export function expand(key: string, open: boolean): void {
  screenStore.setState(state => {
    const expanded = new Set(state.expanded);
    if (open) expanded.add(key);
    else expanded.delete(key);
    // A single scope is expanded together with its repository.
    const [scope, ...more] = state.scopes;
    if (open && !key.includes(" ") && scope !== undefined && more.length === 0) expanded.add(`${key} ${scope.scope}`);
    return { expanded };
  });
  const [repo] = key.split(" ");
  if (open && repo !== undefined) void openRepository(repo).catch(error => notify("problem", messageOf(error), repo));
}

/** Searches while typing: names at once, fields and values when the daemon has replied. */
export function search(query: string): void {
  screenStore.setState({ query });
  clearTimeout(searchTimer);
  if (query.trim() === "") {
    screenStore.setState({ found: undefined });
    return;
  }
  searchTimer = setTimeout(() => void fetchHits(query), searchDelay);
}

/** Loads the next matches of the current search. */
export async function searchOn(): Promise<void> {
  const { found } = screenStore.getState();
  if (found?.next !== undefined) await fetchHits(found.query, found.next);
}

async function fetchHits(query: string, after?: string): Promise<void> {
  const isWanted = () => screenStore.getState().query === query;
  try {
    const { result, errors, next } = await daemon().request("config/search", {
      query,
      limit: searchLimit,
      ...(after !== undefined && { after }),
    });
    // The query has changed meanwhile, so this reply is outdated.
    if (!isWanted()) return;
    const hits = result ?? [];
    const repositories = new Set(hits.filter(hit => hit.field).map(({ repo }) => repo));
    // For the other repositories, the hits themselves contain the values.
    await Promise.all([...repositories].slice(0, maxOpenedBySearch).map(repo => openRepository(repo)));
    if (!isWanted()) return;
    screenStore.setState(({ found }) => ({
      found: {
        query,
        hits: after === undefined ? hits : [...(found?.hits ?? []), ...hits],
        ...(next !== undefined && { next }),
        problem: errors[0]?.message,
      },
    }));
  } catch (error) {
    // That the connection is lost is already shown.
    if (!isWanted() || screenStore.getState().connection !== "connected") return;
    const problem = messageOf(error);
    screenStore.setState(({ found }) => ({
      found: { query, hits: after === undefined ? [] : (found?.hits ?? []), problem },
    }));
  }
}
