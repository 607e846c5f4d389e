import { RepoconfError } from "../../../shared/errors.ts";
import type { Layer } from "../../../shared/protocol.ts";
import type { Repository } from "../../store/repository/repository.ts";
import type { Store } from "../../store/store.ts";
import type { Operations } from "../socket/dispatch.ts";
import { existing, requireOwner } from "./repo.ts";

/**
 * `file/*`: the text of a repository's file, for the owner's editor. Writing it counts as a hand edit. The limit of a message
 * is below that of a repository's file, so there is no other limit to check.
 */
export function fileOperations(store: Store): Pick<Operations, "file/read" | "file/write" | "file/restore"> {
  return {
    "file/read": async ({ repo, layer }, { caller }) => {
      requireOwner(caller);
      const { text } = documentOf(store.repositories.require(existing(store, repo)), layer);
      return { result: await text.read() };
    },

    "file/write": async ({ repo, layer, text, expected }, { caller }) => {
      requireOwner(caller);
      const id = existing(store, repo);
      if (!text.isWellFormed())
        throw new RepoconfError(
          1101,
          "The text contains half of a character (a lone surrogate), which no file can contain. Write it as an escape, such as \\ud800.",
          { repo: id },
        );
      const document = documentOf(await store.repositories.load(id), layer);
      if (await document.exclusive(() => document.text.replace(text, expected))) return { result: {} };
      const message = "The file was changed in the meantime. Read it again and apply your change to that text.";
      throw new RepoconfError(1104, message, { repo: id });
    },

    "file/restore": async ({ repo, layer }, { caller }) => {
      requireOwner(caller);
      const document = documentOf(await store.repositories.load(existing(store, repo)), layer);
      const movedTo = await document.exclusive(() => document.text.restore());
      return { result: { ...(movedTo !== undefined && { movedTo }) } };
    },
  };
}

/** The document whose file is meant. Throws RepoconfError 1101 if the repository has no local values. */
function documentOf(repository: Repository, layer: Layer | null = null): Repository {
  if (layer !== "local") return repository;
  const document = repository.above.find(({ name }) => name === layer)?.document;
  if (document !== undefined) return document;
  const message =
    "This repository has no local values yet, so there is no file of them. Set one first, with --local (layer).";
  throw new RepoconfError(1101, message, { repo: repository.id });
}
