import { useMemo } from "react";
import type { HistoryEntry } from "../../shared/protocol.ts";
import { type FieldChange, forgotten } from "../diff/diff-lines.ts";
import { DiffTable } from "../diff/diff-table.tsx";
import { unknownSchema } from "../parts/show-json.ts";
import { findField, type ScopeEntry, useScreen } from "../state/store.ts";

/** The maximum of lines per entry, because many entries are listed; "Compare" shows more of each. */
const maxLines = 20;

/** What one revision changed. */
export function EntryChanges({ entry }: { readonly entry: HistoryEntry }) {
  const scopes = useScreen(state => state.scopes);
  const changes = useMemo(() => changesOf(entry, scopes), [entry, scopes]);
  if (entry.source === "forget")
    return <p className="hint">The older values of {entry.field} were made to be forgotten.</p>;
  if (entry.source === "recovery")
    return (
      <p className="hint">
        The values were those of the file. Earlier changes are unknown, so older revisions cannot be restored.
      </p>
    );
  if (changes.length === 0) return <p className="hint">No value was stored yet.</p>;
  return <DiffTable changes={changes} most={maxLines} />;
}

function changesOf(entry: HistoryEntry, scopes: readonly ScopeEntry[]): FieldChange[] {
  // Without a local value, the one of the layer below counts, which may be stored.
  const isShared = entry.layer === undefined || entry.layer === "shared";
  return Object.entries(entry.changes).flatMap(([scope, fields]) =>
    Object.entries(fields).map(([name, { value, previous, stored, forgotten: isForgotten }]) => ({
      path: `${scope}.${name}`,
      schema: findField(scopes, scope, name) ?? unknownSchema,
      before: isForgotten ? forgotten : previous,
      after: isForgotten && value === null ? forgotten : stored || !isShared ? value : undefined,
    })),
  );
}
