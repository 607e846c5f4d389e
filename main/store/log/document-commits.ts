import { applyConfigEdits, type Config, type ConfigEdit } from "../../../shared/config.ts";
import { diffConfigs, editsOf, type StoredDifference } from "../../../shared/config-diff.ts";
import { sameJson } from "../../../shared/json.ts";
import type { Attribution, DocumentCommit } from "../types.ts";

/** A document's part of a commit. The changes of active values are included only if they differ from the edits. */
export function documentCommit(
  place: Omit<DocumentCommit, "edits" | "activeEdits">,
  edits: readonly ConfigEdit[],
  changes: readonly StoredDifference[],
): DocumentCommit {
  const activeEdits = editsOf(changes);
  return { ...place, edits, ...(!sameEdits(edits, activeEdits) && { activeEdits }) };
}

/** The changes of active values. */
export function activeEditsOf({ edits, activeEdits = edits }: DocumentCommit): readonly ConfigEdit[] {
  return activeEdits;
}

/** The commit as edits of these values; one that contains all values (`isWhole`) also removes the others. */
export function expandSnapshot(document: DocumentCommit, config: Config): DocumentCommit {
  if (!document.isWhole) return document;
  const { isWhole: _, edits, activeEdits, ...rest } = document;
  const expanded = (all: readonly ConfigEdit[]) => editsOf(diffConfigs(config, applyConfigEdits({}, all)));
  return { ...rest, edits: expanded(edits), ...(activeEdits && { activeEdits: expanded(activeEdits) }) };
}

function sameEdits(one: readonly ConfigEdit[], other: readonly ConfigEdit[]): boolean {
  const isSame = ({ scope, field, value }: ConfigEdit, edit: ConfigEdit | undefined) =>
    edit?.scope === scope && edit.field === field && sameJson(edit.value, value);
  return one.length === other.length && one.every((edit, index) => isSame(edit, other[index]));
}

/** The time, author, reason and machine of a commit. */
export function whoOf(change: Attribution): Attribution {
  const { time, actor, source, machine } = change;
  return { time, actor, source, ...whyOf(change), ...(machine !== undefined && { machine }) };
}

/** The reason of a change, and the batch that it belongs to. */
export function whyOf({ reason, batch }: Pick<Attribution, "reason" | "batch">): Pick<Attribution, "reason" | "batch"> {
  return { ...(reason !== undefined && { reason }), ...(batch !== undefined && { batch }) };
}
