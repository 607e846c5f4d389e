import type { ChangeOptions } from "../../shared/client/client.ts";
import { configValue } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { ErrorEntry } from "../../shared/errors.ts";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import type { ChangedRepository, Reply } from "../../shared/protocol.ts";
import { daemon, openRepository } from "./connection.ts";
import { withoutSent } from "./edits.ts";
import { isOutcomeUnknown, messageOf, notify } from "./notices.ts";
import { inConflict, listed, type Outcome, tellConflict, tellSaved, tellUnsaved } from "./save-notice.ts";
import { editKey, type PendingEdit, screenStore } from "./store.ts";
import { newBatch, rememberSaved } from "./undo.ts";
import { unreadMessage, unreadPlaces } from "./unread-text.ts";

/** How often a save is retried if the repository changed in the meantime. */
const maxTries = 3;

/**
 * Saves all edits as one batch with one set per repository. Each set is applied as a whole or not at all, and only on the
 * revision that the person has seen. A rejected edit is kept with the reason beside it. One undo reverts everything that was
 * saved.
 */
export async function saveEdits(reason: string): Promise<boolean> {
  const { pending, saving } = screenStore.getState();
  if (saving || pending.size === 0) return false;
  if ([...pending.values()].some(({ conflict }) => conflict !== undefined)) {
    tellConflict();
    return false;
  }
  const groups = [...Map.groupBy(pending.values(), ({ repo }) => repo)];
  const isCancelled = () => screenStore.getState().saving?.isCancelled === true;
  const progress = (done: number) =>
    screenStore.setState({ saving: { done, total: groups.length, isCancelled: false } });
  const outcomes: Outcome[] = [];
  const batch = newBatch();
  try {
    for (const [repo, edits] of groups) {
      if (isCancelled()) break;
      progress(outcomes.length);
      outcomes.push(await saveRepository(repo, edits, { batch, ...(reason !== "" && { reason }) }));
    }
  } finally {
    screenStore.setState({ saving: undefined });
  }
  const step = { saved: outcomes.flatMap(outcome => ("saved" in outcome ? [outcome.saved] : [])) };
  rememberSaved(step);
  const left = groups.slice(outcomes.length).reduce((sum, [, edits]) => sum + edits.length, 0);
  if (step.saved.length < outcomes.length) tellUnsaved(outcomes);
  else tellSaved(step, left);
  return step.saved.length === groups.length;
}

/** Sends nothing more of the save that is under way; what was sent is saved. */
export function cancelSaving(): void {
  screenStore.setState(({ saving }) => ({ saving: saving && { ...saving, isCancelled: true } }));
}

async function saveRepository(
  repo: string,
  given: readonly PendingEdit[],
  how: Pick<ChangeOptions, "batch" | "reason">,
): Promise<Outcome> {
  try {
    for (let tries = 1; ; tries += 1) {
      const { pending, opened } = screenStore.getState();
      // An edit may have been merged with changes of others meanwhile, or be in conflict with them.
      const edits = given.map(one => pending.get(editKey(one.repo, one.scope, one.field)) ?? one);
      if (edits.some(({ conflict }) => conflict !== undefined)) return { repo, problem: inConflict };
      const unread = edits.filter(({ value }) => unreadPlaces(value).length > 0);
      if (unread.length > 0) return { repo, problem: refuse(repo, unread.map(unreadError)) };
      const revision = opened.get(repo)?.revision ?? 0;
      markSent(edits);
      const reply = await saveOn(repo, revision, edits, how);
      if (reply.errors.length === 0) {
        const { revision: saved = revision, batch } = reply.result[0] ?? {};
        await dropSaved(edits, saved);
        notifyMerged(edits.filter((one, index) => one.mergedWith !== given[index]?.mergedWith));
        const fields = edits.map(({ scope, field }) => joinConfigPath(scope, field));
        return { repo, saved: { repo, revision: saved, fields, ...(batch !== undefined && { batch }) } };
      }
      // Other fields may have changed; if one of these did, its edit is in conflict now and waits for the person.
      const isConflict = reply.errors.some(({ code }) => code === 1104);
      if (!isConflict) return { repo, problem: refuse(repo, reply.errors) };
      await openRepository(repo, true);
      if (tries >= maxTries) return { repo, problem: inConflict };
    }
  } catch (error) {
    const isUnknown = isOutcomeUnknown(error);
    const problem = isUnknown
      ? "The daemon has not answered, so it is not known whether this was saved; you are told once it answers."
      : messageOf(error);
    return { repo, problem, isUnknown };
  }
}

