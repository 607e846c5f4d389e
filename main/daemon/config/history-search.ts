import type { RepoconfError } from "../../../shared/errors.ts";
import { problemsIn } from "../../../shared/health.ts";
import type { FoundHistoryEntry, HistoryEntry } from "../../../shared/protocol.ts";
import { foundPart } from "../../../shared/query/found-part.ts";
import { matchRepository, type RepositoryMatch } from "../../../shared/query/match-query.ts";
import type { Query } from "../../../shared/query/parse-query.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { type HistoryPlace, mergedHistory } from "../../store/history/merged-history.ts";
import { formatPosition } from "../../store/log/commit-log.ts";
import type { Store } from "../../store/store.ts";
import type { Turn } from "../../time/yielding.ts";
import type { Caller } from "../keys/caller.ts";
import { viewRecord } from "./change-views.ts";
import type { ConfigService } from "./config-service.ts";
import { sealPosition } from "./sealed-position.ts";
import { asMasked } from "./search.ts";

export interface HistorySearchContext {
  readonly store: Store;
  readonly service: ConfigService;
  readonly scopes: Scopes;
  readonly turn: Turn;
}

/** One revision that was checked, with what was found in it; or a history that cannot be read. */
export type SearchedRevision =
  | { readonly place: HistoryPlace; readonly entries: readonly FoundHistoryEntry[] }
  | { readonly error: RepoconfError };

/** The changes in all repositories that match the query and that the caller may read, in the order of `mergedHistory`. */
export async function* searchHistory(
  caller: Caller,
  query: Query,
  after: HistoryPlace | undefined,
  context: HistorySearchContext,
): AsyncGenerator<SearchedRevision> {
  const { store, scopes, turn } = context;
  const matches = await matchingRepositories(caller, query, context);
  const since = Math.max(
    ...query.map(term => (term.kind === "since" && !term.isNot ? term.time : Number.NEGATIVE_INFINITY)),
  );
  const schemaOf = ({ changes }: HistoryEntry, scope: string, field: string) => {
    const schema = scopes.field(scope, field)?.schema;
    return changes[scope]?.[field]?.masked ? asMasked(schema) : schema;
  };
  const found = mergedHistory(store.repositories, store.log, matches.keys(), { after, since }, turn);
  for await (const revisionRead of found) {
    const { repo } = revisionRead;
    const match = matches.get(repo);
    if ("error" in revisionRead) yield revisionRead;
    else if (match !== undefined) {
      const { number, revision, records } = revisionRead;
      const position = number > 0 ? { position: sealPosition(formatPosition(store.log.id, number)) } : {};
      const entries = records.flatMap(record => {
        const seen = viewRecord(caller, repo, record, undefined, scopes);
        const entry = seen && foundPart(query, match, seen, (scope, field) => schemaOf(seen, scope, field));
        return entry === undefined ? [] : { repo, ...position, ...entry };
      });
      yield { place: { number, repo, revision }, entries };
    }
  }
}

async function matchingRepositories(
  caller: Caller,
  query: Query,
  { service, turn }: HistorySearchContext,
): Promise<ReadonlyMap<string, RepositoryMatch>> {
  const matches = new Map<string, RepositoryMatch>();
  const addIfMatching = (
    one: { readonly id: string; readonly name: string; readonly path?: string },
    isBroken: boolean,
  ) => {
    // Whether something is modified is checked for each change.
    const match = matchRepository(query, { ...one, isBroken, isModified: true });
    if (match !== undefined) matches.set(one.id, match);
  };
  // A limited key gets a repository's problems only if it may read its values.
  if (query.some(({ kind }) => kind === "broken"))
    for await (const entry of service.repositories(caller, {}, turn))
      addIfMatching(entry, problemsIn(entry.health).length > 0);
  else
    for (const one of await service.visible(caller)) {
      if (turn.isOver) await turn.pass();
      addIfMatching(one, false);
    }
  return matches;
}
