import { useMemo } from "react";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { FieldChange } from "../diff/diff-lines.ts";
import { DiffTable } from "../diff/diff-table.tsx";
import { dropEdit } from "../state/edits.ts";
import { findField, nameOfRepository, type PendingEdit, type ScopeEntry, useScreen } from "../state/store.ts";
import { unreadPlaces } from "../state/unread-text.ts";

/** The unsaved edits, by repository. */
export function EditsDiff() {
  const pending = useScreen(state => state.pending);
  const scopes = useScreen(state => state.scopes);
  const repositories = useScreen(state => state.repositories);
  const groups = useMemo(
    () =>
      Array.from(
        Map.groupBy(pending, ([, { repo }]) => repo),
        ([repo, edits]) => ({ repo, changes: edits.flatMap(([key, one]) => changeOf(key, one, scopes)) }),
      ),
    [pending, scopes],
  );
  return groups.map(({ repo, changes }) => (
    <section key={repo} aria-label={nameOfRepository({ repositories }, repo)}>
      <h3>{nameOfRepository({ repositories }, repo)}</h3>
      <DiffTable
        changes={changes}
        actions={change => [{ key: "discard", text: "Discard", run: () => dropEdit(change.key) }]}
      />
    </section>
  ));
}

interface EditChange extends FieldChange {
  /** Its `editKey`. */
  readonly key: string;
}

function changeOf(
  key: string,
  { scope, field, value, base, conflict }: PendingEdit,
  scopes: readonly ScopeEntry[],
): readonly EditChange[] {
  const schema = findField(scopes, scope, field);
  if (schema === undefined) return [];
  // The currently stored value, even if it changed after the edit began.
  const before = conflict === undefined ? base : conflict.stored;
  const notes = { after: unreadPlaces(value).length > 0 ? "not a value yet" : undefined };
  return [{ key, path: joinConfigPath(scope, field), schema, before, after: value, notes }];
}
