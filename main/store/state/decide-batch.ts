import { applyConfigEdits, type Config, type ConfigEdit, configValue } from "../../../shared/config.ts";
import { differencesAt, diffingConfigs, type StoredDifference } from "../../../shared/config-diff.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { SpareSteps } from "../../../shared/schema/step-budget.ts";
import { type AppliedCommit, activeAfter, applyCommit, type CommitHead } from "../apply-commit.ts";
import type { Commit } from "../log/commit-log.ts";
import { documentCommit } from "../log/document-commits.ts";
import type { Applied, ChangeRequest, CommittedState, RepositoryState } from "../types.ts";
import { type Interpretation, interpretingConfig, type Rules } from "../values/interpret.ts";
import { writingNewNames } from "../values/renamed-fields.ts";

/** A queued change, and the callback for its outcome. */
export interface WaitingChange {
  readonly request: ChangeRequest<unknown>;
  settle(outcome: Outcome): void;
}
export type Outcome = { readonly applied: Applied<unknown> } | { readonly error: unknown };

/** A change that has been decided. */
export interface Decided {
  readonly waiting: WaitingChange;
  readonly after: RepositoryState;
  readonly answer: unknown;
  readonly refused: boolean;
  /** Undefined if nothing changes. */
  readonly proposed?: Proposed;
  /** What a change that is only tried would change, and the values of the file then. */
  readonly tried?: { readonly edits: readonly ConfigEdit[]; readonly config: Config };
  /** Those of the edits that a later schema must not make commands without trust, also if the owner requests them. */
  readonly plain: readonly ConfigPath[];
  /** Whether it requests values, even if the file has them already. */
  readonly hasEdits: boolean;
  /** The error that `decide` threw. */
  readonly error?: unknown;
}

/** A commit for the log, and what it makes of the state. */
interface Proposed {
  readonly entry: Commit;
  readonly applied: AppliedCommit;
}

/** Milliseconds. A copy of the fields of the largest files takes fifty. */
const longCopy = 5;

/**
 * Decides changes in order, each on the outcome of the previous one. Pure. The state must be checked by the current rules. `head`: what is
 * checked out in the work tree. `isOutdated`: others may have changed the values, so that also a set of values which are already there needs a
 * commit. `entryOf` makes the request's part of a commit. Yields if it takes long; if the rules change meanwhile, the result is invalid.
 */
export function* decidingBatch(
  batch: readonly WaitingChange[],
  initial: {
    readonly state: RepositoryState;
    readonly committed: CommittedState;
    readonly head?: string | undefined;
    readonly isOutdated?: boolean;
  },
  rules: Rules,
  entryOf: (request: ChangeRequest<unknown>) => CommitHead,
): Generator<void, { readonly decided: readonly Decided[]; readonly committed: CommittedState }> {
  let { state, committed } = initial;
  const decided: Decided[] = [];
  for (const waiting of batch) {
    try {
      const { edits, recorded = [], plain = [], answer } = waiting.request.decide(state);
      const written = writingNewNames(edits ?? [], committed.target, rules.scopes);
      const [config, active] = [committed.target, state];
      const isRecorded = ({ scope, field }: ConfigPath) =>
        recorded.some(path => path.scope === scope && path.field === field);
      const { isTrial = false } = waiting.request;
      const isAppended = initial.isOutdated === true && !isTrial;
      const needed = written.filter(
        edit => isAppended || isNeeded(config, edit) || isAwaited(active, edit) || isRecorded(edit),
      );
      const hasEdits = !isTrial && (edits?.length ?? 0) > 0;
      const decision = { waiting, answer, refused: edits === undefined, hasEdits, plain };
      if (isTrial && needed.length > 0) {
        const tried = { edits: needed, config: applyConfigEdits(config, needed) };
        decided.push({ ...decision, after: state, tried });
        continue;
      }
      if (needed.length === 0) {
        decided.push({ ...decision, after: state });
        continue;
      }
      const entry = entryOf(waiting.request);
      const proposed = yield* proposing(needed, state, committed, { entry, rules, isRecorded, head: initial.head });
      committed = proposed.applied.state;
      state = proposed.state;
      decided.push({ ...decision, after: state, proposed });
    } catch (error) {
      decided.push({ waiting, after: state, answer: undefined, refused: true, hasEdits: false, plain: [], error });
    }
  }
  return { decided, committed };
}

