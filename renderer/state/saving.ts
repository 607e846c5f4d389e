import { RequestError } from "../../shared/client/client.ts";
import { type Config, configValue } from "../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../shared/config-path.ts";
import type { ErrorEntry } from "../../shared/errors.ts";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import type { HistoryEntry } from "../../shared/protocol.ts";
import { daemon, openRepository, storedNow } from "./connection.ts";
import { notify, settled } from "./notices.ts";
import {
  editKey,
  nameOfRepository,
  type PendingEdit,
  type SavedChange,
  type ScreenState,
  screenStore,
} from "./store.ts";

/** How often a save is tried again after something else of the repository changed. */
const mostTries = 3;

/** What became of one repository's edits: saved, or why not. */
type Outcome =
  | { readonly repo: string; readonly saved: SavedChange }
  | { readonly repo: string; readonly problem: string };

/**
 * Saves all edits, one set for each repository: whole or not at all, and only on the revision that the person has seen.
 * What is refused stays an edit, with the reason beside it. What is saved is undone together.
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
  try {
    for (const [repo, edits] of Map.groupBy(pending.values(), ({ repo }) => repo))
      outcomes.push(await saveRepository(repo, edits, reason));
  } finally {
    screenStore.setState({ saving: false });
  }
  const saved = outcomes.flatMap(outcome => ("saved" in outcome ? [outcome.saved] : []));
  rememberSaved(saved);
  if (saved.length === outcomes.length) {
    settled("save");
    return true;
  }
  notify("problem", describeUnsaved(outcomes), "save");
  return false;
}

const inConflict = "Some fields changed elsewhere meanwhile. Choose which value is right, then save again.";

/** Names repositories only where there are several. */
function describeUnsaved(outcomes: readonly Outcome[]): string {
  const nameOf = (repo: string) => nameOfRepository(screenStore.getState(), repo);
  const saved = outcomes.filter(outcome => "saved" in outcome).map(({ repo }) => nameOf(repo));
  const unsaved = outcomes.flatMap(outcome => ("problem" in outcome ? [outcome] : []));
  const [first] = unsaved;
  if (outcomes.length === 1) return `Nothing was saved. ${first?.problem}`;
  const begin = saved.length === 0 ? "Nothing was saved." : `Saved in ${listed(saved)}.`;
  return `${begin} ${unsaved.map(({ repo, problem }) => `Not saved in ${nameOf(repo)}: ${problem}`).join(" ")}`;
}

function listed(names: readonly string[]): string {
  return new Intl.ListFormat("en").format(names);
}

/** What was saved at once is one step of undo; nothing that was undone before it can come back. */
export function rememberSaved(saved: readonly SavedChange[]): void {
  if (saved.length > 0) screenStore.setState(state => ({ undoable: [...state.undoable, saved], redoable: [] }));
}

