import { RepoconfError } from "../../../shared/errors.ts";
import { timeText } from "../../time/clock.ts";
import type { StoreContext } from "../context.ts";
import type { StoreEvents } from "../events.ts";
import type { Journals } from "../history/journals.ts";
import { appendWithRetry } from "../log/append-with-retry.ts";
import {
  type Commit,
  type Committed,
  type FollowedEntry,
  type Follower,
  type Forgetting,
  type KeptHistory,
  numberIn,
  type Renaming,
  type Snapshots,
} from "../log/commit-log.ts";
import type { MetadataChanges } from "../mirror/repository-metadata.ts";
import { moveAside } from "../removed-files.ts";
import type { Repositories } from "../repository/repositories.ts";
import { storageFailure } from "../storage-failure.ts";
import type { DocumentCommit, LogNumber, RepositoryState } from "../types.ts";
import type { SharedRepository } from "./kept-history.ts";
import { LogShortener } from "./log-shortener.ts";
import { SharedAdditions } from "./shared-additions.ts";
import type { SharedScopes } from "./shared-scopes.ts";

export interface SharedStoreOptions {
  readonly scopes: SharedScopes;
  /** From this many bytes on, the log is shortened if it is much longer than the histories that are kept. */
  readonly leastBytes?: number;
}

const defaultLeastBytes = 64 * 1024 * 1024;
/** Milliseconds between two attempts to move a file away. */
const retryDelay = 1_000;

/** The parts of a store that other machines' entries change. */
export interface SharedStoreParts {
  readonly repositories: Repositories<SharedRepository>;
  readonly journals: Journals;
  readonly erasures: {
    applyRemote(number: LogNumber, entry: Forgetting): Promise<void>;
    carryOut(): Promise<void>;
  };
  readonly scopes: SharedScopes;
  readonly events: StoreEvents;
}

/** The error of a request for local values, which have no log here. */
export function noLocalValues(repo: string): RepoconfError {
  const message =
    "A home on a shared log has no local values yet, because it has no log of its own to keep them in. Set the value for everyone (without --local), or keep this repository in a home of its own.";
  return new RepoconfError(1101, message, { repo });
}

/** Everything that a store does because several machines share its log: above all, it applies the entries that others append. */
export class SharedStore {
  readonly shortener: LogShortener;
  readonly additions: SharedAdditions;
  readonly #context: StoreContext;
  readonly #parts: SharedStoreParts;
  /** Repositories that another machine removed and whose files still exist: the entry, and when the file has been moved away. */
  readonly #leaving = new Map<string, { readonly number: LogNumber; readonly left: Promise<void> }>();
  /** Entries with a new name or folder that is not in the file yet. */
  readonly #descriptions = new Set<{ readonly number: LogNumber }>();
  #isClosed = false;

  constructor(context: StoreContext, parts: SharedStoreParts, snapshots: Snapshots, leastBytes = defaultLeastBytes) {
    this.#context = context;
    this.#parts = parts;
    this.shortener = new LogShortener(context, parts, snapshots, leastBytes);
    this.additions = new SharedAdditions(context, { ...parts, left: id => this.left(id) });
  }

  /** Starts to apply what other machines append. Resolves when that is applied, or when the log cannot be reached. */
  subscribe(callbacks: Omit<Follower, "prepare">): Promise<void> {
    return this.#context.log.subscribe({ prepare: committed => this.#prepare(committed), ...callbacks });
  }

