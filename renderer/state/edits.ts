import { type Config, configValue } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { itemNamesOf } from "../../shared/item-names.ts";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import { masksAfter } from "./edit-masks.ts";
import { mergeParts } from "./merge-drafts.ts";
import { notify } from "./notices.ts";
import {
  type Author,
  editKey,
  findField,
  findRepository,
  orDefault,
  type PendingEdit,
  type ScreenState,
  screenStore,
} from "./store.ts";

/** An entry of a field that has another name now. */
export interface RenamedEntry {
  readonly from: string;
  readonly to: string;
}

/** The value that the person wants a field to have; undefined: its default. */
export interface WantedValue {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
  readonly value: JsonValue | undefined;
}

export function edit(repo: string, scope: string, field: string, value: JsonValue | undefined): void {
  editAll([{ repo, scope, field, value }]);
}

/** Edits a field in which the person has renamed an entry, and the fields of its scope that name this entry. */
export function editRenamed(wanted: WantedValue, { from, to }: RenamedEntry): void {
  const { repo, scope } = wanted;
  const state = screenStore.getState();
  const properties = state.scopes.find(one => one.scope === scope)?.schema.properties ?? {};
  const naming = Object.entries(properties).flatMap(([field, { "x-keyOf": target, default: byDefault }]) => {
    if (target !== wanted.field) return [];
    const pending = state.pending.get(editKey(repo, scope, field));
    const effective = configValue(state.opened.get(repo)?.effective ?? {}, scope, field);
    return orDefault(pending === undefined ? effective : pending.value, byDefault) === from ? [field] : [];
  });
  editAll([wanted, ...naming.map(field => ({ repo, scope, field, value: to }))]);
  if (naming.length === 0) return;
  const paths = new Intl.ListFormat("en").format(naming.map(field => joinConfigPath(scope, field)));
  notify("done", `${paths} named ${from}, and ${naming.length === 1 ? "names" : "name"} ${to} now.`, "renamed");
}

/**
 * Edits fields to these values or to their defaults. A value that equals the stored one is not an edit, nor is the default where
 * nothing is stored: toggling a switch twice leaves no edit. The repositories have to be open.
 */
export function editAll(wanted: readonly WantedValue[]): void {
  const action = Symbol("begun");
  screenStore.setState(state => {
    const pending = new Map(state.pending);
    for (const { repo, scope, field, value } of wanted) {
      // A control commits its text when it loses the focus, perhaps because its repository has been removed.
      if (findRepository(state, repo) === undefined) continue;
      const key = editKey(repo, scope, field);
      const before = pending.get(key);
      const stored = configValue(state.opened.get(repo)?.stored ?? {}, scope, field);
      const isDefault = stored === undefined && sameJson(value, findField(state.scopes, scope, field)?.default);
      if ((sameJson(value, stored) || isDefault) && before?.conflict === undefined) {
        pending.delete(key);
      } else {
        const base = before === undefined ? stored : before.base;
        const schema = findField(state.scopes, scope, field);
        const masks = masksAfter(before, schema ?? { "x-masked": true });
        const isMerged = itemNamesOf(schema) !== undefined;
        const { layers } = state.opened.get(repo) ?? {};
        // Of a list that is merged by the names of its items, each item stays where it is.
        const isLocal = !isMerged && configValue(layers?.local ?? {}, scope, field) !== undefined;
        const layer = before === undefined ? isLocal && ({ layer: "local" } as const) : { layer: before.layer };
        const conflict = before?.conflict === undefined ? {} : { conflict: before.conflict };
        const merged = before?.mergedWith === undefined ? {} : { mergedWith: before.mergedWith };
        const sent = before?.sent === undefined ? {} : { sent: before.sent };
        const begun = before === undefined ? action : before.begun;
        const kept = { ...conflict, ...merged, ...sent, ...(begun !== undefined && { begun }) };
        pending.set(key, { repo, scope, field, value, base, masks, ...layer, ...kept });
      }
    }
    return { pending };
  });
}

export function dropEdit(...keys: readonly string[]): void {
  screenStore.setState(state => {
    const pending = new Map(state.pending);
    for (const key of keys) pending.delete(key);
    return { pending };
  });
}

/** Discards all edits. They can be restored unless the same fields are edited again. */
export function discardAllEdits(): void {
  const { pending: discarded } = screenStore.getState();
  screenStore.setState({ pending: new Map() });
  const what = discarded.size === 1 ? "1 edit was" : `${discarded.size} edits were`;
  notify("done", `${what} discarded.`, "discarded edits", {
    action: { text: "Bring back", run: () => addEdits(discarded) },
  });
}

