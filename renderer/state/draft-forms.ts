import { joinConfigPath, splitConfigPath } from "../../shared/config-path.ts";
import type { Draft, DraftName, FieldDraft, TextDraft } from "../../shared/protocol.ts";
import type { ScreenState } from "./store.ts";

/* Converts between edits in the store and the daemon's drafts. */

/** All edits of this window, by `keyOf`. */
export function draftsOf({ pending, drafts }: Pick<ScreenState, "pending" | "drafts">): ReadonlyMap<string, Draft> {
  const all = new Map<string, Draft>();
  for (const [key, { repo, scope, field, value, base, layer, masks }] of pending)
    all.set(key, {
      repo,
      field: joinConfigPath(scope, field),
      ...(value !== undefined && { value }),
      ...(base !== undefined && { base }),
      ...(layer !== undefined && { layer }),
      ...(masks !== undefined && { masks }),
    });
  for (const [repo, { file, text }] of drafts) all.set(keyOf({ repo }), { repo, text, base: file.text });
  return all;
}

/** Adds these drafts of fields and removes those. */
export function withFields(
  before: ScreenState["pending"],
  drafts: readonly Draft[],
  removed: readonly DraftName[],
): ScreenState["pending"] {
  const pending = new Map(before);
  for (const name of removed) pending.delete(keyOf(name));
  for (const draft of drafts) {
    if (!isOfField(draft)) continue;
    const path = splitConfigPath(draft.field);
    if (path === undefined) continue;
    const { repo, value, base, masks, layer } = draft;
    // What a save of this window has sent arrives also if another window goes on editing.
    const { sent } = pending.get(keyOf(draft)) ?? {};
    pending.set(keyOf(draft), {
      ...{ repo, ...path, value, base, masks },
      ...(layer !== undefined && { layer }),
      ...(sent !== undefined && { sent }),
    });
  }
  return pending;
}

/** Adds these drafts of texts and removes those. */
export function withTexts(
  before: ScreenState["drafts"],
  drafts: readonly Draft[],
  removed: readonly DraftName[],
): ScreenState["drafts"] {
  const texts = new Map(before);
  for (const { repo, field } of removed) if (field === undefined) texts.delete(repo);
  for (const draft of drafts) {
    if (isOfField(draft)) continue;
    // The file's path is loaded when the file is shown.
    const file = before.get(draft.repo)?.file.file ?? "";
    texts.set(draft.repo, { file: { file, text: draft.base }, text: draft.text });
  }
  return texts;
}

/** The size in a message, including the comma. */
export function bytesOf(item: Draft | DraftName): number {
  return new TextEncoder().encode(JSON.stringify(item)).length + 1;
}

function isOfField(draft: Draft): draft is FieldDraft {
  return !isOfText(draft);
}

function isOfText(draft: Draft | DraftName): draft is TextDraft {
  return "text" in draft;
}

export function nameOf(draft: Draft): DraftName {
  return isOfField(draft) ? { repo: draft.repo, field: draft.field } : { repo: draft.repo };
}

/** The same key that `editKey` makes. */
export function keyOf(name: Draft | DraftName): string {
  return `${name.repo} ${isOfText(name) ? "" : (name.field ?? "")}`;
}
