import { RepoconfError } from "../../../shared/errors.ts";
import type { Store } from "../../store/store.ts";
import type { Operations } from "../socket/dispatch.ts";
import { existing, requireOwner } from "./repo.ts";

/**
 * `file/*`: the text of a repository's file, for the owner's editor. Writing it counts as a hand edit. The limit of a message
 * is below that of a repository's file, so there is no other limit to check.
 */
export function fileOperations(store: Store): Pick<Operations, "file/read" | "file/write" | "file/restore"> {
  return {
    "file/read": async ({ repo }, { caller }) => {
      requireOwner(caller);
      return { result: await store.repositories.require(existing(store, repo)).text.read() };
    },

    "file/write": async ({ repo, text, expected }, { caller }) => {
      requireOwner(caller);
      const id = existing(store, repo);
      if (!text.isWellFormed())
        throw new RepoconfError(
          1101,
          "The text contains half of a character (a lone surrogate), which no file can contain. Write it as an escape, such as \\ud800.",
          { repo: id },
        );
      const repository = await store.repositories.load(id);
      if (await repository.exclusive(() => repository.text.replace(text, expected))) return { result: {} };
      const message = "The file was changed in the meantime. Read it again and apply your change to that text.";
      throw new RepoconfError(1104, message, { repo: id });
    },

    "file/restore": async ({ repo }, { caller }) => {
      requireOwner(caller);
      const repository = await store.repositories.load(existing(store, repo));
      const movedTo = await repository.exclusive(() => repository.text.restore());
      return { result: { ...(movedTo !== undefined && { movedTo }) } };
    },
  };
}
