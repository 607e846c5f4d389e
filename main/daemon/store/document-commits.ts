import { applyConfigEdits, type Config, type ConfigEdit } from "../../../shared/config.ts";
import { diffConfigs, type StoredDifference } from "../../../shared/config-diff.ts";
import { sameJson } from "../../../shared/json.ts";
import type { Commit, DocumentCommit } from "./log/commit-log.ts";
import type { RecordedChange } from "./store.ts";

/** A document's part of a commit; what changes in what is served is told only where it is something else than the edits. */
export function documentCommit(
  place: Pick<DocumentCommit, "repo" | "lineage" | "begins" | "name" | "remote" | "revision">,
  edits: readonly ConfigEdit[],
  changes: readonly StoredDifference[],
): DocumentCommit {
  const served = editsOf(changes);
  return { ...place, edits, ...(!sameEdits(edits, served) && { served }) };
}

/** What changes in what is served. */
export function servedOf({ edits, served }: DocumentCommit): readonly ConfigEdit[] {
  return served ?? edits;
}

/** As a commit whose edits are made to these values: of one that has all there are, the others go. */
export function overValues(document: DocumentCommit, config: Config): DocumentCommit {
  if (!document.isWhole) return document;
  const { isWhole: _, ...rest } = document;
  return { ...rest, edits: editsOf(diffConfigs(config, applyConfigEdits({}, document.edits))) };
}

/** The values after differences, as edits. */
export function editsOf(changes: readonly StoredDifference[]): ConfigEdit[] {
  return changes.map(({ scope, field, after }) => ({ scope, field, value: after }));
}

function sameEdits(one: readonly ConfigEdit[], other: readonly ConfigEdit[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ scope, field, value }, index) => {
      const counterpart = other[index];
      return scope === counterpart?.scope && field === counterpart.field && sameJson(value, counterpart.value);
    })
  );
}

/** What a commit says of when, by whom, why and on which machine. */
export function whoOf(change: RecordedChange): Omit<Commit, "kind" | "documents"> {
  const { time, actor, source, machine } = change;
  return { time, actor, source, ...whyOf(change), ...(machine !== undefined && { machine }) };
}

/** Why something was changed, and the batch that it is a part of. */
export function whyOf({ reason, batch }: Pick<Commit, "reason" | "batch">): Pick<Commit, "reason" | "batch"> {
  return { ...(reason !== undefined && { reason }), ...(batch !== undefined && { batch }) };
}
