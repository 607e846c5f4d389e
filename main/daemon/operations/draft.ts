import type { Operations } from "../dispatch.ts";
import type { Drafts } from "../drafts.ts";
import { requireOwner } from "./repo.ts";

/** `draft/*`: what the owner has edited and not saved. */
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
