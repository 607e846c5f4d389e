import { createStore } from "zustand";
import type { ErrorEntry } from "../../shared/errors.ts";
import { problemsIn } from "../../shared/health.ts";
import { changesIn } from "../../shared/history-changes.ts";
import type { ConfigChanged, FoundHistoryEntry } from "../../shared/protocol.ts";
import { foundPart } from "../../shared/query/found-part.ts";
import { matchRepository } from "../../shared/query/match-query.ts";
import { parseQuery } from "../../shared/query/parse-query.ts";
import { daemon, onChange } from "../state/connection.ts";
import { messageOf, notify } from "../state/notices.ts";
import { findField, findRepository, screenStore } from "../state/store.ts";

/** The maximum of consecutive empty pages requested, of up to 2,000 revisions each. */
const maxPages = 5;
/** Milliseconds during which new changes are collected. */
const freshDelay = 100;
/** The maximum of entries shown as new ones arrive; beyond it, the list is loaded again. */
const maxShown = 500;

export interface Activity {
  /** Newest first; undefined: not loaded yet. */
  readonly entries: readonly FoundHistoryEntry[] | undefined;
  /** Newer changes that are not shown yet, newest first. */
  readonly fresh: readonly FoundHistoryEntry[];
  /** Where older entries begin; undefined if there are none. */
  readonly next: string | undefined;
  /** The query is invalid, or some histories cannot be read. */
  readonly errors: readonly ErrorEntry[];
}

/** The matches of a query in the histories of all repositories, page by page, and new changes. */
export function createActivityList(query: string, pageSize: number) {
  const store = createStore<Activity>(() => ({ entries: undefined, fresh: [], next: undefined, errors: [] }));

  const load = async (from?: string) => {
    try {
      let after = from;
      for (let page = 1; page <= maxPages; page += 1) {
        const args = { query, limit: pageSize, ...(after !== undefined && { after }) };
        const { result, errors, next } = await daemon().request("history/search", args);
        store.setState(before =>
          withOlder(from === undefined && page === 1 ? undefined : before.entries, result ?? []),
        );
        store.setState(before => ({ next, errors: page === 1 ? errors : [...before.errors, ...errors] }));
        if ((result ?? []).length > 0 || next === undefined) return;
        after = next;
      }
    } catch (error) {
      notify("problem", messageOf(error), "activity");
    }
  };

  const withOlder = (before: Activity["entries"], older: readonly FoundHistoryEntry[]) => {
    const entries = [...(before ?? []), ...older];
    const known = new Set(entries.map(keyOf));
    // Drop changes that arrived while the page was loading.
    return { entries, fresh: store.getState().fresh.filter(entry => !known.has(keyOf(entry))) };
  };

  const take = (changes: readonly ConfigChanged[]) =>
    store.setState(({ entries = [], fresh }) => {
      const known = new Set([...fresh, ...entries].map(keyOf));
      const found = foundOf(query, changes).filter(entry => !known.has(keyOf(entry)));
      return found.length === 0 ? {} : { fresh: [...found.toReversed(), ...fresh].slice(0, maxShown) };
    });

  return {
    store,
    /** Loads older entries; call it only if `next` is known. */
    older: () => load(store.getState().next),
    /** Shows the new changes. */
    showFresh: () => {
      const { entries = [], fresh } = store.getState();
      if (fresh.length + entries.length <= maxShown) store.setState({ entries: [...fresh, ...entries], fresh: [] });
      else {
        store.setState({ fresh: [] });
        void load();
      }
    },
    /** Reads the newest entries and follows new changes, until the returned function is called. */
    follow: () => {
      const waiting: ConfigChanged[] = [];
      let timer: ReturnType<typeof setTimeout> | undefined;
      const stop = onChange(change => {
        waiting.push(change);
        timer ??= setTimeout(() => {
          timer = undefined;
          take(waiting.splice(0));
        }, freshDelay);
      });
      // Runs after the watch of a new connection, which is requested at once, so no change in between is missed.
      const start = setTimeout(() => void load());
      return () => {
        stop();
        clearTimeout(timer);
        clearTimeout(start);
      };
    },
  };
}

/** The entries among the changes that match a query, as the daemon would find them in the histories. */
function foundOf(text: string, changes: readonly ConfigChanged[]): readonly FoundHistoryEntry[] {
  const state = screenStore.getState();
  try {
    const query = parseQuery(text, Date.now());
    return changes.flatMap(change => {
      const entry = findRepository(state, change.repo);
      const repository = entry && { ...entry, isBroken: problemsIn(entry.health).length > 0, isModified: true };
      const match = repository && matchRepository(query, repository);
      const found =
        match &&
        foundPart<FoundHistoryEntry>(query, match, change, (scope, field) => findField(state.scopes, scope, field));
      return found === undefined ? [] : [found];
    });
  } catch {
    // The daemon has already reported that the query is invalid.
    return [];
  }
}

/** The unique key of an entry. */
export function keyOf({ repo, revision, source }: FoundHistoryEntry): string {
  return `${repo} ${revision} ${source === "forget" ? source : ""}`;
}

/** One entry, or the entries of a batch, or of a change of several layers. */
export interface Group {
  readonly key: string;
  /** The newest entry. */
  readonly first: FoundHistoryEntry;
  readonly rest: readonly FoundHistoryEntry[];
  /** Whether older entries that are not loaded yet may belong to it. */
  readonly isOpen: boolean;
}

/** Groups the entries of each batch, and of each change, at the place of the newest one. */
export function grouped({ entries = [], next }: Pick<Activity, "entries" | "next">): readonly Group[] {
  const last = entries.at(-1);
  const keys = new Map(
    [...Map.groupBy(entries, ({ repo }) => repo).values()].flatMap(ofOne =>
      changesIn(ofOne).flatMap(change => change.map(entry => [entry, keyOf(change[0])] as const)),
    ),
  );
  const groups = Map.groupBy(entries, entry => entry.batch ?? keys.get(entry) ?? keyOf(entry));
  return Array.from(groups, ([key, [first, ...rest]]) => {
    const isOpen = next !== undefined && first?.batch !== undefined && first.batch === last?.batch;
    return first === undefined ? [] : [{ key, first, rest, isOpen }];
  }).flat();
}

/** The number of repositories with a change, as far as known. */
export function countRepositories({ first, rest, isOpen }: Group): string {
  const count = new Set([first, ...rest].map(({ repo }) => repo)).size;
  return `${isOpen ? "at least " : ""}${count === 1 ? "1 repository" : `${count} repositories`}`;
}
