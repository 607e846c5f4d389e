import { applyConfigEdits } from "../../../shared/config.ts";
import { isRemote } from "../../git/git-remote.ts";
import type { StoreContext } from "../context.ts";
import type { StoreEvents } from "../events.ts";
import type { Journals } from "../history/journals.ts";
import {
  type Commit,
  type Committed,
  type FollowedEntry,
  type Forgetting,
  type KeptHistory,
  numberIn,
} from "../log/commit-log.ts";
import { homeFileOf, RepositoryFiles } from "../mirror/repository-files.ts";
import { moveAside } from "../removed-files.ts";
import type { Repositories } from "../repository/repositories.ts";
import { storageFailure } from "../storage-failure.ts";
import type { DocumentCommit, LogNumber } from "../types.ts";
import type { SharedRepository } from "./kept-history.ts";
import type { SharedScopes } from "./shared-scopes.ts";

/** The parts of a store that other machines' entries change. */
export interface ForeignChangesParts {
  readonly repositories: Repositories<SharedRepository>;
  readonly journals: Journals;
  readonly erasures: {
    applyRemote(number: LogNumber, entry: Forgetting): Promise<void>;
    carryOut(): Promise<void>;
  };
  readonly scopes: SharedScopes;
  readonly events: StoreEvents;
}

/** Applies the entries that other machines append to a shared log. */
export class RemoteChanges {
  readonly #context: StoreContext;
  readonly #parts: ForeignChangesParts;
  /** Repositories that another machine removed and whose files still exist: the entry, and when the file has been moved away. */
  readonly #leaving = new Map<string, { readonly number: LogNumber; readonly left: Promise<void> }>();
  /** Entries with a new name that is not in the file yet. */
  readonly #renamings = new Set<{ readonly number: LogNumber }>();

  constructor(context: StoreContext, parts: ForeignChangesParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** The numbers of entries that are not in files yet: the log must keep them. */
  get numbers(): Iterable<LogNumber> {
    return [...this.#leaving.values(), ...this.#renamings].map(({ number }) => number);
  }

  /** Whether another machine removed the repository and its file still exists. */
  isLeaving(id: string): boolean {
    return this.#leaving.has(id);
  }

  /** Prepares another machine's entry. The returned function makes it visible. */
  async prepare({ number, entry }: Committed<FollowedEntry>): Promise<() => void> {
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
    const kept = commits.flatMap(entry =>
      entry.documents.map(document => ({ committed: { number, entry }, document })),
    );
    const [first] = kept;
    if (first === undefined) return () => {};
    const known = this.#parts.repositories.get(id);
    if (known?.isRead === false) await known.refresh();
    // The earlier repository was removed, and this one added, in the meantime.
    if (known?.loaded && known.lineage !== first.document.lineage) this.#leave(id, number);
    const added = this.#parts.repositories.has(id)
      ? undefined
      : await this.#addElsewhere(first.committed, first.document);
    const repository = this.#parts.repositories.require(id);
    return () => {
      if (added !== undefined) this.#parts.events.publish({ kind: "added", state: added.state });
      for (const { committed, document } of kept) repository.applyRemote(committed, document, false);
      this.#rename(number, id, first.document.name ?? id);
    };
  }

  /** Writes another machine's new name of a repository to its file, as soon as nothing else writes to it. */
  #rename(number: LogNumber, id: string, name: string): void {
    const repository = this.#parts.repositories.get(id);
    if (repository === undefined || repository.state.name === name) return;
    const renaming = { number };
    this.#renamings.add(renaming);
    void repository
      .exclusive(() => repository.text.changeMetadata({ name }))
      .catch(error =>
        this.#context.onProblem("cannot write the new name of a repository into its file", {
          repo: id,
          error: String(error),
        }),
      )
      .finally(() => this.#renamings.delete(renaming));
  }

  async #prepareDocument(
    committed: Committed<Commit>,
    document: DocumentCommit,
  ): Promise<((isPart: boolean) => void) | undefined> {
    const id = document.repo;
    const added = this.#parts.repositories.has(id) ? undefined : await this.#addElsewhere(committed, document);
    if (added !== undefined) return () => this.#parts.events.publish({ kind: "added", state: added.state });
    // The repository could not be added here, which has been reported.
    if (!this.#parts.repositories.has(id)) return undefined;
    const repository = this.#parts.repositories.require(id);
    // The event needs the values before the change.
    if (!repository.isRead) await repository.refresh();
    return isPart => {
      repository.applyRemote(committed, document, isPart);
    };
  }

  /** Adds a repository that another machine added: with a file of its values, but without a folder. */
  async #addElsewhere(committed: Committed<Commit>, document: DocumentCommit): Promise<SharedRepository | undefined> {
    const { repo: id, begins, name = id, remote, edits } = document;
    const { paths, onProblem, trust } = this.#context;
    const { repositories } = this.#parts;
    if (!begins) {
      onProblem("skipped a change of an unknown repository", { repo: id, number: committed.number });
      return undefined;
    }
    // The removed repository's file must have been moved away.
    await this.#leaving.get(id)?.left;
    trust.drop(id);
    const { home } = new RepositoryFiles(id, this.#context);
    await home.refresh();
    if (repositories.has(id)) return undefined;
    await this.#clearHistory(id, document.revision);
    // Known before its file exists, so that the file does not count as a new repository.
    const added = repositories.open(id, { commits: [committed] });
    const metadata = { name, inTree: false, ...(isRemote(remote) && { remote }) };
    const write = async () => {
      if (home.status.kind === "missing") await home.write(homeFileOf(metadata, applyConfigEdits({}, edits), paths));
    };
    // In the same turn of the event loop: a set in between would wait for this entry, and this entry for the set.
    const written = added.mirror.locked(write).catch(error => {
      onProblem("cannot write the file of a repository", { repo: id, error: String(error) });
    });
    await Promise.all([written, added.refresh()]);
    return added;
  }

  /** Deletes the history of an earlier repository, unless the new one continues it. */
  async #clearHistory(id: string, revision: number): Promise<void> {
    const { journals } = this.#parts;
    const journal = journals.open(id);
    await journal.open();
    if ((journal.head?.revision ?? 0) < revision) journals.keep(id, journal);
    else for (const { path } of journal.segments) await this.#context.fileSystem.unlink(path);
  }

  /** Removes a repository that another machine removed, and moves its file away as soon as nothing else writes to it. */
  #leave(id: string, number: LogNumber): void {
    const repository = this.#parts.repositories.get(id);
    // Entries replayed after a start may belong to an earlier repository with this id.
    if (repository === undefined || numberIn(this.#context.log.id, repository.state.position) > number) return;
    this.#parts.repositories.drop(repository);
    this.#parts.events.publish({ kind: "removed", state: repository.state });
    const putAside = async () => {
      await repository.mirror.dropReplaced();
      if (repository.loaded) await repository.mirror.recordText();
      await moveAside(this.#context, id, repository.files.home.path).catch(error => {
        throw storageFailure(id, error);
      });
    };
    const left = repository
      .exclusive(() => repository.mirror.locked(putAside))
      .then(async () => void (await this.#parts.repositories.saveIndex()))
      .catch(error =>
        this.#context.onProblem("the file of a repository that was removed cannot be put aside", {
          repo: id,
          error: String(error),
        }),
      )
      .finally(() => this.#leaving.delete(id));
    this.#leaving.set(id, { number, left });
  }
}
