import { useState } from "react";
import type { JsonValue } from "../../shared/json.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { moveToShared, takeShared } from "../state/layers.ts";
import { findRepository, nameOfRepository, useScreen } from "../state/store.ts";

interface OverrideBadgeProps {
  readonly repo: string;
  readonly by: "local" | "base";
}

/** Tells that a local value counts instead of the shared one. */
export function OverrideBadge({ repo, by }: OverrideBadgeProps) {
  const base = useScreen(state => {
    const id = findRepository(state, repo)?.base;
    return id === undefined ? undefined : nameOfRepository(state, id);
  });
  const title = "Only this machine has this value. It counts before the one that everyone has.";
  return (
    <span className="badge badge-local" title={title}>
      {by === "local" || base === undefined ? "local" : `local, of ${base}`}
    </span>
  );
}

/** Tells that the value is higher than the one that a linked worktree inherits, if it is. */
export function StepBadge({ repo, schema, value }: { repo: string; schema: FieldSchema; value: JsonValue }) {
  const slot = useScreen(state => findRepository(state, repo)?.linked?.slot) ?? 0;
  const added = (schema["x-step"] ?? 0) * slot;
  if (added === 0 || value === null || value === "") return null;
  const title = `This worktree inherits the value, ${added} higher, so that it differs in each. One that is set here is taken as it is.`;
  return (
    <span className="badge badge-local" title={title}>
      +{added}
    </span>
  );
}

interface OverrideToolsProps {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
  readonly schema: FieldSchema;
}

/** What can be done with a local value. */
export function OverrideTools({ repo, scope, field, schema }: OverrideToolsProps) {
  const [busy, setBusy] = useState(false);
  const title = schema.title ?? field;
  const run = (change: Promise<void>) => {
    setBusy(true);
    void change.finally(() => setBusy(false));
  };
  const place = { repo, scope, field };
  return (
    <p className="field-override">
      <button
        type="button"
        className="link"
        disabled={busy}
        aria-label={`Use the shared value: ${title}`}
        onClick={() => run(takeShared(place))}
      >
        Use the shared value
      </button>
      <button
        type="button"
        className="link"
        disabled={busy}
        aria-label={`Move to shared: ${title}`}
        title="Everyone who has the repository gets this value."
        onClick={() => run(moveToShared(place, schema))}
      >
        Move to shared
      </button>
    </p>
  );
}
