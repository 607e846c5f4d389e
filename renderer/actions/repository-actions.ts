import type { RepositoryEntry } from "../../shared/protocol.ts";
import { shell } from "../shell.ts";
import { daemon } from "../state/connection.ts";
import { copyText } from "../state/copy.ts";
import { openDialog } from "../state/dialog.ts";
import { isOutcomeUnknown, messageOf, notify } from "../state/notices.ts";
import { addressOf } from "../state/place.ts";
import { type ScreenState, screenStore, shownRepository } from "../state/store.ts";
import type { Action } from "./action.ts";

/** What a person can do with the repository that the page shows. */
export const repositoryActions: readonly Action[] = [
  mark(true, "Add this repository to favourites", "Add to favourites"),
  mark(false, "Remove this repository from favourites", "Remove from favourites"),
  change("rename", "Rename this repository…", "Rename…"),
  change("move", "Tell where this repository's folder is…", "Its folder…"),
  copy("path", "Copy the path of its folder", "Copy path", ({ path }) => path),
  copy("id", "Copy the id of this repository", "Copy id", ({ id }) => id),
  copy("link", "Copy a link to this page", "Copy link", linkTo),
  copy("command", "Copy the command that lists its values", "Copy command", ({ id }) => `repoconf list --repo ${id}`),
  change("remove", "Remove this repository…", "Remove…"),
];

function change(dialog: "rename" | "move" | "remove", title: string, short: string): Action {
  return {
    ...{ id: `${dialog}-repository`, title, short, group: "This repository" },
    // The folder of a linked worktree is where git has it.
    applies: state => {
      const entry = shownRepository(state);
      return entry !== undefined && (dialog !== "move" || entry.base === undefined);
    },
    run: () => openDialog(dialog),
  };
}

function mark(favourite: boolean, title: string, short: string): Action {
  return {
    ...{ id: favourite ? "mark-repository" : "unmark-repository", title, short, group: "This repository" },
    applies: state => {
      const entry = shownRepository(state);
      return entry !== undefined && (entry.favourite === true) !== favourite;
    },
    run: () => {
      const entry = shownRepository(screenStore.getState());
      if (entry !== undefined) void setFavourite(entry, favourite);
    },
  };
}

async function setFavourite({ id, name }: RepositoryEntry, favourite: boolean): Promise<void> {
  const about = `favourite ${id}`;
  const { connection, silentSince } = screenStore.getState();
  try {
    // A request would first wait some seconds for a connection, or an answer.
    if (connection !== "connected" || silentSince !== undefined) throw new Error("The daemon does not answer.");
    await daemon().run("repo/update", { repo: id, favourite });
    notify("done", favourite ? `Added ${name} to favourites.` : `Removed ${name} from favourites.`, about);
  } catch (error) {
    const what = `${favourite ? "added to" : "removed from"} favourites`;
    const problem = isOutcomeUnknown(error)
      ? `The daemon has not answered, so it is not known whether ${name} was ${what}.`
      : `${name} was not ${what}. ${messageOf(error)}`;
    notify("problem", problem, about);
  }
}

function copy(
  what: string,
  title: string,
  short: string,
  textOf: (entry: RepositoryEntry) => string | undefined,
): Action {
  const textIn = (state: ScreenState) => {
    const entry = shownRepository(state);
    return entry && textOf(entry);
  };
  return {
    ...{ id: `copy-${what}`, title, short, group: "This repository" },
    applies: state => textIn(state) !== undefined,
    run: () => {
      const text = textIn(screenStore.getState());
      if (text !== undefined) void copyText(text, `Copied: ${text}`, `The ${what}`);
    },
  };
}

/** It opens in a tab that has a session; the desktop app's pages have no address for others. */
function linkTo(): string | undefined {
  if (shell !== undefined) return undefined;
  return `${location.origin}/${addressOf(screenStore.getState().place)}`;
}