  /** The numbers of entries that are not in files yet: the log must keep them. */
  get numbers(): LogNumber[] {
    const unfinished = [...this.#leaving.values(), ...this.#descriptions];
    return [...unfinished.map(({ number }) => number), ...this.#parts.scopes.numbers];
  }

  /** Resolves when it was tried to move the file of a repository away that another machine removed; undefined if there is none any more. */
  left(id: string): Promise<void> | undefined {
    return this.#leaving.get(id)?.left;
  }

  /** Prepares another machine's entry. The returned function makes it visible. */
  async #prepare({ number, entry }: Committed<FollowedEntry>): Promise<() => void> {
    switch (entry.kind) {
      case "commit":
        return this.#prepareCommit({ number, entry });
      case "kept":
        return this.#prepareKept(number, entry);
      case "forget":
        await this.#parts.erasures.applyRemote(number, entry);
        return () => {};
      case "rename":
        return () => this.#rename(number, entry.repo, entry.name);
      case "remove":
        return this.#prepareRemovals([entry.repo], number);
      case "scope":
        await this.#parts.scopes.applyChange(number, entry);
        return () => {};
      case "remaining":
        await this.#parts.scopes.applyRemaining(number, entry.scopes);
        return this.#prepareRemovals(
          [...this.#parts.repositories.ids()].filter(id => !entry.repos.has(id)),
          number,
        );
    }
  }

  async #prepareCommit({ number, entry }: Committed<Commit>): Promise<() => void> {
    const shown: ((isPart: boolean) => void)[] = [];
    for (const document of entry.documents) {
      const show = await this.#prepareDocument({ number, entry }, document);
      if (show !== undefined) shown.push(show);
    }
    return () => {
      for (const [index, show] of shown.entries()) show(index < shown.length - 1);
    };
  }

