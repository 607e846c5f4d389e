import type { ConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { ForeignEditError } from "../../files/json-document.ts";
import { timeText } from "../../time/clock.ts";
import { runInParts } from "../../time/turns.ts";
import { ConflictError } from "../log/commit-log.ts";
import { whyOf } from "../log/document-commits.ts";
import { type Decided, decidingBatch, type WaitingChange } from "../state/decide-batch.ts";
import { appendPrepared, type DecidedChanges, type PreparedChanges } from "../state/prepared-changes.ts";
import type { RepositoryContext } from "../state/repository-context.ts";
import { storageFailure } from "../storage-failure.ts";
import type { ChangeRequest, FileRoom } from "../types.ts";
import { placedAs } from "../values/interpret.ts";
import { plainAmong } from "../values/trusted-values.ts";
import type { HashedValue } from "../values/value-hashes.ts";
import { type FileReader, type FileWriter, foreignEditTime } from "./parts.ts";

/** How much each of them may fill. */
function roomsOf(batch: readonly WaitingChange[]): readonly FileRoom[] {
  return batch.flatMap(({ request }) => request.room ?? []);
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

  /**
   * Decides changes in order, each on the outcome of the previous one, the first on the newest state. Call it inside `exclusive`. Throws
   * RepoconfError 1102, 1106 or 1108.
   */
  async prepare(batch: readonly WaitingChange[]): Promise<PreparedChanges> {
    const { files, mirror, store } = this.#context;
    const end = store.clock.monotonic() + foreignEditTime;
    for (;;) {
      // Before and after the file is read, so that it is known whose values were changed; not known if it keeps changing.
      const head = store.clock.monotonic() < end ? await files.treeFolder?.readHead() : undefined;
      await this.#reader.bringUpToDate();
      const { refusal } = this.#reader;
      if (refusal !== undefined) throw refusal;
      const decided = await this.#decide(batch, head);
      await this.#context.turn();
      const tooLarge = await mirror.exceeds(decided.edits, decided.config, roomsOf(batch));
      const tried = await this.#withTrials(decided);
      // Otherwise they are decided again: by other rules than the state was checked by, or because the files changed.
      const isUpToDate =
        !this.#context.isCheckedByOldRules &&
        !(await this.#isStale(decided, end)) &&
        !(await this.#isForeign(decided, end)) &&
        (head === undefined || head === (await files.treeFolder?.readHead()));
      if (isUpToDate) return { ...tried, tooLarge };
    }
  }

  /** Commits the changes of a batch, each as an entry of its own, and settles them. Throws what `prepare` throws. */
  async change(batch: readonly WaitingChange[]): Promise<void> {
    const { id, store } = this.#context;
    const prepared = await this.prepare(batch);
    const { commits, decided } = prepared;
    try {
      await appendPrepared(store.log, [prepared], commits, prepared.commit);
    } catch (error) {
      if (error instanceof ConflictError) {
        await this.#reader.conflictApplied(error);
        return this.change(batch);
      }
      const failure = storageFailure(id, error);
      // Each change alone may fit into the file and one log entry, or need no trust.
      if ((failure.code === 1107 || error instanceof RepoconfError) && batch.length > 1)
        for (const waiting of batch) await this.change([waiting]);
      else for (const { settle } of batch) settle({ error: failure });
      return;
    }
    if (commits.length > 0) await this.#writer.writeInTree();
    for (const { waiting, after, answer, error } of decided)
      waiting.settle(error === undefined ? { applied: { state: after, answer } } : { error });
  }

  async #decide(batch: readonly WaitingChange[], head: string | undefined): Promise<DecidedChanges> {
    const { id, store, current: state, committed, rules, trustedAs } = this.#context;
    const after = store.log.newest;
    const time = timeText(store.clock);
    const entryOf = (request: ChangeRequest<unknown>) => {
      const { actor, source } = request;
      return { kind: "commit", time, actor, source, ...whyOf(request), ...store.log.signature } as const;
    };
    const isOutdated = store.log.problem !== undefined;
    const decision = await runInParts(decidingBatch(batch, { state, committed, head, isOutdated }, rules, entryOf));
    const { decided } = decision;
    const made = decided.flatMap(({ proposed }) => proposed ?? []);
    const edits = made.flatMap(({ applied }) => applied.edits);
    const commands = this.#context.commandsAmong(edits);
    // A restore by somebody with the right to set commands gives no trust, but one by another key takes it.
    const isOf = ({ trusts = true, source }: ChangeRequest<unknown>, isKept: boolean, isTrusted: boolean) =>
      (trusts && !isKept) === isTrusted && !(isTrusted && source === "restore");
    const plainOf = (isTrusted: boolean) => {
      const edits = decided.flatMap(({ waiting, proposed, plain }) => {
        const isKept = (edit: ConfigPath) => plain.some(one => one.scope === edit.scope && one.field === edit.field);
        return (proposed?.applied.edits ?? []).filter(edit => isOf(waiting.request, isKept(edit), isTrusted));
      });
      return plainAmong(edits, store.scopes);
    };
    let trusted: readonly HashedValue[] = [];
    return {
      decided,
      edits,
      config: decision.committed.target,
      after,
      commits: made.map(({ entry }) => entry),
      trust: async () => {
        try {
          await store.trust.addPlain(trustedAs, plainOf(false));
          trusted = await store.trust.addDurably(trustedAs, commands);
        } catch (error) {
          throw storageFailure(id, error);
        }
      },
      distrust: () => store.trust.remove(trustedAs, trusted),
      commit: (first, isPart = false) => {
        const commits = made.map(({ entry, applied }, index) => ({
          committed: { number: first + index, entry },
          applied,
        }));
        // The text is unchanged so far; the places are updated when it is rewritten.
        const health = placedAs(decided.at(-1)?.after.health ?? [], this.#context.current.health);
        this.#context.commit(commits, health, { isPart });
        store.trust.removePlain(trustedAs, plainOf(true));
      },
    };
  }

  /** With the errors of changes that were only tried, and would make the file too large. */
  async #withTrials(changes: DecidedChanges): Promise<DecidedChanges> {
    const { id, mirror } = this.#context;
    const decided: Decided[] = [];
    for (const one of changes.decided) {
      const { tried, waiting } = one;
      const tooLarge = tried && (await mirror.exceeds(tried.edits, tried.config, roomsOf([waiting])));
      decided.push(tooLarge === undefined ? one : { ...one, error: storageFailure(id, tooLarge) });
    }
    return { ...changes, decided };
  }

  /** Whether the files changed since the decision. A set of a value that is already there must be decided again then. */
  async #isStale({ decided, edits }: DecidedChanges, end: number): Promise<boolean> {
    const isClaimed = decided.some(({ hasEdits }) => hasEdits) && edits.length === 0;
    return isClaimed && this.#context.store.clock.monotonic() < end && (await this.#reader.refresh());
  }

  /**
   * In a work tree the new text is written to a temporary file before the commit, to keep the time between the check of the file and its
   * replacement short: a checkout by git comes either before the change or, as a whole, after it. Throws ForeignEditError if
   * another program keeps changing the file.
   */
  async #isForeign({ commits, config }: DecidedChanges, end: number): Promise<boolean> {
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
}
