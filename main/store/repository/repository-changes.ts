import type { Config, ConfigEdit } from "../../../shared/config.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { DocumentTooLargeError, ForeignEditError } from "../../files/json-document.ts";
import { timeText } from "../../time/clock.ts";
import { runInParts } from "../../time/turns.ts";
import { AppendError, type Commit, ConflictError } from "../log/commit-log.ts";
import { whyOf } from "../log/document-commits.ts";
import { type Decided, decidingBatch, type WaitingChange } from "../state/decide-batch.ts";
import type { RepositoryContext } from "../state/repository-context.ts";
import { storageFailure } from "../storage-failure.ts";
import type { Applied, ChangeRequest, LogNumber } from "../types.ts";
import { placedAs } from "../values/interpret.ts";
import type { TrustedValue } from "../values/trusted-values.ts";
import { type FileReader, type FileWriter, foreignEditTime } from "./parts.ts";

/** Decided changes, ready to be committed. */
export interface PreparedChanges {
  readonly decided: readonly Decided[];
  /** The changes for the file. */
  readonly edits: readonly ConfigEdit[];
  /** The values that the file is to have after them. */
  readonly config: Config;
  /** The last log entry that the decision is based on. */
  readonly after: LogNumber;
  /** The commits for the log, one for each change that edits anything. */
  readonly commits: readonly Commit[];
  /**
   * Trusts the commands among the edits, durably, so that a set that is acknowledged is trusted after a crash, too. As what they are
   * now: a new schema may make a command of a text later. Call it before the append, and `distrust` if nothing is appended. Throws
   * RepoconfError 1108.
   */
  trust(): Promise<void>;
  distrust(): void;
  /**
   * Makes them visible and publishes them; `numbers` are those of their log entries, in order. `isPart`: other repositories
   * have more of the same entry.
   */
  commit(numbers: readonly LogNumber[], isPart?: boolean): void;
}

/** Decides requested changes on the newest state and appends the result to the log. */
export class RepositoryChanges {
  readonly #context: RepositoryContext;
  readonly #reader: FileReader;
  readonly #writer: FileWriter;

  constructor(context: RepositoryContext, reader: FileReader, writer: FileWriter) {
    this.#context = context;
    this.#reader = reader;
    this.#writer = writer;
  }

