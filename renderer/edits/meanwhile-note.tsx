import { useMemo } from "react";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { DiffTable } from "../diff/diff-table.tsx";
import { byActor } from "../parts/by-actor.ts";
import { dropEdit, keepMine } from "../state/edits.ts";
import { editKey, type PendingEdit, useScreen } from "../state/store.ts";

/** Shown when a field changed elsewhere while it was edited: both changes merged, or a choice between two values. */
export function MeanwhileNote({ edit, schema }: { readonly edit: PendingEdit; readonly schema: FieldSchema }) {
  const here = useScreen(state => state.machine);
  if (edit.conflict !== undefined) return <Conflict edit={edit} schema={schema} conflict={edit.conflict} />;
  if (edit.mergedWith === undefined) return undefined;
  return (
    <p className="hint" role="status">
      Changed in the meantime {byActor(edit.mergedWith, here)} in another place. Your edit has both changes.
    </p>
  );
}

interface ConflictProps {
  readonly edit: PendingEdit;
  readonly schema: FieldSchema;
  readonly conflict: NonNullable<PendingEdit["conflict"]>;
}

/** What each side changed, and the choice between them. */
function Conflict({ edit, schema, conflict }: ConflictProps) {
  const { repo, scope, field, base, value } = edit;
  const { by, stored } = conflict;
  const theirs = byActor(
    by,
    useScreen(state => state.machine),
  );
  const changes = useMemo(() => {
    const one = { path: joinConfigPath(scope, field), schema, before: base };
    return [
      { ...one, title: `Theirs: changed ${theirs}`, after: stored },
      { ...one, title: "Mine", after: value },
    ];
  }, [scope, field, schema, base, theirs, stored, value]);
  const key = editKey(repo, scope, field);
  return (
    <div className="conflict" role="alert">
      <p>Changed in the meantime {theirs}, where you changed it too.</p>
      <DiffTable changes={changes} />
      <button type="button" className="button" onClick={() => keepMine(key)}>
        Keep mine
      </button>
      <button type="button" className="button" onClick={() => dropEdit(key)}>
        Take theirs
      </button>
    </div>
  );
}
