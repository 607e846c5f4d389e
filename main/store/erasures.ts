import { type Config, configValue } from "../../shared/config.ts";
import type { ConfigPath } from "../../shared/config-path.ts";
import { RepoconfError } from "../../shared/errors.ts";
import { timeText } from "../time/clock.ts";
import type { StoreContext } from "./context.ts";
import { damagedJournal } from "./history/repository-history.ts";
import { forgetValues } from "./history/rewrite.ts";
import { JournalDamageError } from "./history/segment.ts";
import { appendWithRetry } from "./log/append-with-retry.ts";
import type { Committed, Forgetting } from "./log/commit-log.ts";
import type { Repositories } from "./repository/repositories.ts";
import type { Repository } from "./repository/repository.ts";
import { causeOf, storageFailure } from "./storage-failure.ts";
import type { Actor, LogNumber } from "./types.ts";

/** What erases values from a log that several machines share. */
interface Shortener {
  watchForgetting(): void;
  shorten(behind: LogNumber): Promise<void>;
}

/** Repositories, and the documents of their layers. */
interface ErasedDocuments {
  readonly repositories: Pick<Repositories<Repository>, "ids" | "brief" | "load">;
  find(id: string): Repository | undefined;
  allOpened(): Iterable<Repository>;
}

/** Erases values from every history and from the log (`history/forget`). */
export class Erasures {
  readonly #context: StoreContext;
  readonly #all: ErasedDocuments;
  readonly #shortener: () => Shortener | undefined;
  /** Entries that request it and are not carried out yet. */
  readonly #pending = new Map<LogNumber, Forgetting>();

  /** `shortener`: undefined unless the log is shared. */
  constructor(context: StoreContext, all: ErasedDocuments, shortener: () => Shortener | undefined) {
    this.#context = context;
    this.#all = all;
    this.#shortener = shortener;
  }

  /** The numbers of entries that the log must keep. */
  get numbers(): Iterable<LogNumber> {
    return this.#pending.keys();
  }

  /** Adds an entry that a start found in the log; `follow` carries it out. */
  add(number: LogNumber, entry: Forgetting): void {
    this.#pending.set(number, entry);
  }

  /** Erases values from the history here that another machine asked to forget. */
  async applyRemote(number: LogNumber, entry: Forgetting): Promise<void> {
    this.#pending.set(number, entry);
    this.#shortener()?.watchForgetting();
    await this.carryOut();
  }

  /** Carries out pending entries. Throws RepoconfError 1108 or 1110 if that fails; it is retried then. */
  async carryOut(): Promise<void> {
    const failures: unknown[] = [];
    for (const [number, entry] of this.#pending)
      try {
        await this.#carryOutOne(entry);
        this.#pending.delete(number);
      } catch (error) {
        failures.push(error);
      }
    if (failures.length > 0) throw failures[0];
  }

  async #carryOutOne(entry: Forgetting): Promise<void> {
    const repository = this.#all.find(entry.repo);
    if (repository === undefined) return;
    await repository.load();
    await repository.writeHistory();
    await this.#forget(repository, entry);
  }

  /** Erases the earlier values of a field from all layers of a repository, but not from those of the one that it is a worktree of. Throws RepoconfError 1102, 1108 or 1110. */
  async forget(id: string, path: ConfigPath, actor: Actor): Promise<void> {
    const repository = this.#require(id);
    await repository.load();
    for (const { document } of [{ document: repository }, ...repository.ownAbove])
      await this.#forgetIn(document, path, actor).catch(error => {
        throw error instanceof RepoconfError ? error.inRepository(id) : error;
      });
  }

  #require(id: string): Repository {
    const repository = this.#all.find(id);
    if (repository === undefined) throw new RepoconfError(1102, `There is no repository ${id}.`, { repo: id });
    return repository;
  }

  async #forgetIn(repository: Repository, { scope, field }: ConfigPath, actor: Actor): Promise<void> {
    const { id } = repository;
    const number = await repository.exclusive(async () => {
      // It may have been removed while this waited.
      if (this.#all.find(id) !== repository) this.#require(id);
      const time = timeText(this.#context.clock);
      const forgetting = (): Forgetting => {
        const { revision } = repository.own;
        return { kind: "forget", time, actor, repo: id, revision, scope, field };
      };
      let appended: Committed<Forgetting>;
      try {
        const followed = await repository.writer.flushInQueue();
        await repository.mirror.files.values.dropReplaced();
        // A broken file has to be fixed by a person first.
        if (followed !== true && repository.own.broken === undefined) throw new Error(followed);
        // Older segments may contain the values. They are deleted as soon as the histories have their commits.
        await this.#context.log.seal();
        const through = this.#context.log.newest;
        appended = await appendWithRetry(this.#context.log, forgetting, repository);
        // With a log of its own, the caller gets the error and retries.
        if (this.#shortener() !== undefined) this.#pending.set(appended.number, appended.entry);
        this.#shortener()?.watchForgetting();
        for (const kept of this.#all.allOpened()) {
          if (kept.keptFrom === undefined) continue;
          // Not awaited: its holder may be waiting for this repository.
          if (!kept.loaded) throw new Error(`the history of ${kept.id} cannot be read`);
          await kept.mirror.writeHistory(false);
        }
        if (this.#shortener() === undefined) await this.#context.log.erase(through);
      } catch (error) {
        throw storageFailure(id, error);
      }
      await this.#forget(repository, appended.entry);
      this.#pending.delete(appended.number);
      return appended.number;
    });
    // From a shared log, values can only be removed together with all earlier entries, once a snapshot has the rest.
    await this.#shortener()
      ?.shorten(number)
      .catch(error => {
        const cause = causeOf(error);
        const message = `The values are erased here, but the shared log still has them (${cause}). This machine or another one removes them as soon as it can.`;
        throw new RepoconfError(1108, message, { repo: id, details: { cause } });
      });
  }

  /** The part that is repeated after an interruption. Call it inside `exclusive`, or before requests are accepted. */
  async #forget(repository: Repository, entry: Forgetting): Promise<void> {
    const { journal, recorded, id } = repository;
    const { paths, fileSystem, clock, scopes, trust } = this.#context;
    const { repo: _, ...record } = entry;
    const options = { id, folder: paths.journal, temporaryFolder: paths.temporary, fileSystem, clock };
    try {
      await repository.mirror.rewriteHistory(() => forgetValues(journal, record, recorded, options));
    } catch (error) {
      throw error instanceof JournalDamageError ? damagedJournal(repository, error) : storageFailure(id, error);
    }
    // A short value can be guessed from its hash.
    const { scope, field } = entry;
    const trustedAs = repository.state.base ?? id;
    const present = [recorded, ...(await this.#valuesTrustedAs(trustedAs, id))];
    trust.keepOnly(
      trustedAs,
      scopes,
      { scope, field },
      present.flatMap(values => configValue(values, scope, field) ?? []),
    );
    await trust.saved();
  }

  /** The present values of the other work trees that have the same trust, for none of which it may end. */
  #valuesTrustedAs(base: string, except: string): Promise<readonly Config[]> {
    const { repositories } = this.#all;
    const others = [...repositories.ids()].filter(id => id !== except && (repositories.brief(id)?.base ?? id) === base);
    return Promise.all(others.map(async id => (await repositories.load(id)).recorded));
  }
}
