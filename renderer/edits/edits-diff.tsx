import { useMemo } from "react";
import { joinConfigPath } from "../../shared/config-path.ts";
import { FirstOnes } from "../activity/first-ones.tsx";
import type { FieldChange } from "../diff/diff-lines.ts";
import { DiffTable } from "../diff/diff-table.tsx";
import { schemaOfEdit } from "../state/edit-masks.ts";
import { dropEdit } from "../state/edits.ts";
import { findField, nameOfRepository, type PendingEdit, type ScopeEntry, useScreen } from "../state/store.ts";
import { unreadPlaces } from "../state/unread-text.ts";

/** The unsaved edits; repositories with the same edits are shown together, once. */
export function EditsDiff() {
  const pending = useScreen(state => state.pending);
  const scopes = useScreen(state => state.scopes);
  const repositories = useScreen(state => state.repositories);
  const groups = useMemo(() => groupsOf(pending, scopes), [pending, scopes]);
  return groups.map(({ repos, changes }) => {
    const names = repos.map(repo => nameOfRepository({ repositories }, repo));
    const [name] = names;
    const title = names.length === 1 ? name : `${names.length} repositories`;
    return (
      <section key={repos[0]} aria-label={title}>
        <h3>{title}</h3>
        {names.length > 1 && (
          <p className="review-names">
            <FirstOnes most={12} what="repositories">
              {names.map((one, index) => (
                <span key={repos[index]}>{one}</span>
              ))}
            </FirstOnes>
          </p>
        )}
        <DiffTable
          changes={changes}
          actions={({ keys }) => [{ key: "discard", text: "Discard", run: () => dropEdit(...keys) }]}
        />
      </section>
    );
  });
}

interface EditChange extends FieldChange {
  /** The `editKey` of each edit that makes it. */
  readonly keys: readonly string[];
}

interface EditGroup {
  readonly repos: readonly string[];
  readonly changes: readonly EditChange[];
}

/** In the order of the edits. */
function groupsOf(pending: ReadonlyMap<string, PendingEdit>, scopes: readonly ScopeEntry[]): readonly EditGroup[] {
  const ofEach = Array.from(
    Map.groupBy(pending, ([, { repo }]) => repo),
    ([repo, edits]) => ({ repo, changes: edits.flatMap(([key, one]) => changeOf(key, one, scopes)) }),
  );
  const alike = Map.groupBy(ofEach, ({ changes }) =>
    // As members: null is a value, and undefined is none.
    JSON.stringify(changes.map(({ path, before, after, notes }) => ({ path, before, after, notes }))),
  );
  return Array.from(alike.values(), some => ({
    repos: some.map(({ repo }) => repo),
    changes: (some[0]?.changes ?? []).map((change, at) => ({
      ...change,
      keys: some.flatMap(({ changes }) => changes[at]?.keys ?? []),
    })),
  }));
}

function changeOf(key: string, edit: PendingEdit, scopes: readonly ScopeEntry[]): readonly EditChange[] {
  const { scope, field, value, base, conflict } = edit;
  const known = findField(scopes, scope, field);
  // What was masked stays so: nothing says any more what that is.
  const schema = known === undefined ? { "x-masked": true } : schemaOfEdit(known, edit);
  // The currently stored value, even if it changed after the edit began.
  const before = conflict === undefined ? base : conflict.stored;
  const unread = unreadPlaces(value).length > 0 ? "not a value yet" : undefined;
  const notes = { after: known === undefined ? "no scope has this field any more" : unread };
  return [{ keys: [key], path: joinConfigPath(scope, field), schema, before, after: value, notes }];
}
