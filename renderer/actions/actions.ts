import { flushSync } from "react-dom";
import { joinConfigPath } from "../../shared/config-path.ts";
import { signOut } from "../dialogs/sign-out.tsx";
import { goToInvalid } from "../edits/invalid-edits.ts";
import { focusField, focusWhenThere } from "../parts/focus-when-there.ts";
import { shell } from "../shell.ts";
import { openDialog } from "../state/dialog.ts";
import { discardAllEdits } from "../state/edits.ts";
import { go, search, show } from "../state/navigation.ts";
import { type Place, views } from "../state/place.ts";
import { saveEdits } from "../state/saving.ts";
import { type ScreenState, screenStore } from "../state/store.ts";
import { redo, undo } from "../state/undo.ts";
import type { Action } from "./action.ts";
import { pages } from "./pages.ts";
import { goRound } from "./regions.ts";
import { repositoryActions } from "./repository-actions.ts";

/** All actions: the source of shortcuts, commands and the list of shortcuts. */
export const actions: readonly Action[] = [
  {
    id: "review",
    title: "Review edits",
    group: "Edits",
    keys: ["Mod+Enter"],
    inText: true,
    applies: hasEdits,
    run: () => openDialog("review"),
  },
  {
    id: "save",
    title: "Save edits",
    group: "Edits",
    keys: ["Mod+S"],
    inText: true,
    applies: hasEdits,
    run: () => void saveEdits(""),
  },
  {
    id: "next-invalid",
    title: "Next invalid edit",
    group: "Edits",
    keys: ["F8"],
    inText: true,
    applies: hasEdits,
    run: () => goToInvalid(1),
  },
  {
    id: "previous-invalid",
    title: "Previous invalid edit",
    group: "Edits",
    keys: ["Shift+F8"],
    inText: true,
    applies: hasEdits,
    run: () => goToInvalid(-1),
  },
  { id: "discard", title: "Discard all edits", group: "Edits", applies: hasEdits, run: discardAllEdits },
  { id: "undo", title: "Undo the last edit or save", group: "Edits", keys: ["Mod+Z"], run: () => void undo() },
  {
    id: "redo",
    title: "Redo the last undo",
    group: "Edits",
    keys: ["Mod+Shift+Z", "Mod+Y"],
    run: () => void redo(),
  },
  {
    id: "commands",
    title: "Find a place or a command",
    group: "Find",
    keys: ["Mod+K"],
    inText: true,
    run: () => openDialog("palette"),
  },
  {
    id: "search",
    title: "Search repositories, fields and values",
    group: "Find",
    keys: ["/"],
    run: () => focusSearch(),
  },
  {
    id: "filter",
    title: "Filter fields",
    group: "Find",
    applies: ({ place }) => place.page === "repo",
    run: filterFields,
  },
  { id: "add", title: "Add a repository", group: "Repositories", run: () => openDialog("add") },
  {
    id: "next-view",
    title: "Next view of the repository",
    group: "Repositories",
    keys: ["Alt+PageDown"],
    inText: true,
    applies: ({ place }) => place.page === "repo",
    run: () => goToView(1),
  },
  {
    id: "previous-view",
    title: "Previous view of the repository",
    group: "Repositories",
    keys: ["Alt+PageUp"],
    inText: true,
    applies: ({ place }) => place.page === "repo",
    run: () => goToView(-1),
  },
  ...repositoryActions,
  goTo("Start page", { page: "start" }),
  ...pages.map(({ title, place }) => goTo(title, place)),
  goTo("Create a key", { page: "new-key" }),
  {
    id: "next-region",
    title: "Next part of the screen",
    group: "This window",
    keys: ["F6"],
    inText: true,
    run: () => goRound(1),
  },
  {
    id: "previous-region",
    title: "Previous part of the screen",
    group: "This window",
    keys: ["Shift+F6"],
    inText: true,
    run: () => goRound(-1),
  },
  {
    id: "shortcuts",
    title: "Show keyboard shortcuts",
    group: "This window",
    keys: ["?"],
    run: () => openDialog("shortcuts"),
  },
  {
    id: "sign-out",
    title: "Sign out",
    group: "This window",
    // The desktop app manages its session itself.
    applies: () => shell === undefined,
    run: () => void signOut(),
  },
];

/** Keys that the tree, lists and dialogs handle themselves. */
export const ownKeys: readonly { readonly keys: string; readonly title: string }[] = [
  { keys: "↑ ↓ Home End", title: "Move in the tree and in lists" },
  { keys: "← →", title: "Collapse or expand the selected tree item" },
  { keys: "Enter", title: "Open the selected tree item; on a field, go to its control" },
  { keys: "S", title: "In the matrix: sort by the column of the active cell" },
  { keys: "+ -", title: "In the matrix: a wider or narrower column" },
  { keys: "Delete", title: "In the matrix: the default for the selected cells" },
  { keys: "Escape", title: "Close a dialog" },
];

export function actionOf(id: string): Action {
  const action = actions.find(one => one.id === id);
  if (action === undefined) throw new Error(`there is no action ${id}`);
  return action;
}

/** Focuses the search box, opening the drawer that contains it in a narrow window; with a query, searches for it. */
export function focusSearch(query?: string): void {
  flushSync(() => screenStore.setState({ drawn: true }));
  if (query !== undefined) search(query);
  const box = document.querySelector<HTMLInputElement>("#search");
  box?.focus();
  box?.select();
}

function hasEdits({ pending }: ScreenState): boolean {
  return pending.size > 0;
}

function goTo(title: string, place: Place): Action {
  return { id: `go-${place.page}`, title, group: "Go to", run: () => goWithFocus(place) };
}

/** Goes to a place and moves the focus there: into a field, or to the page, so that Tab continues in it. */
export function goWithFocus(place: Place): void {
  go(place);
  if (place.page === "repo" && place.view === "fields" && place.scope !== undefined && place.field !== undefined)
    focusField(joinConfigPath(place.scope, place.field));
  else document.querySelector("main")?.focus();
}

function filterFields(): void {
  const { place } = screenStore.getState();
  if (place.page !== "repo") return;
  if (place.view !== "fields") show(place.repo, "fields");
  focusWhenThere("#field-filter");
}

function goToView(step: 1 | -1): void {
  const { place } = screenStore.getState();
  if (place.page !== "repo") return;
  const index = views.findIndex(([view]) => view === place.view);
  const next = views.at((index + step) % views.length);
  if (next !== undefined) show(place.repo, next[0]);
}
