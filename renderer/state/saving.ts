import { RequestError } from "../../shared/client/client.ts";
import { type Config, configValue } from "../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../shared/config-path.ts";
import type { ErrorEntry } from "../../shared/errors.ts";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import { daemon, openRepository, storedNow } from "./connection.ts";
import { notify } from "./notices.ts";
import { editKey, type PendingEdit, type SavedChange, screenStore } from "./store.ts";

/** How often a save is tried again after something else of the repository changed. */
const mostTries = 3;

/**
 * Saves all edits, one set for each repository: whole or not at all, and only on the revision that the person has seen.
 * What is refused stays an edit, with the reason beside it.
 */
export async function saveEdits(reason: string): Promise<boolean> {
  const { pending, saving } = screenStore.getState();
  if (saving || pending.size === 0) return false;
  if ([...pending.values()].some(({ conflict }) => conflict !== undefined)) {
    notify("problem", "Some fields changed elsewhere meanwhile. Choose which value is right, then save again.");
    return false;
  }
  screenStore.setState({ saving: true });
  let saved = true;
  try {
    for (const edits of Map.groupBy(pending.values(), ({ repo }) => repo).values())
      saved = (await saveRepository(edits, reason)) && saved;
  } catch (error) {
    notify("problem", messageOf(error));
    saved = false;
  } finally {
    screenStore.setState({ saving: false });
  }
  return saved;
}

async function saveRepository(edits: readonly PendingEdit[], reason: string): Promise<boolean> {
  const [first] = edits;
  if (first === undefined) return true;
  const { repo } = first;
  const values: { [path: string]: JsonValue } = {};
  const unset: string[] = [];
  for (const { scope, field, value } of edits) {
    if (value === undefined) unset.push(joinConfigPath(scope, field));
    else values[joinConfigPath(scope, field)] = value;
  }
  for (let tries = 1; ; tries += 1) {
    const revision = screenStore.getState().opened.get(repo)?.revision ?? 0;
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
      screenStore.setState(state => ({
        undoable: [
          ...state.undoable,
          { repo, revision: saved, fields: edits.map(({ scope, field }) => joinConfigPath(scope, field)) },
        ],
        redoable: [],
      }));
      return true;
    }
    // Other fields may have changed; where it was one of these, the edit is in conflict now and waits for the person.
    const isConflict = reply.errors.some(({ code }) => code === 1104);
    if (!isConflict) return refuse(repo, reply.errors);
    await openRepository(repo, true);
    const conflicting = [...screenStore.getState().pending.values()].some(one => one.repo === repo && one.conflict);
    if (conflicting || tries >= mostTries) {
      notify("problem", "Some fields changed elsewhere meanwhile. Choose which value is right, then save again.");
      return false;
    }
  }
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

/** Writes each refusal at its field; what belongs to none is told as a whole. */
function refuse(repo: string, errors: readonly ErrorEntry[]): false {
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
  if (first !== undefined) notify("problem", `Nothing was saved. ${first.message}${more}`);
  return false;
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

async function undoLast(): Promise<void> {
  const last = screenStore.getState().undoable.at(-1);
  if (last === undefined) return notify("done", "There is nothing to undo.");
  await restoreSaved(last, last.revision - 1, "undone", revision =>
    screenStore.setState(state => ({
      undoable: state.undoable.slice(0, -1),
      redoable: [...state.redoable, { ...last, revision }],
    })),
  );
}

/** Brings back what was undone last. */
export function redo(): Promise<void> {
  return inTurn(redoLast);
}

async function redoLast(): Promise<void> {
  const last = screenStore.getState().redoable.at(-1);
  if (last === undefined) return notify("done", "There is nothing to do again.");
  await restoreSaved(last, last.revision - 1, "done again", revision =>
    screenStore.setState(state => ({
      redoable: state.redoable.slice(0, -1),
      undoable: [...state.undoable, { ...last, revision }],
    })),
  );
}

async function restoreSaved(
  { repo, revision, fields }: SavedChange,
  to: number,
  done: string,
  remember: (revision: number) => void,
): Promise<void> {
  try {
    // Compare and set, on the fields: what they were given then must be what they have now.
    const { result: then } = await daemon().request("config/list", { repo, revision, stored: true });
    await openRepository(repo, true);
    const changed = fields.filter(path => !sameJson(storedNow(repo, path), valueAt(then ?? {}, path)));
    if (changed.length > 0) {
      const what = changed.length === 1 ? `${changed[0]} has` : `${changed.length} fields have`;
      return notify("problem", `${what} been changed since, so it was left alone. The history has every value.`);
    }
    const current = screenStore.getState().opened.get(repo)?.revision ?? 0;
    const reason = `${done === "undone" ? "undo" : "redo"} of revision ${revision}`;
    const changedRepository = await daemon().run("history/restore", { repo, to, fields, revision: current, reason });
    await openRepository(repo, true);
    remember(changedRepository[0]?.revision ?? current);
    notify("done", fields.length === 1 ? `${fields[0]}: ${done}.` : `${fields.length} fields: ${done}.`);
  } catch (error) {
    notify("problem", messageOf(error));
  }
}

function valueAt(config: Config, path: string): JsonValue | undefined {
  const split = splitConfigPath(path);
  return split && configValue(config, split.scope, split.field);
}

export function messageOf(error: unknown): string {
  if (error instanceof RequestError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
