import { DiffTable } from "../history/diff-table.tsx";
import { dropEdit } from "../state/edits.ts";
import { findField, nameOfRepository, useScreen } from "../state/store.ts";

/** What is edited and not saved, by repository. */
export function EditsDiff() {
  const pending = useScreen(state => state.pending);
  const scopes = useScreen(state => state.scopes);
  const repositories = useScreen(state => state.repositories);
  const nameOf = (repo: string) => nameOfRepository({ repositories }, repo);
  return Array.from(
    Map.groupBy(pending, ([, { repo }]) => repo),
    ([repo, edits]) => (
      <section key={repo} aria-label={nameOf(repo)}>
        <h3>{nameOf(repo)}</h3>
        <DiffTable
          rows={edits.flatMap(([key, { scope, field, value, base, conflict }]) => {
            const schema = findField(scopes, scope, field);
            if (schema === undefined) return [];
            return [
              {
                path: `${scope}.${field}`,
                schema,
                // What is stored now, also where that changed since the edit began.
                before: conflict === undefined ? base : conflict.stored,
                after: value,
                action: { text: "Drop", run: () => dropEdit(key) },
              },
            ];
          })}
        />
      </section>
    ),
  );
}