  async #prepareRemovals(ids: readonly string[], number: LogNumber): Promise<() => void> {
    for (const id of ids) {
      const repository = this.#parts.repositories.get(id);
      if (repository?.isRead === false) await repository.refresh();
    }
    return () => {
      for (const id of ids) this.#leave(id, number);
    };
  }

  /** Prepares a repository of a snapshot, for a machine that missed earlier entries; those that it has are skipped. */
  async #prepareKept(number: LogNumber, { repo: id, commits }: KeptHistory): Promise<() => void> {
    const [first, ...later] = commits.flatMap(entry =>
      entry.documents.map(document => ({ committed: { number, entry }, document })),
    );
    if (first === undefined) return () => {};
    const known = this.#parts.repositories.get(id);
    if (known?.isRead === false) await known.refresh();
    // The earlier repository was removed, and this one added, in the meantime.
    if (known?.loaded && known.lineage !== first.document.lineage) this.#leave(id, number);
    const show = await this.#prepareDocument(first.committed, first.document);
    const repository = this.#parts.repositories.require(id);
    return () => {
      show?.(false);
      for (const { committed, document } of later) repository.applyRemote(committed, document, false);
      this.#rename(number, id, first.document.name ?? id);
    };
  }

  /** Writes another machine's new name of a repository to its file, as soon as nothing else writes to it. */
  #rename(number: LogNumber, id: string, name: string): void {
    const repository = this.#parts.repositories.get(id);
    if (repository !== undefined && repository.state.name !== name) void this.#describe(repository, number, { name });
  }

  /** Writes a new name or folder of a repository into its file, as soon as nothing else writes to it. */
  async #describe(repository: SharedRepository, number: LogNumber, changes: MetadataChanges): Promise<void> {
    const unfinished = { number };
    this.#descriptions.add(unfinished);
    await repository
      .exclusive(() => repository.text.changeMetadata(changes))
      .catch(this.#reporting("cannot write the new name or folder of a repository into its file", repository.id))
      .finally(() => this.#descriptions.delete(unfinished));
  }

  /** The folder of a removed clone goes to the other repository of its remote: `repo merge` made them one. */
  async #passOnFolder({ path, remote, favourite }: RepositoryState, number: LogNumber): Promise<void> {
    if (path === undefined || remote === undefined) return;
    const [id, ...others] = this.additions.withoutFolder(remote);
    const heir = id !== undefined && others.length === 0 ? this.#parts.repositories.get(id) : undefined;
    if (heir !== undefined) await this.#describe(heir, number, { path, ...(favourite && { favourite }) });
  }

  async #prepareDocument(
    committed: Committed<Commit>,
    document: DocumentCommit,
  ): Promise<((isPart: boolean) => void) | undefined> {
    const { repositories, events } = this.#parts;
    const id = document.repo;
    const added = repositories.has(id) ? undefined : await this.additions.addElsewhere(committed, document);
    const repository = added ?? repositories.get(id);
    // The repository could not be added here, which has been reported.
    if (repository === undefined) return undefined;
    // The event needs the values before the change.
    if (!repository.isRead) await repository.refresh();
    if (document.begins && !repository.hasBegun) await this.additions.keepOther(repository, document);
    return isPart => {
      if (added === undefined) repository.applyRemote(committed, document, isPart);
      else events.publish({ kind: "added", state: added.state });
    };
  }

  /** Removes a repository that another machine removed, and moves its file away as soon as nothing else writes to it. */
  #leave(id: string, number: LogNumber): void {
    const repository = this.#parts.repositories.get(id);
    // Entries replayed after a start may belong to an earlier repository with this id; all do if this one is not in the log yet.
    if (!repository?.hasBegun || numberIn(this.#context.log.id, repository.state.position) > number) return;
    const { repositories, events } = this.#parts;
    if (repository.loaded) repositories.leaving.set(id, JSON.stringify(repository.indexEntry));
    repositories.drop(repository);
    events.publish({ kind: "removed", state: repository.state });
    const putAside = async () => {
      await repository.writer.writeLast();
      await repository.mirror.files.values.dropReplaced();
      if (repository.loaded) await repository.mirror.recordText();
      // With the segments that it has begun since it was dropped: a next repository with this id may continue the history.
      this.#parts.journals.keep(id, repository.journal);
      const kept = await moveAside(this.#context, id, repository.files.home.path).catch(error => {
        throw storageFailure(id, error);
      });
      if (kept === undefined || !repository.mirror.isFileOutdated) return;
      const message = `Another machine removed ${id}. The last changes of its values could not be written to its file, which is kept in ${kept}: compare it before you put it back. Its history has them.`;
      await this.#context.findings.add({ message, kept });
    };
    const finish = async () => {
      await repository.exclusive(() => repository.mirror.locked(putAside));
      repositories.leaving.delete(id);
      await repositories.saveIndex();
      this.#leaving.delete(id);
    };
    const tried = this.#passOnFolder(repository.state, number).then(finish);
    const report = this.#reporting("the file of a repository that was removed cannot be put aside", id);
    this.#leaving.set(id, { number, left: tried.catch(report) });
    tried.catch(() => this.#retryLeaving(id, finish));
  }

  /** If the file stayed, a rescan or the next start would take it for one that somebody has put back. */
  async #retryLeaving(id: string, finish: () => Promise<void>): Promise<void> {
    const { clock } = this.#context;
    for (;;) {
      await clock.delay(retryDelay);
      // The log keeps the entry, and the index the repository, so the next start goes on.
      if (this.#isClosed) return;
      // Another one was added meanwhile, and has the file.
      if (this.#parts.repositories.has(id)) break;
      try {
        return await finish();
      } catch {
        // Told the first time.
      }
    }
    this.#parts.repositories.leaving.delete(id);
    this.#leaving.delete(id);
  }

  /** What reports an error about a repository. */
  #reporting(message: string, repo: string): (error: unknown) => void {
    return error => this.#context.onProblem(message, { repo, error: String(error) });
  }

  /** Tells the other machines a repository's new name. Call it inside `exclusive`. Throws RepoconfError 1108. */
  async shareName(repository: SharedRepository, name: string | undefined): Promise<void> {
    const { id, state } = repository;
    const { log, clock } = this.#context;
    if (name === undefined || (name === state.name && log.problem === undefined)) return;
    const renaming: Renaming = { kind: "rename", time: timeText(clock), repo: id, name };
    try {
      await appendWithRetry(log, () => renaming, repository);
    } catch (error) {
      throw storageFailure(id, error);
    }
  }

  /** Starts no further work. */
  close(): void {
    this.#isClosed = true;
    this.shortener.close();
    this.#parts.scopes.close();
  }
}