async function saveRepository(repo: string, given: readonly PendingEdit[], reason: string): Promise<Outcome> {
  try {
    for (let tries = 1; ; tries += 1) {
      const { pending, opened } = screenStore.getState();
      // Merged meanwhile with what others changed, or in conflict with it.
      const edits = given.map(one => pending.get(editKey(one.repo, one.scope, one.field)) ?? one);
      if (edits.some(({ conflict }) => conflict !== undefined)) return { repo, problem: inConflict };
      const revision = opened.get(repo)?.revision ?? 0;
      const { values, unset } = setArguments(edits);
      const options = {
        repo,
        revision,
        atomic: true,
        ...(unset.length > 0 && { unset }),
        ...(reason !== "" && { reason }),
      };
      const reply = await daemon().request("config/set", { ...values, ...options });
      if (reply.errors.length === 0) {
        const saved = reply.result[0]?.revision ?? revision;
        await settle(edits, saved);
        tellMerged(edits.filter((one, index) => one.mergedWith !== given[index]?.mergedWith));
        const fields = edits.map(({ scope, field }) => joinConfigPath(scope, field));
        return { repo, saved: { repo, revision: saved, fields } };
      }
      // Other fields may have changed; where it was one of these, the edit is in conflict now and waits for the person.
      const isConflict = reply.errors.some(({ code }) => code === 1104);
      if (!isConflict) return { repo, problem: refuse(repo, reply.errors) };
      await openRepository(repo, true);
      if (tries >= mostTries) return { repo, problem: inConflict };
    }
  } catch (error) {
    return { repo, problem: messageOf(error) };
  }
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

/** The note at the field is gone with the edit. */
function tellMerged(edits: readonly PendingEdit[]): void {
  const fields = edits.map(({ scope, field }) => joinConfigPath(scope, field));
  if (fields.length === 0) return;
  notify("done", `${listed(fields)}: changed elsewhere meanwhile in another place; both changes are saved.`);
}

async function settle(edits: readonly PendingEdit[], revision: number): Promise<void> {
  const [first] = edits;
  screenStore.setState(state => {
    const pending = new Map(state.pending);
    for (const { repo, scope, field, value } of edits) {
      const key = editKey(repo, scope, field);
      // Edited again while it was being saved: that is another edit.
      if (sameJson(pending.get(key)?.value, value)) pending.delete(key);
    }
    return { pending };
  });
  if (first !== undefined && (screenStore.getState().opened.get(first.repo)?.revision ?? 0) < revision)
    await openRepository(first.repo, true);
}

/** Writes each refusal at its field. Returns them in short. */
function refuse(repo: string, errors: readonly ErrorEntry[]): string {
  screenStore.setState(state => {
    const pending = new Map(state.pending);
    for (const [key, one] of pending) {
      const error = errors.find(({ field }) => one.repo === repo && field === joinConfigPath(one.scope, one.field));
      if (error !== undefined) pending.set(key, { ...one, refusal: error.message });
    }
    return { pending };
  });
  const [first] = errors;
  const more = errors.length > 1 ? ` And ${errors.length - 1} more.` : "";
  return `${first?.message ?? "The daemon gave no reason."}${more}`;
}

let turn: Promise<void> = Promise.resolve();

/** Keys may be pressed faster than the daemon answers: each step begins where the one before it has ended. */
function inTurn(step: () => Promise<void>): Promise<void> {
  turn = turn.then(step);
  return turn;
}

/** Takes the last save of this window back, through the journal. */
export function undo(): Promise<void> {
  return inTurn(undoLast);
}

/** Brings back what was undone last. */
export function redo(): Promise<void> {
  return inTurn(redoLast);
}

const undoLast = () => takeBack("undoable", "redoable", "undone", "There is nothing to undo.");
const redoLast = () => takeBack("redoable", "undoable", "done again", "There is nothing to do again.");

/** Takes the last step of one list back, which is a step of the other one then. */
async function takeBack(
  from: "undoable" | "redoable",
  to: "undoable" | "redoable",
  done: "undone" | "done again",
  nothing: string,
): Promise<void> {
  const last = screenStore.getState()[from].at(-1);
  if (last === undefined) return notify("done", nothing, "undo");
  const { restored, failed } = await restoreSaved(last, done);
  screenStore.setState(state => ({
    [from]: withStep(state[from].slice(0, -1), failed),
    [to]: withStep(state[to], restored),
  }));
}

function withStep(steps: ScreenState["undoable"], step: readonly SavedChange[]): ScreenState["undoable"] {
  return step.length === 0 ? steps : [...steps, step];
}

/** Takes back what was saved at once. `failed`: what can be tried again; what somebody else changed since is left alone for good. */
async function restoreSaved(
  saved: readonly SavedChange[],
  done: "undone" | "done again",
): Promise<{ readonly restored: readonly SavedChange[]; readonly failed: readonly SavedChange[] }> {
  const restored: SavedChange[] = [];
  const failed: SavedChange[] = [];
  const problems: string[] = [];
  for (const one of saved) {
    try {
      const changed = await changedSince(one);
      if (changed.length > 0) {
        const what = changed.length === 1 ? `${changed[0]} has` : `${changed.length} fields have`;
        const where = saved.length === 1 ? "" : ` in ${nameOfRepository(screenStore.getState(), one.repo)}`;
        problems.push(`${what} been changed${where} since, so it was left alone. The history has every value.`);
      } else restored.push(await restore(one, done));
    } catch (error) {
      failed.push(one);
      problems.push(messageOf(error));
    }
  }
  const fields = restored.flatMap(one => one.fields);
  const what = fields.length === 1 ? fields[0] : `${fields.length} fields`;
  const good = fields.length > 0 ? [`${what}: ${done}.`] : [];
  notify(problems.length > 0 ? "problem" : "done", [...good, ...new Set(problems)].join(" "), "undo");
  return { restored, failed };
}

/** Compare and set, on the fields: those that have now another value than they were given then. */
async function changedSince({ repo, revision, fields }: SavedChange): Promise<readonly string[]> {
  const { result: then } = await daemon().request("config/list", { repo, revision, stored: true });
  await openRepository(repo, true);
  return fields.filter(path => !sameJson(storedNow(repo, path), valueAt(then ?? {}, path)));
}

async function restore({ repo, revision, fields }: SavedChange, done: "undone" | "done again"): Promise<SavedChange> {
  const current = screenStore.getState().opened.get(repo)?.revision ?? 0;
  const reason = `${done === "undone" ? "undo" : "redo"} of revision ${revision}`;
  const options = { repo, to: revision - 1, fields, revision: current, reason };
  const [changed] = await daemon().run("history/restore", options);
  await openRepository(repo, true);
  return { repo, revision: changed?.revision ?? current, fields };
}

/** What a save of the file as text changed since `revision` is a step of undo too. */
export async function rememberFileSave(repo: string, revision: number): Promise<void> {
  const { result } = await daemon().request("history/list", { repo, limit: 20 });
  const saved = result?.find(entry => entry.revision > revision && entry.source === "file");
  if (saved === undefined) return;
  rememberSaved([{ repo, revision: saved.revision, fields: fieldsChanged(saved) }]);
}

/** What a revision changed, as `<scope>.<field>`. */
export function fieldsChanged({ changes }: HistoryEntry): readonly string[] {
  return Object.entries(changes).flatMap(([scope, fields]) =>
    Object.keys(fields).map(field => joinConfigPath(scope, field)),
  );
}

function valueAt(config: Config, path: string): JsonValue | undefined {
  const split = splitConfigPath(path);
  return split && configValue(config, split.scope, split.field);
}

export function messageOf(error: unknown): string {
  if (error instanceof RequestError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
