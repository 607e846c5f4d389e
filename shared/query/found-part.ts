import { splitConfigPath } from "../config-path.ts";
import type { HistoryEntry } from "../protocol.ts";
import type { FieldSchema } from "../scopes/scope-schema.ts";
import { matchChange, matchPast, matchPastWithoutField, type RepositoryMatch } from "./match-query.ts";
import type { Query } from "./parse-query.ts";

/**
 * The part of a history entry that a query finds: the entry with only the fields that match, or undefined if nothing matches.
 * `schemaOf` returns a field's schema, or undefined if the field no longer exists.
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
