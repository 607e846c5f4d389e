import { applyConfigEdits } from "../../../shared/config.ts";
import type { JsonObject } from "../../../shared/json.ts";
import type { Clock } from "../../clock.ts";
import type { FileSystem } from "../../files/file-system.ts";
import { isRemote } from "../../git-remote.ts";
import type { SharedScopes } from "../shared-scopes.ts";
import type { Forgettings } from "./forgettings.ts";
import type { Journal, Segment } from "./journal/journal.ts";
import {
  type Commit,
  type CommitLog,
  type Committed,
  type DocumentCommit,
  type FollowedEntry,
  type KeptHistory,
  type LogNumber,
  numberIn,
} from "./log/commit-log.ts";
import type { RemovedFiles } from "./removed-files.ts";
import type { Repositories } from "./repositories.ts";
import type { Repository } from "./repository.ts";
import { RepositoryFiles, type StoreFolders } from "./repository-files.ts";
import type { StoreEvent } from "./store.ts";
import type { TrustedValues } from "./trusted-values.ts";

export interface ForeignChangesOptions {
  readonly log: CommitLog;
  readonly repositories: Repositories;
  /** Because of these the log has to keep something. */
  readonly kept: Set<Repository>;
  /** What the log has that histories may lack, for repositories that were not opened yet. */
  readonly unmirrored: Map<string, Committed<Commit>[]>;
  readonly forgettings: Forgettings;
  readonly removedFiles: RemovedFiles;
  readonly scopes: SharedScopes | undefined;
  readonly folders: StoreFolders;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  readonly trust: TrustedValues;
  /** What `$schema` in a new repository's file says. */
  readonly schemaReference: string;
  openJournal(id: string): Journal;
  keepSegments(id: string, segments: readonly Segment[]): void;
  publish(event: StoreEvent): void;
  /** It is served no longer. */
  dropRepository(repository: Repository): void;
  saveIndex(): Promise<void>;
  onProblem(message: string, context: { readonly [name: string]: unknown }): void;
}

/** Takes in what other machines append to a log that several share. */
export class ForeignChanges {
  readonly #options: ForeignChangesOptions;
  /** Repositories that another machine removed, whose files are still in their places: by which entry, and until when. */
  readonly #leaving = new Map<string, { readonly number: LogNumber; readonly left: Promise<void> }>();
  /** Names that others gave, by the entries that say so, on their way into files. */
  readonly #renamings = new Set<{ readonly number: LogNumber }>();

  constructor(options: ForeignChangesOptions) {
    this.#options = options;
  }

