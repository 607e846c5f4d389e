import { applyConfigEdits, type Config, type ConfigEdit, configValue, filterConfig } from "../../shared/config.ts";
import { sameConfig } from "../../shared/config-diff.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { Scopes } from "../scopes/scopes.ts";
import { applyChanges, type ChangeRecord } from "./history/record.ts";
import type { Commit, Committed } from "./log/commit-log.ts";
import { activeEditsOf, expandSnapshot } from "./log/document-commits.ts";
import type { CommittedState, DocumentCommit, Position } from "./types.ts";

export interface AppliedCommit {
  readonly state: CommittedState;
  /** The revision; undefined if no active value changed, only the values that the file is to have. */
  readonly record: ChangeRecord | undefined;
  /** The changes for the file. */
  readonly edits: readonly ConfigEdit[];
}

/** A commit, and what it makes of the state. */
export interface NewCommit {
  /** Undefined for an edit by hand that is in no log, because it changes no active value. */
  readonly committed: Committed<Commit> | undefined;
  readonly applied: AppliedCommit;
}

/** A commit; its documents play no part, for each is applied to its own repository. */
export type CommitHead = Omit<Commit, "documents"> & Partial<Pick<Commit, "documents">>;

/**
 * The state after a commit: a set, an edit by hand, another machine's, or one that a start replays. Pure. The caller makes sure that the
 * commit follows the state. `position`: the commit's, once it is in the log. `target`: the values with its edits, if the caller has them.
 */
export function applyCommit(
  before: CommittedState,
  entry: CommitHead,
  appended: DocumentCommit,
  { position, target: edited }: { readonly position?: Position; readonly target?: Config } = {},
): AppliedCommit {
  // The edits of a recovery contain all values.
  const isRecovery = entry.source === "recovery";
  const document = isRecovery ? appended : expandSnapshot(appended, before.valid);
  const { revision, edits } = document;
  if (isRecovery && revision > before.revision) {
    const values = {
      target: applyConfigEdits({}, edits),
      valid: applyConfigEdits({}, activeEditsOf(document)),
    };
    const record = recordOf(entry, { ...document, edits: [], activeEdits: [] }, {}, position);
    const recovered = { values: values.valid, lacking: [] };
    const state = { lineage: document.lineage, revision, position, ...sharing(values.target, values.valid) };
    return { state, record: { ...record, recovered }, edits };
  }
  const target = edited ?? applyConfigEdits(before.target, edits);
  const lineage = document.begins ? document.lineage : before.lineage;
  if (revision <= before.revision)
    return { state: { ...before, lineage, ...sharing(target, before.valid) }, record: undefined, edits };
  const record = recordOf(entry, document, before.valid, position);
  const isWhole = before.valid === before.target && document.activeEdits === undefined;
  const values = isWhole ? { target, valid: target } : sharing(target, applyChanges(before.valid, record.changes));
  return { state: { lineage, revision, position, ...values }, record, edits };
}

/** The same commit, now that its position in the log is known. */
export function positioned({ state, record, edits }: AppliedCommit, position: Position): AppliedCommit {
  if (record === undefined) return { state, record, edits };
  return { state: { ...state, position }, record: { ...record, position }, edits };
}

/** The active ones of a state's last valid values: those of fields that there are, under any name. The same object if these are all. */
export function activeValues(valid: Config, scopes: Scopes): Config {
  const isField = (scope: string, field: string) => scopes.field(scope, field) !== undefined;
  const isKnown = ([scope, fields]: [string, Config[string]]) =>
    scopes.get(scope) !== undefined && Object.keys(fields).every(field => isField(scope, field));
  if (Object.entries(valid).every(isKnown)) return valid;
  return filterConfig(valid, (scope, field) => isField(scope, field) || scopes.newName(scope, field) !== undefined);
}

/** The same after a commit, by the rules of those before it: a set of a file that is active as a whole looks only at its own fields. */
export function activeAfter(
  active: Config | undefined,
  before: CommittedState,
  { state, record }: AppliedCommit,
  scopes: Scopes,
): Config {
  const { changes = [] } = record ?? {};
  const isWhole = active === before.valid && before.valid === before.target;
  const areFields = changes.every(({ scope, field }) => scopes.field(scope, field) !== undefined);
  return isWhole && areFields ? state.valid : activeValues(state.valid, scopes);
}

/** As one object if both are equal: then the next set need not be checked with all other values. */
export function sharing(target: Config, valid: Config): Pick<CommittedState, "target" | "valid"> {
  return { target, valid: sameConfig(valid, target) ? target : valid };
}

/** A commit as a record of the history. `valid` are the values before it. */
function recordOf(
  { kind: _, number: __, documents: ___, ...who }: CommitHead,
  document: DocumentCommit,
  valid: Config,
  position: Position | undefined,
): ChangeRecord {
  const changes = activeEditsOf(document).map(({ scope, field, value }) => {
    const before = configValue(valid, scope, field);
    return { scope, field, ...(before !== undefined && { before }), ...(value !== undefined && { after: value }) };
  });
  const { lineage, revision, edits, activeEdits = [], head } = document;
  const edited = new Set(edits.map(({ scope, field }) => joinConfigPath(scope, field)));
  const unedited = activeEdits.flatMap(({ scope, field }) =>
    edited.has(joinConfigPath(scope, field)) ? [] : { scope, field },
  );
  const place = {
    ...(lineage !== "" && { lineage }),
    ...(position !== undefined && { position }),
    ...(head && { head }),
  };
  return { kind: "change", revision, ...who, ...place, changes, ...(unedited.length > 0 && { unedited }) };
}
