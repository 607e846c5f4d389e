import { stat } from "node:fs/promises";
import pLimit from "p-limit";
import { RepoconfError } from "../../shared/errors.ts";
import { foreignDisks } from "../files/foreign-disks.ts";
import { realFolder } from "../files/real-folder.ts";
import { readRemote } from "../git/git-remote.ts";
import { inTreeFileName } from "../git/work-tree.ts";
import { timeText } from "../time/clock.ts";
import { forEachConcurrently } from "../time/for-each-concurrently.ts";
import type { StoreContext } from "./context.ts";
import type { StoreEvents } from "./events.ts";
import { isElsewhere } from "./hand-edits/own-folder.ts";
import { readWidth } from "./hand-edits/repository-folder.ts";
import { appendWithRetry } from "./log/append-with-retry.ts";
import type { Removal } from "./log/commit-log.ts";
import { RepositoryFiles } from "./mirror/repository-files.ts";
import { homeFileOf, type MetadataChanges, ofBase } from "./mirror/repository-metadata.ts";
import { moveAside } from "./removed-files.ts";
import type { Repositories } from "./repository/repositories.ts";
import type { Repository } from "./repository/repository.ts";
import { storageFailure } from "./storage-failure.ts";
import type { Actor, NewRepository, Recognition, RepositoryMetadata, RepositorySummary } from "./types.ts";

/** See `SharedStore`. */
interface SharedRepositories {
  readonly additions: {
    add(
      id: string,
      metadata: RepositoryMetadata,
      files: RepositoryFiles,
      by: Actor,
      assertFree: () => void,
    ): Promise<void>;
    cloneOf(remote: string): string | undefined;
  };
  left(id: string): Promise<void> | undefined;
  shareName(repository: Repository, name: string | undefined): Promise<void>;
}

export interface RosterOptions {
  readonly repositories: Repositories<Repository>;
  /** See `Layers`. */
  readonly layers: { moveLeft(repo: string): Promise<void>; drop(repo: string): Promise<void> };
  /** Only with a shared log. */
  readonly shared: SharedRepositories | undefined;
  /** Resolves when changes from before the start have been read. */
  reconciled(): Promise<void>;
  readonly events: StoreEvents;
}

/** Adds, changes and removes repositories: one at a time, because ids and paths are compared across all of them. */
export class Roster {
  readonly #context: StoreContext;
  readonly #options: RosterOptions;
  readonly #lock = pLimit(1);
  #closed = false;

