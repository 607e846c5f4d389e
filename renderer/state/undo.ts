import { changedSince } from "../../shared/change-source.ts";
import { type LeftField, type UndoneBatch, undoEntries } from "../../shared/client/undo-batch.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { FoundHistoryEntry } from "../../shared/protocol.ts";
import { daemon } from "./connection.ts";
import { takeBackLast } from "./edits.ts";
import { messageOf, notify } from "./notices.ts";
import { loadLayers } from "./open-layers.ts";
import { nameOfRepository, type SavedStep, screenStore } from "./store.ts";

/** More entries than a batch of this window has in one repository. */
const mostOfBatch = 8;

/** The id of a new batch, for everything that this window saves at once. */
export function newBatch(): string {
  return `screen ${crypto.getRandomValues(new BigUint64Array(2)).join(" ")}`;
}

/** Adds a save as one undo step and clears the redo steps. */
export function rememberSaved(step: SavedStep): void {
  if (step.saved.length > 0) screenStore.setState(state => ({ undoable: [...state.undoable, step], redoable: [] }));
}

/** Adds an undo step for the change that saving the file as text made after `revision`. */
export async function rememberFileSave(repo: string, revision: number): Promise<void> {
  const { result } = await daemon().request("history/list", { repo, limit: 20 });
  const saved = result?.find(entry => entry.revision > revision && entry.source === "file");
  if (saved === undefined) return;
  rememberSaved({ saved: [{ repo, revision: saved.revision, fields: fieldsChanged(saved) }] });
}

/** The changed fields of a revision or a request, as `<scope>.<field>`. */
export function fieldsChanged({
  changes,
}: {
  readonly changes: { readonly [scope: string]: object };
}): readonly string[] {
  return Object.entries(changes).flatMap(([scope, fields]) =>
    Object.keys(fields).map(field => joinConfigPath(scope, field)),
  );
}

let turn: Promise<void> = Promise.resolve();

/** Keys may be pressed faster than the daemon replies: each step waits for the previous one. */
function inTurn(step: () => Promise<void>): Promise<void> {
  turn = turn.then(step);
  return turn;
}

/** Takes back what is in front of the person: the edits that were begun last, or without one the last save of this window, using the journal. */
export function undo(): Promise<void> {
  const last = takeBackLast();
  if (last === undefined) return inTurn(() => revert("undoable", "redoable", "undo", "Nothing to undo."));
  const [first, ...more] = last.edits.map(({ scope, field }) => joinConfigPath(scope, field));
  const what = more.length === 0 ? `The edit of ${first} was` : `${last.edits.length} edits were`;
  notify("done", `${what} taken back.`, "undo", {
    action: { text: "Bring back", run: last.bringBack },
  });
  return Promise.resolve();
}

/** Takes back this save, if it is still the last one of this window. */
export function undoSaved(step: SavedStep): Promise<void> {
  return inTurn(async () => {
    if (screenStore.getState().undoable.at(-1) === step)
      await revert("undoable", "redoable", "undo", "Nothing to undo.");
  });
}

/** Redoes what was undone last. */
export function redo(): Promise<void> {
  return inTurn(() => revert("redoable", "undoable", "redo", "Nothing to redo."));
}

/** Reverts the last step of one list and adds the revert to the other list. If it fails, it can be retried. */
async function revert(
  from: "undoable" | "redoable",
  to: "undoable" | "redoable",
  what: "undo" | "redo",
  nothing: string,
): Promise<void> {
  const last = screenStore.getState()[from].at(-1);
  if (last === undefined) return notify("done", nothing, "undo");
  try {
    const undone = await undoStep(last, what);
    const saved = takenBack(last, undone);
    // No change of what counts tells of a local value that is put back beneath the same shared one.
    await Promise.all(last.saved.map(({ repo }) => loadLayers(repo)));
    screenStore.setState(state => ({
      [from]: state[from].slice(0, -1),
      [to]: saved.length === 0 ? state[to] : [...state[to], { saved }],
    }));
    notifyUndone(
      saved.flatMap(({ fields }) => fields),
      undone.left,
      last,
      what,
    );
  } catch (error) {
    notify("problem", messageOf(error), "undo");
  }
}

/** Reads what it saved where it was saved: a search of all histories takes long where many repositories have changed. */
async function undoStep({ saved }: SavedStep, what: "undo" | "redo"): Promise<UndoneBatch> {
  const [first, ...more] = saved;
  if (first === undefined) return { restored: [], left: [] };
  const { batch, revision } = first;
  const reason = more.length > 0 ? `${what} of batch ${batch}` : `${what} of revision ${revision}`;
  const entries = new Map<string, FoundHistoryEntry>();
  for (const one of saved) {
    // A save of the file as text is an edit by hand, which belongs to no batch.
    const limit = one.batch === undefined ? 1 : mostOfBatch;
    const { result } = await daemon().request("history/list", {
      repo: one.repo,
      after: String(one.revision + 1),
      limit,
    });
    for (const entry of result ?? [])
      if (entry.batch === one.batch) entries.set(`${one.repo} ${entry.revision}`, { ...entry, repo: one.repo });
  }
  const newestFirst = [...entries.values()].sort((before, after) => after.revision - before.revision);
  return undoEntries(daemon(), newestFirst, { reason, batch: newBatch() });
}

/** The fields that were restored, as a step that can itself be reverted. */
function takenBack({ saved }: SavedStep, { restored, left }: UndoneBatch): SavedStep["saved"] {
  const isLeft = (repo: string, path: string) =>
    left.some(one => one.repo === repo && (one.field === undefined || one.field === path));
  return restored.map(({ repo, revision, batch }) => ({
    repo,
    revision,
    fields: (saved.find(one => one.repo === repo)?.fields ?? []).filter(path => !isLeft(repo, path)),
    ...(batch !== undefined && { batch }),
  }));
}

function notifyUndone(
  fields: readonly string[],
  left: readonly LeftField[],
  { saved }: SavedStep,
  what: "undo" | "redo",
): void {
  const done = what === "undo" ? "undone" : "redone";
  const good = fields.length === 0 ? [] : [`${fields.length === 1 ? fields[0] : `${fields.length} fields`}: ${done}.`];
  const problems = Array.from(
    Map.groupBy(left, ({ repo, message }) => JSON.stringify([repo, message])).values(),
    ([first, ...more]) => {
      if (first === undefined) return "";
      const { repo, field, message } = first;
      const where = saved.length === 1 ? "" : ` in ${nameOfRepository(screenStore.getState(), repo)}`;
      if (message !== changedSince) return `Not ${done}${where}: ${message}`;
      const what = more.length === 0 ? `${field} has` : `${more.length + 1} fields have`;
      return `${what} been changed${where} since and ${more.length === 0 ? "was" : "were"} not touched. The history has every value.`;
    },
  );
  notify(problems.length > 0 ? "problem" : "done", [...good, ...problems].join(" "), "undo");
}
