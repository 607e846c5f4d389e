import { createStore } from "zustand";
import type { ErrorEntry } from "../../shared/errors.ts";
import { problemsIn } from "../../shared/health.ts";
import type { ConfigChanged, FoundHistoryEntry } from "../../shared/protocol.ts";
import { foundPart } from "../../shared/query/found-part.ts";
import { matchRepository } from "../../shared/query/match-query.ts";
import { parseQuery } from "../../shared/query/parse-query.ts";
import { daemon, onChange } from "../state/connection.ts";
import { messageOf, notify } from "../state/notices.ts";
import { findField, findRepository, screenStore } from "../state/store.ts";

/** Pages that are asked for one after the other while nothing is found: of 2,000 revisions each at most. */
const mostPages = 5;
/** Milliseconds in which what happens is taken together. */
const freshDelay = 100;
/** Entries that are shown while more arrive; if there are more, the list starts again. */
const mostShown = 500;

export interface Activity {
  /** The newest first; undefined: not read yet. */
  readonly entries: readonly FoundHistoryEntry[] | undefined;
  /** What has happened since and is not shown yet, the newest first. */
  readonly fresh: readonly FoundHistoryEntry[];
  /** Where older entries begin; undefined: there are none. */
  readonly next: string | undefined;
  /** The query is invalid, or histories of some repositories cannot be read. */
  readonly errors: readonly ErrorEntry[];
}

/** What a query finds in the histories of all repositories, page by page, and new changes. */
export function createActivityList(query: string, pageSize: number) {
  const store = createStore<Activity>(() => ({ entries: undefined, fresh: [], next: undefined, errors: [] }));

  const load = async (from?: string) => {
    try {
      let after = from;
      for (let page = 1; page <= mostPages; page += 1) {
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
    // It arrived while the page was being loaded.
    return { entries, fresh: store.getState().fresh.filter(entry => !known.has(keyOf(entry))) };
  };

  const take = (changes: readonly ConfigChanged[]) =>
    store.setState(({ entries = [], fresh }) => {
      const known = new Set([...fresh, ...entries].map(keyOf));
      const found = foundOf(query, changes).filter(entry => !known.has(keyOf(entry)));
      return found.length === 0 ? {} : { fresh: [...found.toReversed(), ...fresh].slice(0, mostShown) };
    });

  return {
    store,
    /** Shows older entries; call it only if it is known where they begin. */
    older: () => load(store.getState().next),
    /** Shows what has happened since. */
    showFresh: () => {
      const { entries = [], fresh } = store.getState();
      if (fresh.length + entries.length <= mostShown) store.setState({ entries: [...fresh, ...entries], fresh: [] });
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
      // Behind the watch of a new connection, which is asked for at once: nothing is missed in between.
      const start = setTimeout(() => void load());
      return () => {
        stop();
        clearTimeout(timer);
        clearTimeout(start);
      };
    },
  };
}

/** Of changes, what a query finds, as the daemon finds it in their histories. */
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
    // The daemon has said what is wrong with the query.
    return [];
  }
}

/** Names one entry. */
export function keyOf({ repo, revision, source }: FoundHistoryEntry): string {
  return `${repo} ${revision} ${source === "forget" ? source : ""}`;
}

/** One entry, or those of a batch. */
export interface Group {
  readonly key: string;
  /** The newest one. */
  readonly first: FoundHistoryEntry;
  readonly rest: readonly FoundHistoryEntry[];
  /** Older ones may belong to it, which are not read yet. */
  readonly isOpen: boolean;
}

/** The entries of each batch together, at the place of its newest one; any other entry is by itself. */
export function grouped({ entries = [], next }: Pick<Activity, "entries" | "next">): readonly Group[] {
  const last = entries.at(-1);
  const groups = Map.groupBy(entries, entry => entry.batch ?? keyOf(entry));
  return Array.from(groups, ([key, [first, ...rest]]) => {
    const isOpen = next !== undefined && first?.batch !== undefined && first.batch === last?.batch;
    return first === undefined ? [] : [{ key, first, rest, isOpen }];
  }).flat();
}

/** In how many repositories something was changed, as far as is known. */
export function countRepositories({ first, rest, isOpen }: Group): string {
  const count = new Set([first, ...rest].map(({ repo }) => repo)).size;
  return `${isOpen ? "at least " : ""}${count === 1 ? "1 repository" : `${count} repositories`}`;
}
