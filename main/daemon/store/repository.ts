import { diffConfigs } from "../../../shared/config-diff.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { describeProblem } from "../../../shared/health.ts";
import { sameJson } from "../../../shared/json.ts";
import type { Scopes } from "../scopes.ts";
import { type Decided, decideBatch, type Outcome, type WaitingChange } from "./decide-batch.ts";
import { interpretConfig } from "./interpret.ts";
import { DocumentTooLargeError, ForeignEditError } from "./json-document.ts";
import { type FileStamps, type RepositoryFiles, sameStamps } from "./repository-files.ts";
import { storageFailure } from "./storage-failure.ts";
import type {
  Actor,
  Applied,
  ChangeRequest,
  RepositoryState,
  RepositorySummary,
  StoreEvent,
  ValueSource,
} from "./store.ts";

type Waiting = WaitingChange | { readonly kind: "exclusive"; run(): Promise<void> };

/** Changes that are on the disk and not yet visible. */
export interface WrittenChanges {
  /** Empty if all were refused before they were decided. */
  readonly decided: readonly Decided[];
  /** Makes them visible, publishes them and tells the callers. */
  finish(): void;
  /** Puts back what was there; the callers are told nothing. */
  undo(): Promise<void>;
}

/** What the index knew of a repository before its files are read. */
export interface IndexedRepository extends RepositorySummary {
  readonly stamps: FileStamps;
}

export interface RepositoryOptions {
  readonly id: string;
  readonly files: RepositoryFiles;
  readonly scopes: Scopes;
  readonly indexed: IndexedRepository | undefined;
  /** The revision of a repository whose files are not as the index knew them. */
  nextRevision(indexed: number | undefined): number;
  publish(event: StoreEvent): void;
  /** Name and place as they are in the file now, whenever that was read. */
  onHead(state: RepositoryState): void;
  /** Something failed that should not have. */
  onError(error: unknown, id: string): void;
}

/**
 * One repository and its queue: the one way its state changes. An operation and a hand edit alike are compared with
 * what was there, written if they came from us, and only then made visible and published. What waits while a write
 * runs becomes one batch: one text edit, one durable write.
 */
export class Repository {
  readonly id: string;
  readonly files: RepositoryFiles;
  readonly #options: RepositoryOptions;
  readonly #queue: Waiting[] = [];
  #looks: (() => void)[] = [];
  #state: RepositoryState;
  /** Of the files that `state` was made from. */
  #stamps: FileStamps = {};
  #loaded = false;
  #interpretAnew = false;
  #removed = false;
  #running: Promise<void> | undefined;

  constructor(options: RepositoryOptions) {
    const { id, files, indexed } = options;
    this.id = id;
    this.files = files;
    this.#options = options;
    const {
      stamps: _,
      modified: __,
      ...info
    } = indexed ?? { id, name: id, inTree: false, revision: 0, health: [], stamps: {}, modified: 0 };
    this.#state = { ...info, stored: undefined };
  }

  /** The newest durable state; before `loaded` only what the index knew. */
  get state(): RepositoryState {
    return this.#state;
  }

  /** The versions of the files that `state` was made from. */
  get stamps(): FileStamps {
    return this.#stamps;
  }

  /** Whether the files have been read. */
  get loaded(): boolean {
    return this.#loaded;
  }