  /** Decides on the newest state, for the caller to append to the log. Call it inside `exclusive`. Throws RepoconfError 1102, 1106, 1107 or 1108. */
  async prepare<Answer>(
    request: ChangeRequest<Answer>,
  ): Promise<{ prepared: PreparedChanges; applied: Applied<Answer>; refused: boolean }> {
    const end = this.#context.store.clock.monotonic() + foreignEditTime;
    for (;;) {
      await this.#reader.bringUpToDate();
      const refusal = this.#reader.refusal;
      if (refusal !== undefined) throw refusal;
      const waiting: WaitingChange = { kind: "change", request, settle: () => {} };
      const prepared = await this.#decide([waiting]);
      if (this.#context.isCheckedByOldRules) continue;
      const [decided] = prepared.decided;
      if (decided === undefined) throw new Error("the change was not processed");
      if (decided.error !== undefined) throw decided.error;
      const fits = await this.#fits(prepared);
      if (await this.#isStale(prepared, end)) continue;
      if (await this.#isForeign(prepared, end)) continue;
      if (!fits) throw storageFailure(this.#context.id, new DocumentTooLargeError());
      const applied = { state: decided.after, answer: decided.answer as Answer };
      return { prepared, applied, refused: decided.refused };
    }
  }

  /** Decides the changes of the batch in order, each on the outcome of the previous one, and appends the result to the log. */
  async change(batch: readonly WaitingChange[]): Promise<void> {
    const end = this.#context.store.clock.monotonic() + foreignEditTime;
    let prepared: PreparedChanges;
    let fits: boolean;
    do {
      await this.#reader.bringUpToDate();
      const refusal = this.#reader.refusal;
      if (refusal !== undefined) {
        for (const { settle } of batch) settle({ error: refusal });
        return;
      }
      prepared = await this.#decide(batch);
      await this.#context.turn();
      fits = await this.#fits(prepared);
      // Repeat if the rules differ from those that the state was checked by.
    } while (
      this.#context.isCheckedByOldRules ||
      (await this.#isStale(prepared, end)) ||
      (await this.#isForeign(prepared, end))
    );
    if (!fits) {
      // Tried one by one, to find out which of them is too large.
      const [only, ...others] = batch;
      if (others.length > 0) for (const waiting of batch) await this.change([waiting]);
      else only?.settle({ error: storageFailure(this.#context.id, new DocumentTooLargeError()) });
      return;
    }
    const { commits: entries, after } = prepared;
    try {
      await prepared.trust();
      if (entries.length === 0) prepared.commit([]);
      else
        await this.#context.store.log.append({
          entries,
          after,
          committed: first => prepared.commit(entries.map((_, index) => first + index)),
        });
    } catch (error) {
      if (!isOutcomeUnknown(error)) prepared.distrust();
      if (error instanceof ConflictError) {
        await this.#reader.conflictApplied(error);
        return this.change(batch);
      }
      const failure = storageFailure(this.#context.id, error);
      // Each change alone may fit into one log entry, or need no trust.
      if ((failure.code === 1107 || error instanceof RepoconfError) && batch.length > 1)
        for (const waiting of batch) await this.change([waiting]);
      else for (const { settle } of batch) settle({ error: failure });
      return;
    }
    if (entries.length > 0) await this.#writer.writeInTree();
    for (const { waiting, after, answer, error } of prepared.decided)
      waiting.settle(error === undefined ? { applied: { state: after, answer } } : { error });
  }

  async #decide(batch: readonly WaitingChange[]): Promise<PreparedChanges> {
    const { store, current: state, committed, origin, rules } = this.#context;
    const after = store.log.newest;
    const time = timeText(store.clock);
    const entryOf = (request: ChangeRequest<unknown>) => {
      const { actor, source } = request;
      return { kind: "commit", time, actor, source, ...whyOf(request), ...origin } as const;
    };
    const decision = await runInParts(decidingBatch(batch, { state, committed }, rules, entryOf));
    const { decided } = decision;
    const made = decided.flatMap(({ proposed }) => proposed ?? []);
    const edits = made.flatMap(({ applied }) => applied.edits);
    const commands = this.#context.commandsAmong(edits);
    const { id } = this.#context;
    let trusted: readonly TrustedValue[] = [];
    const trust = async () => {
      trusted = await store.trust.addDurably(id, commands).catch(error => {
        throw storageFailure(id, error);
      });
    };
    const distrust = () => store.trust.remove(id, trusted);
    const commit = (numbers: readonly LogNumber[], isPart = false) => {
      const commits = made.map(({ entry, applied }, index) => ({
        committed: { number: numbers[index] ?? 0, entry },
        applied,
      }));
      // The text is unchanged so far; the places are updated when it is rewritten.
      const health = placedAs(decided.at(-1)?.after.health ?? [], this.#context.current.health);
      this.#context.commit(commits, health, { isPart });
    };
    return {
      decided,
      edits,
      trust,
      distrust,
      config: decision.committed.target,
      after,
      commits: made.map(({ entry }) => entry),
      commit,
    };
  }

  /** Whether the files changed since the decision. A set of a value that is already there must be decided again then. */
  async #isStale({ decided, edits }: PreparedChanges, end: number): Promise<boolean> {
    const isClaimed = decided.some(({ hasEdits }) => hasEdits) && edits.length === 0;
    return isClaimed && this.#context.store.clock.monotonic() < end && (await this.#reader.refresh());
  }

  /**
   * In a work tree the new text is written to a temporary file before the commit, to keep the time between the check of the file and its
   * replacement short: a checkout by git comes either before the change or, as a whole, after it. Throws ForeignEditError if
   * another program keeps changing the file.
   */
  async #isForeign({ commits, config }: PreparedChanges, end: number): Promise<boolean> {
    if (!this.#context.current.inTree || commits.length === 0) return false;
    try {
      await this.#context.mirror.prepare(config, this.#context.store.scopes);
      return false;
    } catch (error) {
      // If the disk refuses, the set is still committed, and `health` reports the file.
      if (!(error instanceof ForeignEditError)) return false;
      if (this.#context.store.clock.monotonic() > end) throw storageFailure(this.#context.id, error);
      return this.#reader.refresh();
    }
  }

  #fits({ edits, config }: PreparedChanges): Promise<boolean> {
    return this.#context.mirror.fits(edits, config);
  }
}

/** Whether the commits may be in the log, although the append failed. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof AppendError && error.isOutcomeUnknown;
}
