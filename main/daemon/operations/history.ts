import { splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { FoundHistoryEntry, HistoryEntry } from "../../../shared/protocol.ts";
import { parseQuery } from "../../../shared/query/parse-query.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../time/clock.ts";
import type { Yielding } from "../../time/yielding.ts";
import type { ConfigChanges } from "../config/config-changes.ts";
import { type ConfigService, unknownRepository } from "../config/config-service.ts";
import { searchHistory } from "../config/history-search.ts";
import { Page } from "../config/pages.ts";
import { openPlace, sealPlace } from "../config/sealed-position.ts";
import { undoRevisions } from "../config/undo/undo-revisions.ts";
import type { Operations } from "../socket/dispatch.ts";
import { changeOptions, noField, noRepository } from "./config.ts";
import { requireOwner } from "./repo.ts";

type HistoryOperations = Pick<Operations, Extract<keyof Operations, `history/${string}`>>;

/** The maximum number of revisions checked for one page of a search. */
const maxCheckedPerPage = 2_000;

/** `history/*`: docs/protocol.md, "History". */
export function historyOperations(
  service: ConfigService,
  changes: ConfigChanges,
  store: Store,
  scopes: Scopes,
  yielding: Yielding,
  clock: Pick<Clock, "now">,
): HistoryOperations {
  return {
    "history/list": async ({ repo, field, limit, after }, { caller }) => {
      if (!repo) throw noRepository();
      const from = after ? revisionBefore(after) : Number.MAX_SAFE_INTEGER;
      const page = new Page<HistoryEntry>(limit);
      const { entries } = page;
      try {
        for await (const entry of service.history(caller, repo, from, field || undefined)) {
          const last = entries.at(-1);
          // A page ends between two revisions, as `after` names one.
          if (last !== undefined && page.isFull && entry.revision !== last.revision)
            return { result: entries, next: String(last.revision) };
          page.add(entry);
        }
      } catch (error) {
        // The revisions that are newer than the damage are returned, with the damage in `errors`.
        if (!(error instanceof RepoconfError) || error.code !== 1110) throw error;
        return { result: entries, errors: [error] };
      }
      return { result: entries };
    },

    "history/search": async ({ query: text, batch, limit, after }, { caller }) => {
      const query = parseQuery(text, clock.now());
      const from = after ? openPlace(after, store.position) : undefined;
      const page = new Page<FoundHistoryEntry>(limit);
      const errors: RepoconfError[] = [];
      const turn = yielding.begin(caller.keyId);
      let last = from;
      let checked = 0;
      for await (const one of searchHistory(caller, query, from, { store, service, scopes, turn })) {
        if ("error" in one) {
          errors.push(one.error);
          continue;
        }
        // A page ends between two revisions, even if it has few entries.
        const found = batch ? one.entries.filter(entry => entry.batch === batch) : one.entries;
        if (last !== undefined && (checked === maxCheckedPerPage || (page.isFull && found.length > 0)))
          return { result: page.entries, errors, next: sealPlace(last, store.position) };
        for (const entry of found) page.add(entry);
        last = one.place;
        checked += 1;
      }
      return { result: page.entries, errors };
    },

    "history/restore": async ({ to, undo, fields, ...args }, { caller }) => {
      const { repo } = args;
      if (!repo) throw noRepository();
      if ((to == null) === (undo == null))
        throw new RepoconfError(
          1101,
          "Give either the revision to restore as to, or the revisions to take back as undo.",
        );
      if (fields?.length === 0) throw noField("Name at least one <scope>.<field> in fields, or omit fields.");
      const request = { ...changeOptions(args), repo, fields: fields ?? undefined };
      if (to != null) return changes.restore(caller, { ...request, to });
      const turn = yielding.begin(caller.keyId);
      return undoRevisions(caller, { ...request, undo: undo ?? [] }, { changes, store, scopes, turn });
    },

    "history/forget": async ({ repo, field }, { caller }) => {
      requireOwner(caller);
      if (!repo) throw noRepository();
      if (!field) throw noField("Name a <scope>.<field> as field.");
      if (!store.repositories.has(repo)) throw unknownRepository(repo);
      // A field without a schema may also be in the history.
      const path = splitConfigPath(field);
      if (path === undefined)
        throw new RepoconfError(1011, `Fields are written <scope>.<field>, not "${field}".`, { field });
      await store.erasures.forget(repo, path, caller.actor);
      return { result: {} };
    },
  };
}

function revisionBefore(after: string): number {
  if (!/^\d{1,15}$/.test(after))
    throw new RepoconfError(1101, `"${after}" is not a revision. Pass the next of the previous page as after.`);
  return Number(after) - 1;
}
