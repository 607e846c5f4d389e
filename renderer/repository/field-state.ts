import { configValue } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { isNote } from "../../shared/health.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { HealthProblem } from "../../shared/protocol.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { checkValue, type ValueProblem } from "../fields/validate.ts";
import { wantedValue } from "../state/edits.ts";
import { editKey, findRepository, orDefault, type PendingEdit, useScreen } from "../state/store.ts";

/** One field of one repository, as the page shows it. */
export interface FieldState {
  /** `<scope>.<field>`. */
  readonly path: string;
  readonly key: string;
  /** The edited value, or the active value if there is no edit. */
  readonly value: JsonValue;
  readonly pending: PendingEdit | undefined;
  /** Whether a value is stored once the edits are saved; a reset would remove it. */
  readonly modified: boolean;
  /** Problems of the edit. */
  readonly problems: readonly ValueProblem[];
  /** The problem of the value in the file. */
  readonly health: HealthProblem | undefined;
  /** Whether it changed elsewhere a moment ago. */
  readonly flashing: boolean;
}

export function useFieldState(repo: string, scope: string, field: string, schema: FieldSchema): FieldState {
  const key = editKey(repo, scope, field);
  const path = joinConfigPath(scope, field);
  const pending = useScreen(state => state.pending.get(key));
  const stored = useScreen(state => wantedValue(state, repo, scope, field).stored);
  const effective = useScreen(state => configValue(state.opened.get(repo)?.effective ?? {}, scope, field));
  const scopeSchema = useScreen(state => state.scopes.find(one => one.scope === scope)?.schema);
  const value = orDefault(pending === undefined ? effective : pending.value, schema.default);
  return {
    path,
    key,
    value,
    pending,
    modified: stored !== undefined,
    problems: pending === undefined ? [] : checkValue(value, schema, scopeSchema),
    health: useScreen(state => findRepository(state, repo)?.health.find(one => one.field === path && !isNote(one))),
    flashing: useScreen(state => state.flashes.has(key)),
  };
}
