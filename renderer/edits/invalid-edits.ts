import { joinConfigPath } from "../../shared/config-path.ts";
import type { FieldSchema, ScopeSchema } from "../../shared/scopes/scope-schema.ts";
import { checkValue } from "../fields/validate.ts";
import { focusWhenThere } from "../parts/focus-when-there.ts";
import { nameToSee } from "../parts/invisible.ts";
import { go } from "../state/navigation.ts";
import { findField, type PendingEdit, type ScopeEntry, type ScreenState, screenStore } from "../state/store.ts";

interface Checked {
  readonly schema: FieldSchema;
  readonly problem: string | undefined;
}

/** Of edits that have not changed: a page may have thousands. */
const checked = new WeakMap<PendingEdit, Checked>();

/** Why a save would not take an edit, in one sentence; undefined: nothing is known against it. */
export function problemOfEdit(
  edit: PendingEdit,
  schema: FieldSchema | undefined,
  scope: ScopeSchema | undefined,
): string | undefined {
  if (edit.refusal !== undefined) return edit.refusal;
  if (edit.conflict !== undefined) return "It was changed elsewhere in the meantime.";
  if (schema === undefined || edit.value === undefined) return undefined;
  const known = checked.get(edit);
  if (known?.schema === schema) return known.problem;
  const [first] = checkValue(edit.value, schema, scope);
  const problem =
    first && (first.path.length === 0 ? first.message : `${first.path.map(nameToSee).join(".")}: ${first.message}`);
  checked.set(edit, { schema, problem });
  return problem;
}

/** The keys of the edits that a save would not take, in the order of the edits. */
export function invalidEdits(
  pending: ScreenState["pending"],
  scopes: readonly ScopeEntry[],
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [key, edit] of pending) {
    const scope = scopes.find(one => one.scope === edit.scope)?.schema;
    const problem = problemOfEdit(edit, findField(scopes, edit.scope, edit.field), scope);
    if (problem !== undefined) found.set(key, problem);
  }
  return found;
}

/** Goes to the next or previous invalid edit after the field that the page shows, and selects what is in its control. */
export function goToInvalid(step: 1 | -1): void {
  const { pending, scopes, place } = screenStore.getState();
  const invalid = invalidEdits(pending, scopes);
  const isHere = ({ repo, scope, field }: PendingEdit) =>
    place.page === "repo" && repo === place.repo && scope === place.scope && field === place.field;
  const edits = [...pending];
  const here = edits.findIndex(([, edit]) => isHere(edit));
  const after = [...edits.slice(here + 1), ...edits.slice(0, here + 1)];
  const before = here === -1 ? edits : [...edits.slice(here), ...edits.slice(0, here)];
  const target = step === 1 ? after.find(([key]) => invalid.has(key)) : before.findLast(([key]) => invalid.has(key));
  if (target === undefined) return;
  const { repo, scope, field } = target[1];
  go({ page: "repo", view: "fields", repo, scope, field });
  const row = `#${CSS.escape(`field-${joinConfigPath(scope, field)}`)}`;
  focusWhenThere(
    `${row} [aria-invalid="true"], ${row} .conflict button`,
    `${row} :is(.field-control, .field-tools) :is(input, textarea, button)`,
  );
}
