import { randomBytes } from "node:crypto";
import { configValue } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { sameJson } from "../../../shared/json.ts";
import { isRemote } from "../../git/git-remote.ts";
import { timeText } from "../../time/clock.ts";
import type { StoreContext } from "../context.ts";
import type { Journals } from "../history/journals.ts";
import { appendWithRetry } from "../log/append-with-retry.ts";
import { AppendError, type Commit, type Committed } from "../log/commit-log.ts";
import type { RepositoryFiles } from "../mirror/repository-files.ts";
import { keepAside } from "../removed-files.ts";
import type { Repositories } from "../repository/repositories.ts";
import { causeOf, storageFailure } from "../storage-failure.ts";
import type { Actor, DocumentCommit, RepositoryMetadata } from "../types.ts";
import type { SharedRepository } from "./kept-history.ts";

interface SharedAdditionsParts {
  readonly repositories: Repositories<SharedRepository>;
  readonly journals: Journals;
  /** Resolves when the file of a removed repository has been moved away. */
  left(id: string): Promise<void> | undefined;
}

/** Adds the repositories that begin in a shared log, on this machine or another one: first there, then here, and last its file. */
export class SharedAdditions {
  readonly #context: StoreContext;
  readonly #parts: SharedAdditionsParts;
  /** By lineage: what this machine knows of repositories that it may have added. If the log has them, they arrive like those of others. */
  readonly #uncertain = new Map<string, RepositoryMetadata>();

  constructor(context: StoreContext, parts: SharedAdditionsParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** Adds a repository that another machine added: with a file of its values, but without a folder, unless this machine may have added it. */
  async addElsewhere(committed: Committed<Commit>, document: DocumentCommit): Promise<SharedRepository | undefined> {
    const { repo: id, lineage, begins, name = id, remote } = document;
    const { onProblem, trust } = this.#context;
    const { repositories } = this.#parts;
    if (!begins) {
      onProblem("skipped a change of an unknown repository", { repo: id, number: committed.number });
      return undefined;
    }
    // The removed repository's file must have been moved away.
    await this.#parts.left(id);
    trust.drop(id);
    if (repositories.has(id)) return undefined;
    await this.#clearHistory(id, document.revision);
    const own = this.#uncertain.get(lineage);
    this.#uncertain.delete(lineage);
    const metadata = { name, inTree: false, ...(isRemote(remote) && { remote }), ...own };
    return this.#begin(id, committed, metadata);
  }

  /**
   * Adds a repository of this machine. It is in the log before it has a file: if the log cannot be reached, nothing is added. `files`: the
   * prepared one. `assertFree` throws if its id is in use by now. Throws that, or RepoconfError 1108.
   */
  async add(
    id: string,
    metadata: RepositoryMetadata,
    files: RepositoryFiles,
    actor: Actor,
    assertFree: () => void,
  ): Promise<void> {
    const { log, clock } = this.#context;
    const { name, remote } = metadata;
    const lineage = randomBytes(4).toString("hex");
    const make = async (): Promise<Commit> => {
      const revision = (await this.#recordedRevision(id)) + 1;
      assertFree();
      // The values of an earlier repository with this id, which the history has, are not this one's.
      const about = { begins: true, isWhole: true, name, ...(remote !== undefined && { remote }) } as const;
      const documents = [{ repo: id, lineage, ...about, revision, edits: [] }];
      return {
        kind: "commit",
        time: timeText(clock),
        actor,
        source: "set",
        ...log.signature,
        documents,
      };
    };
    let begun: Promise<unknown> | undefined;
    try {
      await appendWithRetry(log, make, undefined, committed => {
        begun = this.#begin(id, committed, metadata, files);
      });
    } catch (error) {
      if (!(error instanceof AppendError && error.isOutcomeUnknown)) throw storageFailure(id, error);
      this.#uncertain.set(lineage, metadata);
      throw uncertain(id, metadata, error);
    }
    await begun;
  }

  /** Opens a repository that the log has just begun. Reading it also writes its file. */
  async #begin(
    id: string,
    committed: Committed<Commit>,
    metadata: RepositoryMetadata,
    files?: RepositoryFiles,
  ): Promise<SharedRepository> {
    // Known before its file exists, so that the file does not count as a new repository.
    const indexed = { id, ...metadata, revision: 0, health: [], modified: 0, stamps: {} };
    const added = this.#parts.repositories.open(id, { commits: [committed], indexed, ...(files && { files }) });
    // In the same turn of the event loop: a set in between would wait for this entry, and this entry for the set.
    await added.refresh();
    return added;
  }

  /**
   * Call before the first commit of a repository is applied that another machine began, if this one has a file for it that is in no log
   * yet: where both have a value, the log's counts, so this machine's file is kept, and told.
   */
  async keepOther({ id, files }: SharedRepository, { edits }: DocumentCommit): Promise<void> {
    const { content } = files;
    if (content.kind === "broken") return;
    const differing = edits.filter(({ scope, field, value }) => {
      const own = configValue(content.config, scope, field);
      return own !== undefined && !sameJson(own, value);
    });
    if (differing.length === 0) return;
    const kept = await keepAside(this.#context, id, files.values.path);
    if (kept === undefined) return;
    const names = differing.map(({ scope, field }) => joinConfigPath(scope, field)).join(", ");
    const message = `This machine and another one added ${id} while they could not reach each other. Both have ${names}, with other values: those of the other machine, which was first, are in use and in the history. This machine's file is kept in ${kept}; to use its values, set them again.`;
    await this.#context.findings.add({ repo: id, message, kept });
  }

  async #recordedRevision(id: string): Promise<number> {
    const { journals } = this.#parts;
    const journal = journals.open(id);
    try {
      await journal.open();
      return journal.head?.revision ?? 0;
    } finally {
      journals.keep(id, journal);
    }
  }

  /** Deletes the history of an earlier repository, unless the new one continues it. */
  async #clearHistory(id: string, revision: number): Promise<void> {
    const { journals } = this.#parts;
    const journal = journals.open(id);
    await journal.open();
    if ((journal.head?.revision ?? 0) < revision) journals.keep(id, journal);
    else for (const { path } of journal.segments) await this.#context.fileSystem.unlink(path);
  }