/** Takes back the edits that one action began last, unless a save is under way; undefined: there are none. */
export function takeBackLast(): { readonly edits: readonly PendingEdit[]; bringBack(): void } | undefined {
  const { pending, saving } = screenStore.getState();
  // One that was refused is older than the save that refused it.
  const open = [...pending].filter(([, { refusal }]) => refusal === undefined);
  const last = open.at(-1)?.[1];
  if (last === undefined || saving !== undefined) return undefined;
  const edits = new Map(
    open.filter(([, one]) => one === last || (last.begun !== undefined && one.begun === last.begun)),
  );
  dropEdit(...edits.keys());
  return { edits: [...edits.values()], bringBack: () => addEdits(edits) };
}

/** Those of the same fields that the person has made since stay. */
function addEdits(edits: ScreenState["pending"]): void {
  screenStore.setState(state => ({ pending: withNewConflicts(new Map([...edits, ...state.pending]), state.opened) }));
}

/** A value stored meanwhile makes a conflict. */
function withNewConflicts(pending: ScreenState["pending"], opened: ScreenState["opened"]): ScreenState["pending"] {
  let result = pending;
  for (const [repo, { stored }] of opened) result = withConflicts(result, repo, stored);
  return result;
}

/** Resolves a conflict in favour of the person's own value; the other value becomes the base. */
export function keepMine(key: string): void {
  screenStore.setState(state => {
    const before = state.pending.get(key);
    if (before?.conflict === undefined) return {};
    const { conflict, refusal: _, ...rest } = before;
    return { pending: new Map(state.pending).set(key, { ...rest, base: conflict.stored }) };
  });
}

/** A field's edited value, or the stored one if there is no edit. */
export function wantedValue(
  state: ScreenState,
  repo: string,
  scope: string,
  field: string,
): { readonly stored: JsonValue | undefined; readonly edit: PendingEdit | undefined } {
  const pending = state.pending.get(editKey(repo, scope, field));
  if (pending !== undefined) return { stored: pending.value, edit: pending };
  return { stored: configValue(state.opened.get(repo)?.stored ?? {}, scope, field), edit: undefined };
}

/**
 * Updates edits after the stored values of a repository changed elsewhere. An edit of the same field is merged with the change if
 * the two do not overlap; otherwise it is in conflict.
 */
export function withConflicts(
  pending: ScreenState["pending"],
  repo: string,
  stored: Config,
  by: Author = { actor: "another" },
): ScreenState["pending"] {
  let result: Map<string, PendingEdit> | undefined;
  for (const [key, one] of pending) {
    if (one.repo !== repo) continue;
    const now = configValue(stored, one.scope, one.field);
    if (sameJson(now, one.conflict === undefined ? one.base : one.conflict.stored)) continue;
    result ??= new Map(pending);
    const { conflict: _, ...rest } = one;
    const merged = merge(one, now);
    if (one.sent !== undefined && sameJson(now, one.sent) && !sameJson(now, one.value))
      result.set(key, { ...rest, base: now });
    else if (sameJson(now, one.value) || (merged !== undefined && sameJson(now, merged))) result.delete(key);
    else if (sameJson(now, one.base)) result.set(key, rest);
    else if (merged === undefined) result.set(key, { ...rest, conflict: { stored: now, by } });
    // If the edit already contains the change, there is nothing to report.
    else if (sameJson(merged, one.value)) result.set(key, { ...rest, base: now });
    else result.set(key, { ...rest, base: now, value: merged, mergedWith: by });
  }
  return result ?? pending;
}

/**
 * After the stored values of repositories were read: tells what became of a save whose answer did not come. `before`: the edits before
 * these values were taken.
 */
export function tellOutcome(before: ScreenState["pending"], isRead: (repo: string) => boolean): void {
  const { pending, saving } = screenStore.getState();
  if (saving !== undefined) return;
  const sent = [...before].filter(([, one]) => one.sent !== undefined && isRead(one.repo));
  if (sent.length === 0) return;
  const unsaved = sent.filter(([key, one]) => pending.has(key) && !sameJson(pending.get(key)?.base, one.sent));
  screenStore.setState({
    pending: new Map(Array.from(pending, ([key, one]) => [key, isRead(one.repo) ? withoutSent(one) : one])),
  });
  const count = sent.length === 1 ? "The edit was" : `All ${sent.length} edits were`;
  if (unsaved.length === 0) notify("done", `${count} saved, although the daemon's answer did not come.`, "save");
  else notify("problem", "The save did not take effect. The edits are still here: save them again.", "save");
}

export function withoutSent({ sent: _, ...edit }: PendingEdit): PendingEdit {
  return edit;
}

/** Merges both changes; undefined if they overlap. */
function merge({ scope, field, base, value }: PendingEdit, now: JsonValue | undefined): JsonValue | undefined {
  return mergeParts(base, now, value, findField(screenStore.getState().scopes, scope, field)?.default);
}
