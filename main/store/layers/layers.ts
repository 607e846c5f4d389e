import { join } from "node:path";
import { configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import type { RepoconfError } from "../../../shared/errors.ts";
import { isJsonObject } from "../../../shared/json.ts";
import type { Layer } from "../../../shared/protocol.ts";
import {
  documentsAbove,
  isRepositoryId,
  localDocumentOf,
  repositoryOfDocument,
} from "../../../shared/repository-id.ts";
import { ignoreMissing } from "../../files/file-system.ts";
import type { StoreContext } from "../context.ts";
import { listRepositoryFiles } from "../hand-edits/repository-folder.ts";
import type { Journals } from "../history/journals.ts";
import { RepositoryFiles } from "../mirror/repository-files.ts";
import { localFileOf } from "../mirror/repository-metadata.ts";
import { moveAside } from "../removed-files.ts";
import type { DocumentAbove as Above } from "../repository/parts.ts";
import type { OpenedRepository, Repositories } from "../repository/repositories.ts";
import type { AboveRepository, Repository } from "../repository/repository.ts";
import type { IndexData, IndexedRepository } from "../state/repository-index.ts";
import { storageFailure } from "../storage-failure.ts";
import type { Actor } from "../types.ts";
import type { LinkedRepositories } from "./linked-repositories.ts";

type DocumentAbove = Above<Repository>;

/** A document that stands on no other one. */
export const noneAbove: AboveRepository = {
  documents: () => none,
  make: () => Promise.reject(new Error("a layer has no layers")),
  standing: () => [],
  load: () => Promise.resolve(),
};
const none: readonly DocumentAbove[] = [];

interface LayersOptions {
  readonly repositories: Repositories<Repository>;
  /** The documents of layers, by their own ids. */
  readonly documents: Repositories<Repository>;
  readonly journals: Journals;
  readonly linked: LinkedRepositories;
  /** The error of a request for a layer, if this home can have none. */
  readonly refusal?: ((repo: string) => RepoconfError) | undefined;
}

/**
 * The layers of repositories above their own documents: each is a document with a history, a log and recovery of its own, which nothing
 * lists as a repository. So no document ever has a value of another layer.
 */
export class Layers {
  readonly #context: StoreContext;
  readonly #options: LayersOptions;
  /** By repository: made again when its document's object is another one. */
  readonly #above = new Map<string, readonly DocumentAbove[]>();

  constructor(context: StoreContext, options: LayersOptions) {
    this.#context = context;
    this.#options = options;
  }

  /**
   * Adds the documents of repositories that there are: those that the index knows, and those that have a file, or a history, which is
   * deleted when a layer is removed. `commits`: of documents that the log knows; `removed`: by their ids.
   */
  async begin(
    { layers }: IndexData,
    { commits, removed }: { readonly commits: ReadonlyMap<string, unknown>; readonly removed: ReadonlySet<string> },
  ): Promise<void> {
    const { documents, repositories, journals } = this.#options;
    if (this.#options.refusal !== undefined) return;
    const files = (await listRepositoryFiles(this.#context.paths.local)).map(localDocumentOf);
    const histories = [...journals.ids()].filter(id => id !== repositoryOfDocument(id) && !removed.has(id));
    const isWanted = (id: string) => {
      const repo = repositoryOfDocument(id);
      return repositories.has(repo) || commits.has(repo);
    };
    for (const id of [...layers.ids()]) if (!isWanted(id) || removed.has(id)) layers.delete(id);
    documents.begin([...files, ...histories].filter(isWanted), layers, removed);
  }

  /** The documents above a repository's own one, the lowest first. */
  of(repo: string): AboveRepository {
    const { linked, repositories } = this.#options;
    /** Kept, because an id that is put together anew is slow to look up. */
    let known: { readonly base: string | undefined; readonly ids: readonly string[] } | undefined;
    const idsAbove = () => {
      const base = repositories.baseOf(repo);
      if (known === undefined || known.base !== base) known = { base, ids: documentsAbove(repo, base) };
      return known.ids;
    };
    return {
      documents: () => this.#documentsAbove(repo, idsAbove),
      make: (layer, actor) => this.#make(repo, layer, actor),
      standing: () => linked.of(repo),
      load: one => repositories.load(one),
    };
  }

  /** The repositories that stand on a document: the one that it belongs to, and its linked worktrees. */
  *standingOn(id: string): Generator<Repository> {
    const { linked, repositories } = this.#options;
    const repo = repositoryOfDocument(id);
    for (const one of [repo, ...linked.of(repo)]) {
      const repository = repositories.get(one);
      if (repository !== undefined) yield repository;
    }
  }

  #documentsAbove(repo: string, idsAbove: () => readonly string[]): readonly DocumentAbove[] {
    const { documents } = this.#options;
    // Every read and every set asks.
    if (documents.size === 0) return none;
    const ids = idsAbove();
    const found: DocumentAbove[] = [];
    for (const id of ids) {
      const document = documents.has(id) ? (documents.opened(id) ?? documents.get(id)) : undefined;
      if (document !== undefined) found.push({ name: id === ids.at(-1) ? "local" : "base", document });
    }
    if (found.length === 0) return none;
    const known = this.#above.get(repo);
    const isSame = found.every(({ document }, index) => known?.[index]?.document === document);
    if (known !== undefined && known.length === found.length && isSame) return known;
    this.#above.set(repo, found);
    return found;
  }

  /**
   * Tells once, until it is dismissed, that a value changed below a local one that hides all of it. A list that is merged by name, or a
   * single value, hides nothing that a person would miss.
   */
  tellHidden({ id: repo, above }: Repository, changes: readonly ConfigPath[]): void {
    for (const { scope, field } of changes) {
      if (!above.some(({ document }) => isJsonObject(configValue(document.own.stored ?? {}, scope, field)))) continue;
      const path = joinConfigPath(scope, field);
      const message = `The shared value of ${path} changed, and your local one, which still counts, has nothing of it. To compare them: repoconf explain ${path}`;
      void this.#context.findings.add({ repo, message, isNote: true });
    }
  }

  /** Leaves only the index entries of the documents above a repository that is at rest. */
  evict({ id, ownAbove }: Repository): void {
    this.#above.delete(id);
    for (const { document } of ownAbove) this.#options.documents.evict(document);
  }

  /** The files of a document of a layer, and how it is opened. */
  filesOf(id: string, indexed: IndexedRepository | undefined, isExpected: boolean): RepositoryFiles {
    return new RepositoryFiles(repositoryOfDocument(id), this.#context, { isExpected, indexed, isLocal: true });
  }

  /** Makes the local layer of a repository that has none. */
  async #make(repo: string, _layer: Layer, actor: Actor): Promise<void> {
    const { documents, refusal } = this.#options;
    const id = localDocumentOf(repo);
    if (refusal !== undefined) throw refusal(repo);
    if (documents.has(id)) return;
    const files = this.filesOf(id, undefined, false);
    try {
      await files.home.refresh();
      // One that was just put there is read like an edit by hand.
      if (files.home.status.kind === "missing") await files.home.write(localFileOf({}, this.#context.paths));
    } catch (error) {
      throw storageFailure(repo, error);
    }
    await this.#open(id, { files, addedBy: actor });
  }

  async #open(id: string, known: OpenedRepository): Promise<void> {
    const document = this.#options.documents.open(id, known);
    await document.load();
  }

  /** Makes documents of files that people put there, for repositories that there are. Calls `onRead` after each. */
  async adopt(repos: readonly string[], onRead: () => void): Promise<void> {
    const { documents, repositories } = this.#options;
    for (const repo of repos) {
      const id = localDocumentOf(repo);
      const repository = isRepositoryId(repo) ? repositories.get(repo) : undefined;
      await repository?.loadStanding();
      const adopt = async () => {
        if (!documents.has(id) && repositories.has(repo)) await this.#open(id, {});
      };
      await repository
        ?.load()
        .then(() => repository.exclusive(adopt))
        .catch(error => this.#context.onProblem("a new local file cannot be read", { repo, error: String(error) }));
      onRead();
    }
  }

  /** Moves the file of a removed repository away, and drops its history: they are not those of the next one. Throws the system's error. */
  async moveLeft(repo: string): Promise<void> {
    await moveAside(this.#context, `${repo}.local`, join(this.#context.paths.local, `${repo}.json`));
    const { segments } = this.#options.journals.open(localDocumentOf(repo));
    for (const { path } of segments) await this.#context.fileSystem.unlink(path).catch(ignoreMissing);
  }

  /** Drops the documents of a repository that is being removed, whose removal is in the log. Throws the system's error. */
  async drop(repo: string): Promise<void> {
    const above = this.of(repo).documents();
    this.#above.delete(repo);
    for (const { name, document } of above) {
      if (name === "base") continue;
      await document.mirror.files.values.dropReplaced();
      this.#options.documents.drop(document);
      await this.moveLeft(repo);
    }
  }
}

/** The documents of layers under the ids of their repositories, for the watcher of their folder. */
export function watchedLayers(repositories: Repositories<Repository>, documents: Repositories<Repository>) {
  const opened = (id: string) => documents.opened(localDocumentOf(id));
  return {
    has: (id: string) => documents.has(localDocumentOf(id)),
    ids: () => [...documents.ids()].map(repositoryOfDocument),
    indexed: (id: string) => documents.indexed(localDocumentOf(id)),
    opened,
    get: (id: string) => {
      const document = documents.get(localDocumentOf(id));
      const refresh = async () => {
        // What an edit by hand changes of what counts depends on the layers below.
        const repository = repositories.get(id);
        await repository?.load();
        await repository?.loadStanding();
        await document?.refresh();
      };
      return document && { ...watchedState(document), refresh };
    },
  };
}

function watchedState({ loaded, own: state, files, stamps, wroteAt }: Repository) {
  return { loaded, state, files, stamps, wroteAt };
}