/** The commit with these edits, and the active values after it. */
function* proposing(
  edits: readonly ConfigEdit[],
  before: RepositoryState,
  committed: CommittedState,
  {
    entry,
    rules,
    isRecorded,
    head,
  }: { entry: CommitHead; rules: Rules; isRecorded(path: ConfigPath): boolean; head: string | undefined },
): Generator<void, Proposed & { readonly state: RepositoryState }> {
  const began = performance.now();
  const target = applyConfigEdits(committed.target, edits);
  if (performance.now() - began > longCopy) yield;
  const { health, changes: differences } = yield* checkingOutcome(edits, target, before, committed, rules);
  const changes = [...differences, ...unchangedAt(edits.filter(isRecorded), before, differences)];
  const isRevision = before.stored === undefined || changes.length > 0;
  const revision = isRevision ? before.revision + 1 : before.revision;
  const place = { repo: before.id, lineage: committed.lineage, revision, ...(head !== undefined && { head }) };
  const document = documentCommit(place, edits, changes);
  const applied = applyCommit(committed, entry, document, { target });
  const state = { ...before, health, revision, stored: activeAfter(before.stored, committed, applied, rules.scopes) };
  return { entry: { ...entry, documents: [document] }, applied, state };
}

/** How the active values differ once the file has `target`, which includes the edits, and the problems then. */
function* checkingOutcome(
  edits: readonly ConfigEdit[],
  target: Config,
  before: RepositoryState,
  committed: CommittedState,
  rules: Rules,
): Generator<void, Pick<Interpretation, "health"> & { readonly changes: readonly StoredDifference[] }> {
  // Without the edits it was active as a whole, so only they are checked. Notes of its formats are found again.
  const hasNotes = before.health.some(({ code }) => code === 1115);
  if (before.stored === committed.target && areServed(edits, target, rules) && !hasNotes)
    return { health: [], changes: differencesAt(edits, before.stored, target) };
  // Set values were checked when they were decided, and setting a value through the daemon also trusts it.
  const set = new Set(edits.map(({ scope, field }) => joinConfigPath(scope, field)));
  const isChecked = ({ scope, field }: ConfigPath, value: JsonValue) =>
    configValue(before.stored ?? {}, scope, field) === value || set.has(joinConfigPath(scope, field));
  // Problems get their places once the new text exists. A check that took too many steps at a refresh gets no spare steps now.
  const checks = { isChecked, spare: new SpareSteps(0) };
  const { stored, health } = yield* interpretingConfig(target, before.stored, rules, checks);
  return { health, changes: yield* diffingConfigs(before.stored ?? {}, stored) };
}

/** Whether a configuration that was active as a whole stays so with these edits, each valid for its field, and nothing is to be noted. */
function areServed(edits: readonly ConfigEdit[], edited: Config, { scopes, isLayer }: Rules): boolean {
  const isPlain = ({ scope, field, value }: ConfigEdit) => {
    const known = scopes.field(scope, field);
    return known !== undefined && (value === undefined || known.misfit(value) === undefined);
  };
  if (!edits.every(isPlain)) return false;
  return isLayer === true || scopes.brokenReferences((scope, field) => configValue(edited, scope, field)).length === 0;
}

/** Fields that keep their value in a revision that lists them all the same. */
function unchangedAt(
  edits: readonly ConfigEdit[],
  { stored = {} }: RepositoryState,
  differences: readonly StoredDifference[],
): StoredDifference[] {
  return edits.flatMap(({ scope, field, value }) => {
    const before = configValue(stored, scope, field);
    const isUnchanged = before !== undefined && value !== undefined && sameJson(before, value);
    const isListed = differences.some(one => one.scope === scope && one.field === field);
    return isUnchanged && !isListed ? [{ scope, field, before, after: before }] : [];
  });
}

function isNeeded(config: Config, { scope, field, value }: ConfigEdit): boolean {
  return !sameJson(configValue(config, scope, field), value);
}

/** Whether a set requests the inactive value that the file has. */
function isAwaited({ stored = {} }: RepositoryState, { scope, field, value }: ConfigEdit): boolean {
  return !sameJson(configValue(stored, scope, field), value);
}