/** As one set; only edits of local values that have been taken out since take one of their own, in which they become local ones again. */
async function saveOn(
  repo: string,
  revision: number,
  edits: readonly PendingEdit[],
  how: Pick<ChangeOptions, "batch" | "reason">,
): Promise<Reply<readonly ChangedRepository[]>> {
  const local = edits.filter(({ layer }) => layer === "local");
  const { layers } =
    local.length === 0 ? {} : await daemon().request("config/list", { repo, stored: true, layers: true });
  const isOut = (one: PendingEdit) =>
    local.includes(one) && configValue(layers?.local ?? {}, one.scope, one.field) === undefined;
  const send = (part: readonly PendingEdit[], at: number, layer?: "local") => {
    const { values, unset } = setArguments(part);
    const options = { repo, revision: at, atomic: true, ...(unset.length > 0 && { unset }), ...(layer && { layer }) };
    return daemon().request("config/set", { ...values, ...options, ...how });
  };
  const [out, others] = [edits.filter(isOut), edits.filter(one => !isOut(one))];
  if (out.length === 0) return send(others, revision);
  const saved = await send(out, revision, "local");
  if (saved.errors.length > 0 || others.length === 0) return saved;
  return send(others, saved.result[0]?.revision ?? revision);
}

function setArguments(edits: readonly PendingEdit[]) {
  const values: { [path: string]: JsonValue } = {};
  const unset: string[] = [];
  for (const { scope, field, value } of edits) {
    if (value === undefined) unset.push(joinConfigPath(scope, field));
    else values[joinConfigPath(scope, field)] = value;
  }
  return { values, unset };
}

/** Saving removes the edit and with it the note at the field. */
function notifyMerged(edits: readonly PendingEdit[]): void {
  const fields = edits.map(({ scope, field }) => joinConfigPath(scope, field));
  if (fields.length === 0) return;
  notify("done", `${listed(fields)}: changed elsewhere in the meantime; both changes were saved.`);
}

/** What arrives from the daemon before its reply is this window's own save. */
function markSent(edits: readonly PendingEdit[]): void {
  screenStore.setState(state => {
    const pending = new Map(state.pending);
    for (const { repo, scope, field, value } of edits) {
      const key = editKey(repo, scope, field);
      const now = pending.get(key);
      if (now !== undefined && value !== undefined) pending.set(key, { ...now, sent: value });
    }
    return { pending };
  });
}

async function dropSaved(edits: readonly PendingEdit[], revision: number): Promise<void> {
  const [first] = edits;
  screenStore.setState(state => {
    const pending = new Map(state.pending);
    for (const { repo, scope, field, value } of edits) {
      const key = editKey(repo, scope, field);
      const now = pending.get(key);
      // A field that was edited again during the save keeps its newer edit, of what was saved.
      if (sameJson(now?.value, value)) pending.delete(key);
      else if (now !== undefined) pending.set(key, { ...withoutSent(now), base: value });
    }
    return { pending };
  });
  if (first !== undefined && (screenStore.getState().opened.get(first.repo)?.revision ?? 0) < revision)
    await openRepository(first.repo, true);
}

function unreadError({ scope, field }: PendingEdit): Rejection {
  const path = joinConfigPath(scope, field);
  return { field: path, message: `${path}: ${unreadMessage}` };
}

type Rejection = Pick<ErrorEntry, "field" | "message">;

/** Stores each rejection at its field. Returns a short summary. */
function refuse(repo: string, errors: readonly Rejection[]): string {
  screenStore.setState(state => {
    const pending = new Map(state.pending);
    for (const [key, one] of pending) {
      if (one.repo !== repo) continue;
      const error = errors.find(({ field }) => field === joinConfigPath(one.scope, one.field));
      pending.set(key, { ...withoutSent(one), ...(error && { refusal: error.message }) });
    }
    return { pending };
  });
  const [first] = errors;
  const more = errors.length > 1 ? ` And ${errors.length - 1} more.` : "";
  return `${first?.message ?? "The daemon gave no reason."}${more}`;
}