  /** Where a field's value stands in the file. */
  source(scope: string, field: string): ValueSource {
    return { file: this.files.values.path, ...this.#locate([scope, field]) };
  }

  /** Reads the files inside the queue; an edit found there becomes a change. */
  look(): Promise<void> {
    const looked = new Promise<void>(resolve => this.#looks.push(resolve));
    this.#wake();
    return looked;
  }

  /** The rules for values changed: judges what the files hold anew. */
  async reinterpret(): Promise<void> {
    if (!this.#loaded) return;
    this.#interpretAnew = true;
    await this.look();
  }

  change<Answer>(request: ChangeRequest<Answer>): Promise<Applied<Answer>> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome) =>
        "error" in outcome ? reject(outcome.error) : resolve(outcome.applied as Applied<Answer>);
      this.#queue.push({ kind: "change", request, settle });
      this.#wake();
    });
  }

  /** Runs `task` when nothing else changes this repository, and keeps all else waiting until it ends. */
  exclusive<Result>(task: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const run = () => task().then(resolve, reject);
      this.#queue.push({ kind: "exclusive", run });
      this.#wake();
    });
  }

  /** Inside `exclusive`: what `decide` says of the newest state; nothing is changed. */
  async ask<Answer>(request: ChangeRequest<Answer>): Promise<ReturnType<ChangeRequest<Answer>["decide"]>> {
    await this.#look("file");
    this.#assertWritable();
    return request.decide(this.#state);
  }

  /**
   * Inside `exclusive`: puts one change on the disk, to be finished or undone by the caller. `refused` tells that an edit
   * made by hand meanwhile lets `decide` refuse now. Throws what kept it from the disk.
   */
  async write<Answer>(
    request: ChangeRequest<Answer>,
  ): Promise<WrittenChanges & { refused: boolean; applied: Applied<Answer> }> {
    let failure: unknown = new Error("the change was not decided");
    const settle = (outcome: Outcome) => {
      if ("error" in outcome) failure = outcome.error;
    };
    const written = await this.#write([{ kind: "change", request, settle }]);
    const [decided] = written.decided;
    if (decided === undefined || decided.error !== undefined) {
      written.finish();
      throw failure;
    }
    const applied = { state: decided.after, answer: decided.answer as Answer };
    return { ...written, refused: decided.refused, applied };
  }

  /** Inside `exclusive`: rewrites name and path in the file of the home. */
  async changeHead(changes: { readonly name?: string; readonly path?: string }): Promise<void> {
    const { home } = this.files;
    for (;;) {
      this.#assertWritable();
      try {
        await home.write({ ...home.value, ...changes });
        break;
      } catch (error) {
        if (!(error instanceof ForeignEditError)) throw storageFailure(this.id, error);
        await this.#look("merge");
      }
    }
    // The path of an in-tree repository decides which file holds its values.
    this.files.follow();
    await this.files.look();
    this.#absorb("file");
  }

  /** The repository is gone: what waits and what comes is told so. */
  markRemoved(): void {
    this.#removed = true;
  }

  /** Resolves when nothing waits and nothing runs. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  #wake(): void {
    if (this.#running !== undefined) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#queue.length > 0 || this.#looks.length > 0) this.#wake();
    });
  }

  async #run(): Promise<void> {
    // What is asked for in one turn of the event loop is one batch.
    await Promise.resolve();
    for (;;) {
      const head = this.#queue[0];
      if (!this.#loaded || this.#looks.length > 0) {
        const looks = this.#looks;
        this.#looks = [];
        await this.#look("file").catch(error => this.#giveUpLoading(error));
        for (const resolve of looks) resolve();
      } else if (head === undefined) {
        return;
      } else if (head.kind === "exclusive") {
        this.#queue.shift();
        await head.run();
      } else {
        const end = this.#queue.findIndex(waiting => waiting.kind === "exclusive");
        const batch = this.#queue.splice(0, end === -1 ? this.#queue.length : end);
        const changes = batch.filter(waiting => waiting.kind === "change");
        try {
          (await this.#write(changes)).finish();
        } catch (error) {
          // A bug must not leave its callers without an answer, nor the queue standing still.
          for (const { settle } of changes) settle({ error });
        }
      }
    }
  }

  /** A look that failed by a bug says nothing of the files: what is known stays. */
  #giveUpLoading(error: unknown): void {
    this.#loaded = true;
    this.#options.onError(error, this.id);
  }

  async #look(source: "file" | "merge"): Promise<void> {
    if (this.#removed) return;
    const changed = await this.files.look();
    if (changed || !this.#loaded) this.#absorb(source);
    else if (this.#interpretAnew) this.#judgeAnew();
  }

  /** The rules changed and the file did not: other values may serve, but this is no revision of the repository. */
  #judgeAnew(): void {
    this.#interpretAnew = false;
    const content = this.files.content;
    if (content.kind === "broken") return;
    const before = this.#state;
    const { stored, health } = interpretConfig(content.config, before.stored, this.#options.scopes, this.#locate);
    this.#become({ ...before, stored, health });
    this.#publishDifferences(before, this.#state, false);
  }

  /** Takes what the files hold as the state: a change like any other, but already on the disk. */
  #absorb(source: "file" | "merge"): void {
    const before = this.#state;
    const first = !this.#loaded;
    this.#loaded = true;
    this.#interpretAnew = false;
    const content = this.files.content;
    const revision = first ? this.#firstRevision() : before.revision;
    const { broken: _, ...whole } = before;
    if (content.kind === "broken") {
      this.#become({ ...whole, ...content.head, revision, health: [content.problem], broken: content.problem });
      this.#options.onHead(this.#state);
      this.#publishDifferences(before, this.#state, first);
      return;
    }
    const { stored, health } = interpretConfig(content.config, before.stored, this.#options.scopes, this.#locate);
    // Before the first look nobody has seen any values; before a broken file was mended, nobody could.
    const differences = first ? [] : diffConfigs(before.stored ?? {}, stored);
    const changed = differences.length > 0 || (!first && before.stored === undefined);
    this.#become({
      id: this.id,
      ...content.head,
      revision: changed ? revision + 1 : revision,
      stored: changed || before.stored === undefined ? stored : before.stored,
      health,
    });
    this.#options.onHead(this.#state);
    if (differences.length > 0) {
      const actor: Actor = { kind: "file" };
      this.#options.publish({ kind: "changed", state: this.#state, time: new Date(), actor, source, differences });
    }
    this.#publishDifferences(before, this.#state, first);
  }

  #become(state: RepositoryState): void {
    this.#state = state;
    this.#stamps = this.files.stamps;
  }

  #firstRevision(): number {
    const { indexed, nextRevision } = this.#options;
    // Where the file was not what served, its last good values are gone with the daemon that knew them.
    const served = indexed?.health.every(({ code }) => code === 1011);
    if (indexed !== undefined && served && sameStamps(indexed.stamps, this.files.stamps)) return indexed.revision;
    return nextRevision(indexed?.revision);
  }

  #publishDifferences(before: RepositoryState, after: RepositoryState, first: boolean): void {
    const { publish } = this.#options;
    const sameHead = before.name === after.name && before.path === after.path && before.inTree === after.inTree;
    if (!sameHead && !first) publish({ kind: "updated", state: after });
    if (first ? after.health.length > 0 : !sameJson(before.health, after.health))
      publish({ kind: "health", state: after, before: before.health });
  }

  /** Decides the batch in order, each change on the outcome of the one before, and puts the result on the disk. */
  async #write(batch: readonly WaitingChange[]): Promise<WrittenChanges> {
    for (;;) {
      const content = this.files.content;
      if (this.#removed || content.kind === "broken") return this.#refuse(batch, this.#notWritable());
      const { decided, config } = decideBatch(batch, this.#state, content.config, this.#options.scopes);
      if (config === content.config) return this.#written(decided, async () => {});
      const document = this.files.values;
      const { text } = document;
      try {
        await document.write({ ...document.value, config });
        return this.#written(decided, () => document.restore(text));
      } catch (error) {
        if (error instanceof ForeignEditError) {
          await this.#look("merge");
        } else if (error instanceof DocumentTooLargeError && batch.length > 1) {
          // Which of them is too much shows only one by one.
          for (const waiting of batch) (await this.#write([waiting])).finish();
          return this.#written([], async () => {});
        } else {
          return this.#refuse(batch, storageFailure(this.id, error));
        }
      }
    }
  }

  #written(decided: readonly Decided[], undo: () => Promise<void>): WrittenChanges {
    const finish = () => {
      const before = this.#state;
      const last = decided.at(-1)?.after;
      if (last !== undefined) this.#become(last === before ? last : this.#withPlaces(last));
      for (const { waiting, before, after, answer, error } of decided) {
        if (error !== undefined) {
          waiting.settle({ error });
          continue;
        }
        if (before.revision !== after.revision) this.#publishChange(waiting.request, before, after);
        waiting.settle({ applied: { state: after, answer } });
      }
      this.#publishDifferences(before, this.#state, false);
    };
    return { decided, finish, undo };
  }

  /** The state with its problems' lines and columns as they are in the text now. */
  #withPlaces(state: RepositoryState): RepositoryState {
    const content = this.files.content;
    if (state.health.length === 0 || content.kind === "broken") return state;
    const { health } = interpretConfig(content.config, state.stored, this.#options.scopes, this.#locate);
    return { ...state, health };
  }

  #publishChange(request: ChangeRequest<unknown>, before: RepositoryState, after: RepositoryState): void {
    const { actor, source, reason } = request;
    this.#options.publish({
      kind: "changed",
      state: after,
      time: new Date(),
      actor,
      source,
      ...(reason !== undefined && { reason }),
      differences: diffConfigs(before.stored ?? {}, after.stored ?? {}),
    });
  }

  #refuse(batch: readonly WaitingChange[], error: RepoconfError): WrittenChanges {
    return {
      decided: [],
      finish: () => {
        for (const waiting of batch) waiting.settle({ error });
      },
      undo: async () => {},
    };
  }

  #assertWritable(): void {
    if (this.#removed || this.#state.broken !== undefined) throw this.#notWritable();
  }

  #notWritable(): RepoconfError {
    if (this.#removed) return new RepoconfError(1102, `There is no repository ${this.id}.`, { repo: this.id });
    const { broken } = this.#state;
    const what = broken === undefined ? "It is broken." : `${describeProblem(broken)}.`;
    const message = `The file of this repository cannot be used. Mend it, then try again: ${what}`;
    return new RepoconfError(1106, message, { repo: this.id });
  }

  readonly #locate = (path: readonly string[]) => {
    const { status } = this.files.values;
    return status.kind === "good" ? status.json.locate(["config", ...path]) : undefined;
  };
}