  /** Of the entries that are not in files yet: the log has to keep these. */
  get numbers(): Iterable<LogNumber> {
    return [...this.#leaving.values(), ...this.#renamings].map(({ number }) => number);
  }

  /** Whether the file of a repository that another machine removed is still in its place. */
  isLeaving(id: string): boolean {
    return this.#leaving.has(id);
  }

  /** What another machine appended is about to be taken in: what is returned makes it visible. */
  async prepare({ number, entry }: Committed<FollowedEntry>): Promise<() => void> {
    switch (entry.kind) {
      case "commit":
        return this.#prepareCommit({ number, entry });
      case "kept":
        return this.#prepareKept(number, entry);
      case "forget":
        await this.#options.forgettings.takeOver(number, entry);
        return () => {};
      case "rename":
        return () => this.#rename(number, entry.repo, entry.name);
      case "remove":
        return this.#prepareRemovals([entry.repo], number);
      case "scope":
        await this.#options.scopes?.applyChange(number, entry);
        return () => {};
      case "remaining":
        await this.#options.scopes?.applyRemaining(number, entry.scopes);
        return this.#prepareRemovals(
          [...this.#options.repositories.ids()].filter(id => !entry.repos.has(id)),
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
      const repository = this.#options.repositories.get(id);
      if (repository?.isRead === false) await repository.refresh();
    }
    return () => {
      for (const id of ids) this.#leave(id, number);
    };
  }

  /** A repository of a snapshot, for a machine that has not seen all of what came before: what it has of it is passed over. */
  async #prepareKept(number: LogNumber, { repo: id, commits }: KeptHistory): Promise<() => void> {
    const kept = commits.flatMap(entry =>
      entry.documents.map(document => ({ committed: { number, entry }, document })),
    );
    const [first] = kept;
    if (first === undefined) return () => {};
    const known = this.#options.repositories.get(id);
    if (known?.isRead === false) await known.refresh();
    // That one was removed, and this one added, meanwhile.
    if (known?.loaded && known.lineage !== first.document.lineage) this.#leave(id, number);
    const added = this.#options.repositories.has(id)
      ? undefined
      : await this.#addElsewhere(first.committed, first.document);
    const repository = this.#options.repositories.require(id);
    return () => {
      if (added !== undefined) this.#options.publish({ kind: "added", state: added.state });
      this.#options.kept.add(repository);
      for (const { committed, document } of kept) repository.takeOver(committed, document, false);
      this.#rename(number, id, first.document.name ?? id);
    };
  }

  /** Another machine calls a repository by another name: its file here says so too, as soon as it is free. */
  #rename(number: LogNumber, id: string, name: string): void {
    const repository = this.#options.repositories.get(id);
    if (repository === undefined || repository.state.name === name) return;
    const renaming = { number };
    this.#renamings.add(renaming);
    void repository
      .exclusive(() => repository.text.changeMetadata({ name }))
      .catch(error =>
        this.#options.onProblem("cannot write the new name of a repository into its file", {
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
    const added = this.#options.repositories.has(id) ? undefined : await this.#addElsewhere(committed, document);
    if (added !== undefined) return () => this.#options.publish({ kind: "added", state: added.state });
    // It was nobody's who could have added it, and that has been told.
    if (!this.#options.repositories.has(id)) return undefined;
    const repository = this.#options.repositories.require(id);
    // The change is told as one of what was there.
    if (!repository.isRead) await repository.refresh();
    return isPart => {
      this.#options.kept.add(repository);
      repository.takeOver(committed, document, isPart);
    };
  }

  /** Another machine added a repository: this one has its values in a file too, and no folder for it. */
  async #addElsewhere(committed: Committed<Commit>, document: DocumentCommit): Promise<Repository | undefined> {
    const { repo: id, begins, name = id, remote, edits } = document;
    const { folders, clock, onProblem, schemaReference, trust } = this.#options;
    if (!begins) {
      onProblem("skipped a change of an unknown repository", { repo: id, number: committed.number });
      return undefined;
    }
    // Nothing of the one that was removed is to be in its place.
    await this.#leaving.get(id)?.left;
    trust.drop(id);
    const { home } = new RepositoryFiles(id, folders, this.#options.fileSystem, clock);
    await home.refresh();
    if (this.#options.repositories.has(id)) return undefined;
    await this.#clearHistory(id, document.revision);
    // Known before its file is there, which then is nobody's new repository.
    this.#options.unmirrored.set(id, [committed]);
    this.#options.repositories.add(id);
    const added = this.#options.repositories.require(id);
    this.#options.unmirrored.delete(id);
    this.#options.kept.add(added);
    const metadata: JsonObject = {
      $schema: schemaReference,
      name,
      ...(isRemote(remote) && { remote }),
      config: applyConfigEdits({}, edits),
    };
    const write = async () => {
      if (home.status.kind === "missing") await home.write(metadata);
    };
    // In the same turn of the event loop: a set that came in between would wait for this entry, and this entry for the set.
    const written = added.mirror.inTurn(write).catch(error => {
      onProblem("cannot write the file of a repository", { repo: id, error: String(error) });
    });
    await Promise.all([written, added.refresh()]);
    return added;
  }

  /** The history that an earlier repository left goes, unless a new one's can go on behind it. */
  async #clearHistory(id: string, revision: number): Promise<void> {
    const journal = this.#options.openJournal(id);
    await journal.open(undefined, 0);
    if ((journal.head?.revision ?? 0) < revision) this.#options.keepSegments(id, journal.segments);
    else for (const { path } of journal.segments) await this.#options.fileSystem.unlink(path);
  }

  /** Another machine removed a repository: nobody is served it any more, and its file is put aside as soon as it is free. */
  #leave(id: string, number: LogNumber): void {
    const repository = this.#options.repositories.get(id);
    // What comes again after a start may be of an earlier one of this id.
    if (repository === undefined || numberIn(this.#options.log.id, repository.state.position) > number) return;
    this.#options.dropRepository(repository);
    this.#options.publish({ kind: "removed", state: repository.state });
    const putAside = async () => {
      await repository.mirror.dropReplaced();
      if (repository.loaded) await repository.mirror.recordText();
      await this.#options.removedFiles.putAside(repository);
    };
    const left = repository
      .exclusive(() => repository.mirror.inTurn(putAside))
      .then(() => this.#options.saveIndex())
      .catch(error =>
        this.#options.onProblem("the file of a repository that was removed cannot be put aside", {
          repo: id,
          error: String(error),
        }),
      )
      .finally(() => this.#leaving.delete(id));
    this.#leaving.set(id, { number, left });
  }
}
