import { splitConfigPath } from "../config-path.ts";
import type { HistoryEntry } from "../protocol.ts";
import type { FieldSchema } from "../scopes/scope-schema.ts";
import { matchChange, matchPast, matchPastWithoutField, type RepositoryMatch } from "./match-query.ts";
import type { Query } from "./parse-query.ts";

/**
 * What a query finds of one entry of a repository's history: the entry with those of its fields that it asks for; undefined if there
 * is none. `schemaOf`: of a field, as far as it is there.
 */
export function foundPart<Entry extends HistoryEntry>(
  query: Query,
  match: RepositoryMatch,
  entry: Entry,
  schemaOf: (scope: string, field: string) => FieldSchema | undefined,
): Entry | undefined {
  if (!matchChange(query, entry)) return undefined;
  const note = entry.reason ?? "";
  if (entry.source === "forget") {
    const place = splitConfigPath(entry.field ?? "") ?? { scope: "", field: "" };
    const forgotten = { ...place, schema: undefined, value: null, isStored: false };
    return matchPast(query, match, forgotten, note) ? entry : undefined;
  }
  if (Object.keys(entry.changes).length === 0) return matchPastWithoutField(query, match, note) ? entry : undefined;
  const changes = Object.entries(entry.changes).flatMap(([scope, fields]) => {
    const left = Object.entries(fields).filter(([field, { value, stored }]) =>
      matchPast(query, match, { scope, field, value, isStored: stored, schema: schemaOf(scope, field) }, note),
    );
    return left.length === 0 ? [] : [[scope, Object.fromEntries(left)] as const];
  });
  return changes.length === 0 ? undefined : { ...entry, changes: Object.fromEntries(changes) };
}
