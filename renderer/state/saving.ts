import type { ChangeOptions } from "../../shared/client/client.ts";
import { configValue } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { type ErrorEntry, RepoconfError } from "../../shared/errors.ts";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import type { ChangedRepository, Reply } from "../../shared/protocol.ts";
import { daemon, openRepository } from "./connection.ts";
import { withoutSent } from "./edits.ts";
import { messageOf, notify } from "./notices.ts";
import { editKey, nameOfRepository, type PendingEdit, type SavedChange, screenStore } from "./store.ts";
import { newBatch, rememberSaved, stepTime } from "./undo.ts";
import { unreadMessage, unreadPlaces } from "./unread-text.ts";

/** How often a save is retried if the repository changed in the meantime. */
const maxTries = 3;

/** The result for one repository's edits: saved, or the reason why not. */
type Outcome =
  | { readonly repo: string; readonly saved: SavedChange }
  | { readonly repo: string; readonly problem: string; readonly isUnknown?: boolean };

/**
 * Saves all edits as one batch with one set per repository. Each set is applied as a whole or not at all, and only on the
 * revision that the person has seen. A rejected edit is kept with the reason beside it. One undo reverts everything that was
 * saved.
 */
export async function saveEdits(reason: string): Promise<boolean> {
  const { pending, saving } = screenStore.getState();
  if (saving || pending.size === 0) return false;
  if ([...pending.values()].some(({ conflict }) => conflict !== undefined)) {
    notify("problem", inConflict, "save");
    return false;
  }
  screenStore.setState({ saving: true });
  const outcomes: Outcome[] = [];
  const since = stepTime();
  const batch = newBatch();
  try {
    for (const [repo, edits] of Map.groupBy(pending.values(), ({ repo }) => repo))
      outcomes.push(await saveRepository(repo, edits, { batch, ...(reason !== "" && { reason }) }));
  } finally {
    screenStore.setState({ saving: false });
  }
  const saved = outcomes.flatMap(outcome => ("saved" in outcome ? [outcome.saved] : []));
  rememberSaved({ since, saved });
  if (saved.length === outcomes.length) {
    const count = saved.reduce((sum, { fields }) => sum + fields.length, 0);
    notify("done", `Saved ${count === 1 ? "1 field" : `${count} fields`} in ${places(saved)}.`, "save");
    return true;
  }
  notify("problem", describeUnsaved(outcomes), "save");
  return false;
}

const inConflict = "Some fields were changed elsewhere in the meantime. Choose which values to keep, then save again.";

/** Names repositories only if there are several. */
function describeUnsaved(outcomes: readonly Outcome[]): string {
  const nameOf = (repo: string) => nameOfRepository(screenStore.getState(), repo);
  const saved = outcomes.filter(outcome => "saved" in outcome).map(({ repo }) => nameOf(repo));
  const unsaved = outcomes.flatMap(outcome => ("problem" in outcome ? [outcome] : []));
  const [first] = unsaved;
  if (outcomes.length === 1) return first?.isUnknown ? first.problem : `Nothing was saved. ${first?.problem}`;
  const isNothing = saved.length === 0 && !unsaved.some(({ isUnknown }) => isUnknown);
  const begin = isNothing ? ["Nothing was saved."] : saved.length > 0 ? [`Saved in ${listed(saved)}.`] : [];
  const told = unsaved.map(
    ({ repo, problem, isUnknown }) => `${isUnknown ? "Not known" : "Not saved"} in ${nameOf(repo)}: ${problem}`,
  );
  return [...begin, ...told].join(" ");
}

function places(saved: readonly SavedChange[]): string {
  const [first, ...more] = saved;
  if (more.length > 2) return `${saved.length} repositories`;
  return listed([first, ...more].map(one => nameOfRepository(screenStore.getState(), one?.repo ?? "")));
}

function listed(names: readonly string[]): string {
  return new Intl.ListFormat("en").format(names);
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
    const isUnknown = error instanceof RepoconfError && error.details?.["isUnknown"] === true;
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
