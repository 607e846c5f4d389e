import { applyConfigEdits, type Config, type ConfigEdit, configValue } from "../../../shared/config.ts";
import { differencesAt, diffingConfigs, type StoredDifference } from "../../../shared/config-diff.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { SpareSteps } from "../../../shared/schema/step-budget.ts";
import type { Applied, ChangeRequest, RepositoryState } from "../types.ts";
import { areServed, interpretingConfig, type Rules } from "../values/interpret.ts";
import { writingNewNames } from "../values/renamed-fields.ts";

/** A queued change, and the callback for its outcome. */
export interface WaitingChange {
  readonly kind: "change";
  readonly request: ChangeRequest<unknown>;
  settle(outcome: Outcome): void;
}
export type Outcome = { readonly applied: Applied<unknown> } | { readonly error: unknown };

/** A change that has been decided; `before` and `after` are the same state if nothing changes. */
export interface Decided {
  readonly waiting: WaitingChange;
  readonly before: RepositoryState;
  readonly after: RepositoryState;
  readonly answer: unknown;
  readonly refused: boolean;
  /** The changes for the file. */
  readonly edits: readonly ConfigEdit[];
  /** The changes of active values. */
  readonly changes: readonly StoredDifference[];
  /** Whether it requests values, even if the file has them already. */
  readonly wanted: boolean;
  /** The error that `decide` threw. */
  readonly error?: unknown;
}

/** Milliseconds. A copy of the fields of the largest files takes fifty. */
const longCopy = 5;

/**
 * Decides changes in order, each on the outcome of the previous one. Pure. The state must be checked by the current rules. Returns the
 * given config itself if the file does not change. Yields if it takes long; if the rules change meanwhile, the result is invalid.
 */
export function* decidingBatch(
  batch: readonly WaitingChange[],
  initialState: RepositoryState,
  initialConfig: Config,
  rules: Rules,
): Generator<void, { readonly decided: readonly Decided[]; readonly config: Config }> {
  let config = initialConfig;
  let state = initialState;
  const decided: Decided[] = [];
  for (const waiting of batch) {
    const before = state;
    let changes: readonly StoredDifference[] = [];
    try {
      const { edits, answer } = waiting.request.decide(before);
      const written = writingNewNames(edits ?? [], config, rules.scopes);
      const needed = written.filter(edit => isNeeded(config, edit) || isAwaited(before, edit));
      if (needed.length > 0) {
        const wasWhole = before.stored === config;
        const began = performance.now();
        config = applyConfigEdits(config, needed);
        if (performance.now() - began > longCopy) yield;
        ({ state, changes } = yield* checkingOutcome(before, config, needed, wasWhole, rules));
      }
      decided.push({
        waiting,
        before,
        after: state,
        answer,
        refused: edits === undefined,
        edits: needed,
        changes,
        wanted: (edits?.length ?? 0) > 0,
      });
    } catch (error) {
      const nothing = { answer: undefined, edits: [], changes: [], wanted: false };
      decided.push({ waiting, before, after: before, ...nothing, refused: true, error });
    }
  }
  return { decided, config };
}

/** Checks `config`, which includes the edits. `wasWhole`: without them it was active as a whole, so only the edits are checked. */
function* checkingOutcome(
  before: RepositoryState,
  config: Config,
  edits: readonly ConfigEdit[],
  wasWhole: boolean,
  rules: Rules,
): Generator<void, { readonly state: RepositoryState; readonly changes: readonly StoredDifference[] }> {
  if (wasWhole && areServed(edits, config, rules.scopes)) {
    const changes = differencesAt(edits, before.stored ?? {}, config);
    const state = { ...before, health: [], stored: config };
    return changes.length === 0 ? { state, changes } : { state: { ...state, revision: before.revision + 1 }, changes };
  }
  // Set values were checked when they were decided, and setting a value through the daemon also trusts it.
  const set = new Set(edits.map(({ scope, field }) => joinConfigPath(scope, field)));
  const isChecked = ({ scope, field }: ConfigPath, value: JsonValue) =>
    configValue(before.stored ?? {}, scope, field) === value || set.has(joinConfigPath(scope, field));
  // Problems get their places once the new text exists. A check that took too many steps at a refresh gets no spare steps now.
  const checks = { isChecked, spare: new SpareSteps(0) };
  const { stored, health } = yield* interpretingConfig(config, before.stored, rules, checks);
  const changes = yield* diffingConfigs(before.stored ?? {}, stored);
  const changed = before.stored === undefined || changes.length > 0;
  return { state: { ...before, health, ...(changed && { stored, revision: before.revision + 1 }) }, changes };
}

function isNeeded(config: Config, { scope, field, value }: ConfigEdit): boolean {
  return !sameJson(configValue(config, scope, field), value);
}

/** Whether a set requests the inactive value that the file has. */
function isAwaited({ stored = {} }: RepositoryState, { scope, field, value }: ConfigEdit): boolean {
  return !sameJson(configValue(stored, scope, field), value);
}
