import { type Config, type ConfigEdit, configValue } from "../../../shared/config.ts";
import { diffConfigs, editsOf, type StoredDifference } from "../../../shared/config-diff.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { sameJson } from "../../../shared/json.ts";
import { timeText } from "../../time/clock.ts";
import type { AppliedCommit } from "../apply-commit.ts";
import type { StoreContext } from "../context.ts";
import { applyChanges } from "../history/record.ts";
import type { Commit } from "../log/commit-log.ts";
import { documentCommit } from "../log/document-commits.ts";
import type { Actor, Attribution, CommittedState, DocumentCommit } from "../types.ts";

/** A commit of this repository alone. */
export type OwnCommit = Commit & { readonly documents: readonly [DocumentCommit] };

/** What a commit tells of its repository. See `RepositoryContext`. */
interface EditedRepository {
  readonly id: string;
  readonly committed: CommittedState;
  readonly current: { readonly revision: number };
  readonly given: { readonly addedBy: Actor | undefined };
  readonly introduction: Pick<DocumentCommit, "name" | "remote"> | undefined;
  readonly store: Pick<StoreContext, "clock" | "log">;
}

/** The commit of an edit by hand, or of the first values of a repository. Without `changes` of active values it is no revision. */
export function editCommit(
  context: EditedRepository,
  source: "file" | "merge",
  isFirst: boolean,
  edits: readonly ConfigEdit[],
  changes?: readonly StoredDifference[],
): OwnCommit {
  const { id, committed, current, given, introduction } = context;
  const begins = isFirst ? ({ begins: true, ...introduction } as const) : {};
  const revision = changes === undefined ? current.revision : current.revision + 1;
  const document = documentCommit({ repo: id, lineage: committed.lineage, revision, ...begins }, edits, changes ?? []);
  if (isFirst && given.addedBy !== undefined)
    return ownCommit(context, { actor: given.addedBy, source: "set" }, document);
  return ownCommit(context, { actor: { kind: "file" }, source }, document);
}

/**
 * A commit with all values: a recovery, which follows lost revisions or records and lists no changes, or a beginning that follows an
 * earlier history. `config`: what the file has.
 */
export function wholeCommit(
  context: EditedRepository,
  source: "recovery" | "file" | "merge",
  config: Config,
  target: Config,
  changes: readonly StoredDifference[],
): OwnCommit {
  const { id, committed, current, introduction } = context;
  const removed = diffConfigs(config, target).filter(({ after }) => after === undefined);
  const begins = source === "recovery" ? {} : ({ begins: true, ...introduction } as const);
  const [lineage, revision] = [committed.lineage, current.revision + 1];
  const place = { repo: id, lineage, revision, isWhole: true, ...begins } as const;
  const edits = editsOf([...diffConfigs({}, target), ...removed]);
  const values = diffConfigs({}, applyChanges(committed.valid, changes));
  return ownCommit(context, { actor: { kind: "file" }, source }, documentCommit(place, edits, values));
}

function ownCommit(
  { store }: EditedRepository,
  who: Pick<Attribution, "actor" | "source">,
  document: DocumentCommit,
): OwnCommit {
  return { kind: "commit", time: timeText(store.clock), ...who, ...store.log.signature, documents: [document] };
}

/** With what a file with these values lacks of a recovery. */
export function lackingIn(config: Config, { state, record, edits }: AppliedCommit): AppliedCommit {
  if (record?.recovered === undefined) return { state, record, edits };
  const recovered = { ...record.recovered, lacking: diffConfigs(config, state.target) };
  return { state, record: { ...record, recovered }, edits };
}

/** The changed active fields that the file has and that are not `edited`. The log needs them: a power loss may revert the file. */
export function activatedEdits(
  changes: readonly StoredDifference[],
  edited: readonly ConfigPath[],
  values: Config,
): ConfigEdit[] {
  // A file may have very many fields that no scope knows.
  if (changes.length === 0) return [];
  const known = new Set(edited.map(({ scope, field }) => joinConfigPath(scope, field)));
  return editsOf(changes).filter(
    ({ scope, field, value }) =>
      !known.has(joinConfigPath(scope, field)) && sameJson(configValue(values, scope, field), value),
  );
}
