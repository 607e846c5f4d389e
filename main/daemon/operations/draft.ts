import type { Drafts } from "../config/drafts.ts";
import type { Operations } from "../socket/dispatch.ts";
import { requireOwner } from "./repo.ts";

/** `draft/*`: the owner's unsaved edits. */
export function draftOperations(drafts: Drafts): Pick<Operations, "draft/list" | "draft/set"> {
  return {
    "draft/list": (_args, { caller }) => {
      requireOwner(caller);
      return { result: drafts.list(), revision: drafts.revision };
    },

    "draft/set": async ({ drafts: set, removed }, { caller }) => {
      requireOwner(caller);
      return { result: await drafts.change(set ?? [], removed ?? []) };
    },
  };
}