  constructor(context: StoreContext, options: RosterOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Throws RepoconfError 1111 if the id or the in-tree path is in use, 1101 if a path cannot be used, 1108. */
  async add(repository: NewRepository): Promise<RepositorySummary & Recognition> {
    const remote = await this.#remoteOf(repository);
    return this.#lock(() => this.#addLocked(repository, remote));
  }

  async #addLocked(
    { id, name, path, inTree, mayBeKnown, actor, ...more }: NewRepository,
    remote: string | undefined,
  ): Promise<RepositorySummary & Recognition> {
    const { repositories, shared, events } = this.#options;
    const known = mayBeKnown && remote !== undefined ? shared?.additions.cloneOf(remote) : undefined;
    if (known !== undefined && path !== undefined) {
      const recognized = await repositories.load(known);
      await recognized.exclusive(() => recognized.text.changeMetadata({ path }));
      return { ...recognized.summary, recognized: true };
    }
    if (inTree && shared !== undefined) {
      const message = `A home with a shared log cannot have in-tree repositories: git already shares their files. To keep the values in the log, without those in ${inTreeFileName}: repo add --in-home (inTree: false).`;
      throw new RepoconfError(1101, message, { repo: id });
    }
    const assertFree = () => {
      const taken = [...repositories.ids()].some(other => other.toLowerCase() === id.toLowerCase());
      if (!taken) return;
      throw new RepoconfError(1111, `A repository with the id ${id} already exists. Choose another id.`, { repo: id });
    };
    assertFree();
    if (inTree && path !== undefined) await this.#claimTree(id, path, more.base !== undefined);
    const files = new RepositoryFiles(id, this.#context, { isNew: true });
    await files.home.refresh();
    const { status, path: file } = files.home;
    if (status.kind !== "missing") {
      // On a failing disk, nobody knows whether it is there.
      const found = status.kind === "good" ? "already exists" : `exists, or cannot be read (${status.message})`;
      throw new RepoconfError(1111, `${file} ${found}. Choose another id, or move the file away.`, { repo: id });
    }
    const { paths, trust } = this.#context;
    // Of an earlier repository with this id.
    trust.drop(id);
    await this.#options.layers.moveLeft(id).catch(error => {
      throw storageFailure(id, error);
    });
    const place = { ...(path !== undefined && { path }), ...(remote !== undefined && { remote }) };
    const metadata = { name, ...place, inTree, ...ofBase(more) };
    const content = homeFileOf(metadata, {}, paths);
    // The log comes first, but it has no folders: for ours there is a place on the disk before.
    await (shared === undefined ? files.home.write(content) : files.home.prepareSynced(content)).catch(error => {
      throw storageFailure(id, error);
    });
    await shared?.additions.add(id, metadata, files, actor, assertFree).finally(() => files.home.dropPrepared());
    const added = repositories.get(id) ?? repositories.open(id, { files, addedBy: actor });
    if (!added.isRead) await added.refresh();
    // Its folder is in no log: until its file can be written, the next start finds it in the index.
    if (added.mirror.firstFailure !== undefined) await repositories.saveIndex();
    events.publish({ kind: "added", state: added.state });
    return added.summary;
  }

  /** The remote that a new repository is a clone of; undefined without a shared log, or while other machines' commits are missing. */
  async #remoteOf({ path, inTree }: NewRepository): Promise<string | undefined> {
    const { shared, reconciled } = this.#options;
    if (shared === undefined || path === undefined || inTree) return undefined;
    await reconciled();
    return readRemote(path);
  }

  /** Makes repositories of unknown files, and calls `onRead` after each. A failure is retried with the next rescan. */
  adopt(ids: readonly string[], onRead: () => void): Promise<void> {
    const { onProblem } = this.#context;
    const adoptOne = (id: string) =>
      this.#adopt(id).catch(error => onProblem("a new file cannot be read", { repo: id, error: String(error) }));
    return this.#lock(() => forEachConcurrently(ids, readWidth, id => adoptOne(id).finally(onRead)));
  }

  async #adopt(id: string): Promise<void> {
    const { repositories, shared, events } = this.#options;
    // The file of a repository that another machine removed must have been moved away.
    await shared?.left(id);
    if (this.#closed || repositories.has(id) || shared?.left(id) !== undefined) return;
    const files = new RepositoryFiles(id, this.#context, { isNew: true });
    await files.home.refresh();
    if (files.home.status.kind === "missing" || repositories.has(id)) return;
    const repository = repositories.open(id, { files });
    await repository.refresh();
    events.publish({ kind: "added", state: repository.state });
  }

  /** Throws RepoconfError 1102, 1106, 1108 or 1111. */
  update(id: string, changes: MetadataChanges): Promise<RepositorySummary> {
    const { repositories, shared } = this.#options;
    return this.#lock(async () => {
      const repository = await repositories.load(id);
      if (repository.state.inTree && changes.path !== undefined) await this.#claimTree(id, changes.path);
      await repository.exclusive(async () => {
        await shared?.shareName(repository, changes.name);
        await repository.text.changeMetadata(changes);
      });
      return repository.summary;
    });
  }

  /** Removes the repository and moves its file, if there is one, to `removed/`. Returns its path. Throws RepoconfError 1102 or 1108. */
  remove(id: string): Promise<string | undefined> {
    return this.#lock(async () => {
      const repository = this.#options.repositories.require(id);
      return repository.exclusive(async () => {
        // The file that is put aside has every commit, and is not written any more.
        await repository.writer.write();
        const [{ document } = { document: undefined }] = repository.ownAbove;
        const remove = () => repository.mirror.locked(() => this.#removeLocked(repository));
        return document === undefined ? remove() : document.exclusive(() => document.writer.write().then(remove));
      });
    });
  }

  async #removeLocked(repository: Repository): Promise<string | undefined> {
    const { id } = repository;
    const { log, clock } = this.#context;
    let movedTo: string | undefined;
    try {
      await repository.mirror.files.values.dropReplaced();
      // No commit may be in the log only: entries before the removal are never written to files again.
      if (repository.loaded) await repository.mirror.recordText();
      const removalOf = (repo: string): Removal => ({ kind: "remove", time: timeText(clock), repo });
      for (const { document } of repository.ownAbove)
        await appendWithRetry(log, () => removalOf(document.id), document);
      await appendWithRetry(log, () => removalOf(id), repository);
      await this.#options.layers.drop(id);
      movedTo = await moveAside(this.#context, id, repository.files.home.path);
    } catch (error) {
      throw storageFailure(id, error);
    }
    const { repositories, events } = this.#options;
    repositories.drop(repository);
    // Otherwise the next start after a crash would assume that its file was deleted by hand.
    await repositories.saveIndex();
    events.publish({ kind: "removed", state: repository.state });
    return movedTo;
  }

  /** Ensures that an in-tree file belongs to one repository only. Throws RepoconfError 1101 or 1111. */
  async #claimTree(id: string, folder: string, isRealPath = false): Promise<void> {
    const { repositories } = this.#options;
    const stats = await foreignDisks.ask(folder, () => stat(folder)).catch(() => undefined);
    if (!stats?.isDirectory()) {
      const message = `${folder} is not a folder. An in-tree repository needs its work tree's folder.`;
      throw new RepoconfError(1101, message, { repo: id });
    }
    // A worktree was searched for by its real path before: only what was added since is missing.
    const realOf = async (path: string) =>
      isRealPath ? path : foreignDisks.ask(path, () => realFolder(path)).catch(() => path);
    const real = await realOf(folder);
    for (const other of repositories.ids()) {
      const { path, inTree, base } = repositories.brief(other) ?? {};
      if (other === id || !inTree || path === undefined) continue;
      if ((await realOf(path)) !== real) continue;
      // Two worktrees may have changed places, and a removed one stays until it is certain that it was removed.
      if (base !== undefined && (await isElsewhere({ repositories, paths: this.#context.paths }, other))) continue;
      const message = `The in-tree file of ${folder} already belongs to the repository ${other}.`;
      throw new RepoconfError(1111, message, { repo: id });
    }
  }

  /** Adopts no more files. */
  close(): void {
    this.#closed = true;
  }
}
