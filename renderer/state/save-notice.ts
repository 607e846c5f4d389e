import { notify } from "./notices.ts";
import { nameOfRepository, type PendingEdit, type SavedChange, type SavedStep, screenStore } from "./store.ts";
import { undoSaved } from "./undo.ts";

/** The result for one repository's edits: saved, or the reason why not. */
export type Outcome =
  | { readonly repo: string; readonly saved: SavedChange }
  | { readonly repo: string; readonly problem: string; readonly isUnknown?: boolean };

export const inConflict =
  "Some fields were changed elsewhere in the meantime. Choose which values to keep, then save again.";

/** Says that the edits wait for the person's choice, until no edit does. */
export function tellConflict(): void {
  const holds = () => [...screenStore.getState().pending.values()].some(({ conflict }) => conflict !== undefined);
  notify("problem", inConflict, "save", { holds });
}

/** Says what was saved, as long as it is the last save; `left`: how many edits were not sent because the person cancelled. */
export function tellSaved(step: SavedStep, left = 0): void {
  const count = step.saved.reduce((sum, { fields }) => sum + fields.length, 0);
  const saved = `Saved ${count === 1 ? "1 field" : `${count} fields`} in ${places(step.saved)}.`;
  const rest = left === 0 ? "" : ` Cancelled: ${left === 1 ? "1 edit is" : `${left} edits are`} not saved.`;
  const holds = () => screenStore.getState().undoable.at(-1) === step;
  const action = { text: "Undo", run: () => void undoSaved(step) };
  notify("done", `${saved}${rest}`, "save", { action, holds });
}

/** Says what was not saved and why, until the person has changed each of these edits. */
export function tellUnsaved(outcomes: readonly Outcome[]): void {
  const unsaved = new Set(outcomes.flatMap(one => ("problem" in one ? [one.repo] : [])));
  const isOf = (edit: PendingEdit) => unsaved.has(edit.repo);
  const refused = [...screenStore.getState().pending].filter(([, edit]) => isOf(edit));
  const holds = () => {
    const { pending } = screenStore.getState();
    return refused.some(([key, { value, refusal }]) => {
      const now = pending.get(key);
      return now !== undefined && now.value === value && now.refusal === refusal;
    });
  };
  notify("problem", describeUnsaved(outcomes), "save", { holds });
}

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

export function listed(names: readonly string[]): string {
  return new Intl.ListFormat("en").format(names);
}