  /** The repositories with this remote that have no folder on this machine. */
  withoutFolder(remote: string): readonly string[] {
    const { repositories } = this.#parts;
    return [...repositories.ids()].filter(id => {
      const known = repositories.brief(id);
      return known?.remote === remote && known.path === undefined;
    });
  }

  /** The one of them. Throws RepoconfError 1111 if there are several. */
  cloneOf(remote: string): string | undefined {
    const { repositories } = this.#parts;
    const found = this.withoutFolder(remote);
    if (found.length < 2) return found[0];
    const names = found.map(id => [repositories.brief(id)?.name, `(${id})`].join(" ")).join(", ");
    const message = `Several repositories of the shared log are clones of ${remote} and have no folder on this machine: ${names}. Give one of them the folder (repoconf repo move ID FOLDER), make them one (repoconf repo merge ID ID), or add another one with an id of its own (--id).`;
    throw new RepoconfError(1111, message);
  }
}

/** The error for an addition that may be in the log. */
function uncertain(repo: string, { path }: RepositoryMetadata, error: AppendError): RepoconfError {
  const cause = causeOf(error.cause);
  const folder =
    path === undefined
      ? ""
      : ` If the daemon restarts before that, it has no folder: give it one (repoconf repo move ${repo} ${path}).`;
  const message = `It is not known whether the repository was added (${cause}). If it was, it turns up as ${repo} once the log can be reached.${folder}`;
  return new RepoconfError(1108, message, { repo, details: { cause, outcome: "unknown" } });
}
