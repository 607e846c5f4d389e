import { type Config, filterConfig } from "../../../shared/config.ts";
import { diffConfigs, type StoredDifference } from "../../../shared/config-diff.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { describeProblem } from "../../../shared/health.ts";
import { sameJson } from "../../../shared/json.ts";
import { type Clock, timeText } from "../../clock.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { DocumentTooLargeError, ForeignEditError } from "../../files/json-document.ts";
import { formatJsonText } from "../../files/json-text.ts";
import type { Scopes } from "../scopes.ts";
import { type Decided, decideBatch, type Outcome, type WaitingChange } from "./decide-batch.ts";
import { interpretConfig } from "./interpret.ts";
import type { Journal, JournalHead } from "./journal/journal.ts";
import { applyChanges, type ChangeRecord, hashText } from "./journal/record.ts";
import { mergeStaleEdit, type RecentWrite, staleEditAge } from "./merge-edit.ts";
import type { FileStamps, RepositoryFiles } from "./repository-files.ts";
import { storageFailure, unreadableJournal } from "./storage-failure.ts";
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
  /** Asked for when first needed, as is the journal: of ten thousand repositories most are never opened. */
  files(): RepositoryFiles;
  journal(): Journal;
  readonly scopes: Scopes;
  readonly clock: Clock;
  readonly indexed: IndexedRepository | undefined;
  /** Who has just added it; undefined: it was there. */
  readonly addedBy: Actor | undefined;
  publish(event: StoreEvent): void;
  /** Name and place as they are in the file now, whenever that was read. */
  onHead(state: RepositoryState): void;
  /** Something failed that no caller is told of. */
  onProblem(message: string, error: unknown): void;
}

const noText = { text: "", hash: hashText("") };
/** How long, in milliseconds, a write is tried again while another program keeps changing the file. */
const foreignEditTime = 7_500;

/**
 * One repository and its queue: the one way its state changes. An operation and a hand edit alike are compared with
 * what was there, recorded in the journal, written if they came from us, and only then made visible and published. What
 * waits while a write runs becomes one batch: one append, one text edit, one durable write.
 */
export class Repository {
  readonly id: string;
  #files: RepositoryFiles | undefined;
  #journal: Journal | undefined;
  readonly #options: RepositoryOptions;
  readonly #queue: Waiting[] = [];
  #looks: (() => void)[] = [];
  #state: RepositoryState;
  /** The values as the journal has them: those in service, and of scopes that are not there now the last ones. */
  #recorded: Config = {};
  /** What the files hold could not be recorded yet. */
  #unrecorded: unknown;
  #recentWrites: RecentWrite[] = [];
  #hashed = noText;
  /** Of the files that `state` was made from. */
  #stamps: FileStamps = {};
  #wroteAt = Number.NEGATIVE_INFINITY;
  #loaded = false;
  /** The journal is open, and its values are known. */
  #journalRead = false;
  /** The rules that `state` was judged by, known by their defaults, which are new ones whenever a rule changes. */
  #judgedBy: Config | undefined;
  #removed = false;
  #running: Promise<void> | undefined;

  constructor(options: RepositoryOptions) {
    const { id, indexed } = options;
    this.id = id;
    this.#options = options;
    const { name = id, path, inTree = false, revision = 0, health = [] } = indexed ?? {};
    this.#state = { id, name, ...(path !== undefined && { path }), inTree, revision, health, stored: undefined };
  }

  get files(): RepositoryFiles {
    this.#files ??= this.#options.files();
    return this.#files;
  }

  get journal(): Journal {
    this.#journal ??= this.#options.journal();
    return this.#journal;
  }

  /** The newest durable state; before `loaded` only what the index knew. */
  get state(): RepositoryState {
    return this.#state;
  }

  /** The values of `state` as the journal has them. */
  get recorded(): Config {
    return this.#recorded;
  }

  /** The versions of the files that `state` was made from. */
  get stamps(): FileStamps {
    return this.#stamps;
  }

  /** When it last wrote its values itself, by the clock's `monotonic()`. */
  get wroteAt(): number {
    return this.#wroteAt;
  }

  /** Whether files and journal have been read. A journal that cannot be opened is tried again at every look. */
  get loaded(): boolean {
    return this.#loaded && this.#journalRead;
  }

  /** Reads what has not been read yet. Throws RepoconfError 1108 while the journal cannot be read, 1102 once removed. */
  async load(): Promise<void> {
    if (!this.loaded) await this.look();
    if (!this.loaded) throw this.#removed ? this.#notWritable() : this.#unrecorded;
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
    if (this.#loaded) await this.look();
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
    await this.#look();
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

  /**
   * Inside `exclusive`: rewrites name and path in the file of the home. That file alone has to be good: of an in-tree
   * repository whose folder has moved, the path is what has to be fixed. Throws RepoconfError 1102, 1106 or 1108.
   */
  async changeHead(changes: { readonly name?: string; readonly path?: string }): Promise<void> {
    const { home } = this.files;
    const end = this.#options.clock.monotonic() + foreignEditTime;
    for (;;) {
      if (this.#removed || home.status.kind !== "good") throw this.#notWritable();
      try {
        await home.write({ ...home.value, ...changes });
        break;
      } catch (error) {
        if (!(error instanceof ForeignEditError) || this.#options.clock.monotonic() > end)
          throw storageFailure(this.id, error);
        await this.#look();
      }
    }
    // The path of an in-tree repository decides which file holds its values.
    this.files.follow();
    await this.files.look();
    await this.#absorb();
  }

  /**
   * Inside `exclusive`: puts a text in the place of the file that people edit, and takes it up as an edit by hand. False
   * if the file is not `expected` any more. Throws RepoconfError 1102 or 1108.
   */
  async replaceText(text: string, expected: string | null): Promise<boolean> {
    if (this.#removed) throw this.#notWritable();
    await this.#look();
    const document = this.files.edited;
    if (document.text !== expected) return false;
    try {
      await document.replaceText(text);
    } catch (error) {
      if (error instanceof ForeignEditError) return false;
      throw storageFailure(this.id, error);
    }
    // Whoever wrote it knew the text that was there, and so every set.
    this.#recentWrites = [];
    await this.#look();
    return true;
  }

  /**
   * Inside `exclusive`: writes the file that people edit anew from what is in service; `keep` puts aside what is
   * there right before. Throws RepoconfError 1102, 1106 or 1108.
   */
  async restoreText(schemaReference: string, keep: (path: string) => Promise<void>): Promise<void> {
    if (this.#removed) throw this.#notWritable();
    await this.#look();
    const { stored, name, path, inTree } = this.#state;
    const document = this.files.edited;
    if (stored === undefined) throw this.#notWritable();
    const config = filterConfig(stored, () => true);
    const head = { name, ...(path !== undefined && { path }) };
    const whole = inTree ? { ...head, inTree: true } : { $schema: schemaReference, ...head, config };
    const value = document === this.files.tree ? { config } : whole;
    try {
      await document.overwriteText(formatJsonText(value), () => keep(document.path));
    } catch (error) {
      throw storageFailure(this.id, error);
    }
    this.#recentWrites = [];
    await this.#look();
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
        await this.#look().catch(error => this.#giveUpLoading(error));
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
    this.#unrecorded ??= error;
    this.#options.onProblem("a repository's files could not be looked at", error);
  }

  async #look(): Promise<void> {
    if (this.#removed) return;
    const changed = await this.files.look();
    if (!this.loaded) return this.#load();
    if (changed) await this.#takeUp();
    else if (this.#isJudgedByOldRules || this.#unrecorded !== undefined) await this.#absorb();
  }

  /** The files hold something new. */
  async #takeUp(): Promise<void> {
    if (!(await this.#mergeStaleEdit())) await this.#absorb();
  }

  /**
   * Brings journal and files together after a start. An edit made while no daemon ran becomes a revision; what a broken
   * file held last comes from the journal.
   */
  async #load(): Promise<void> {
    try {
      await this.journal.open(this.files.values.stamp, this.#options.indexed?.revision ?? 0);
      this.#recorded = this.#recordedInFile() ?? (await this.journal.replay());
      this.#unrecorded = undefined;
    } catch (error) {
      // With its end and without what it recorded, the next record would tell of changes that nobody made.
      this.journal.close();
      if (this.#unrecorded === undefined)
        this.#options.onProblem("the journal cannot be read; nothing can be changed until it can", error);
      this.#unrecorded = unreadableJournal(this.id, error);
    }
    const { head } = this.journal;
    if (head !== undefined)
      this.#state = {
        ...this.#state,
        revision: head.revision,
        stored: head.segment === undefined ? undefined : this.#known(this.#recorded),
      };
    await this.#absorb();
    this.#loaded = true;
    this.#journalRead = head !== undefined;
  }

  /** The recorded values without reading the journal's records: the file has them, if it is what the last record says. */
  #recordedInFile(): Config | undefined {
    const { content } = this.files;
    if (content.kind === "broken" || this.journal.head?.text !== this.#textHash()) return undefined;
    const { stored, health } = interpretConfig(content.config, undefined, this.#options.scopes, this.#locate);
    return health.length === 0 ? stored : undefined;
  }

  /** Takes what the files hold as the state: a change like any other, but already in the file. */
  async #absorb(): Promise<void> {
    const before = this.#state;
    const first = !this.#loaded;
    this.#judgedBy = this.#options.scopes.defaults;
    const content = this.files.content;
    const { broken: _, ...whole } = before;
    if (content.kind === "broken") {
      // That is a person in an editor, and what comes next is based on it: no program that knows of nothing.
      this.#recentWrites = [];
      this.#become({ ...whole, ...content.head, health: [content.problem], broken: content.problem });
      this.#options.onHead(this.#state);
      this.#publishDifferences(before, this.#state, first);
      return;
    }
    const { stored, health } = interpretConfig(content.config, before.stored, this.#options.scopes, this.#locate);
    const changes = diffConfigs(this.#known(this.#recorded), stored);
    const begins = this.journal.head?.segment === undefined;
    const change = changes.length > 0 || begins ? this.#fileChange("file", changes, health.length === 0) : undefined;
    // Values of a scope that went are no longer in service, but this is no revision: they come back with it.
    const same = before.stored !== undefined && diffConfigs(before.stored, stored).length === 0;
    if (change === undefined) this.#unrecorded = undefined;
    else if (!(await this.#record(change)) && !first) return;
    this.#dropFromRecentWrites(changes);
    this.#become({
      id: this.id,
      ...content.head,
      revision: this.journal.head?.revision ?? before.revision,
      stored: same ? before.stored : stored,
      health,
    });
    this.#options.onHead(this.#state);
    // Before its first revision nobody has seen any values.
    if (change !== undefined && changes.length > 0 && !begins)
      this.#options.publish({ kind: "changed", state: this.#state, change });
    this.#publishDifferences(before, this.#state, first);
  }

  /** Appends what a hand edit changed; if that fails it is tried again at the next look, and until then not in service. */
  async #record(change: ChangeRecord): Promise<boolean> {
    try {
      if (this.journal.head === undefined) throw this.#unrecorded;
      await this.journal.append([change], this.#recorded);
      this.#recorded = applyChanges(this.#recorded, change.changes);
      this.#unrecorded = undefined;
      return true;
    } catch (error) {
      if (this.#unrecorded === undefined)
        this.#options.onProblem("an edit by hand cannot be recorded, so it is not in service yet", error);
      this.#unrecorded = error;
      return false;
    }
  }

  /**
   * An edit made by a program that did not know of the sets of the last moments: keeps both, and writes the file again.
   * False if it is no such edit, or could not be written: then the file is taken as it is.
   */
  async #mergeStaleEdit(): Promise<boolean> {
    const content = this.files.content;
    // What is in a work tree is for git to decide.
    if (content.kind === "broken" || content.head.inTree || this.#unrecorded !== undefined) return false;
    this.#dropOldWrites();
    const edit = { textHash: this.#textHash(), config: content.config };
    const config = mergeStaleEdit(edit, this.#recentWrites);
    if (config === undefined) return false;
    const before = this.#state;
    const { stored, health } = interpretConfig(config, before.stored, this.#options.scopes, () => undefined);
    const change = this.#fileChange("merge", diffConfigs(this.#known(this.#recorded), stored), true);
    const records = change.changes.length > 0 ? [change] : [];
    try {
      await this.#writeValues(config, records, health.length === 0);
    } catch (error) {
      if (error instanceof ForeignEditError) {
        await this.files.look();
        return this.#mergeStaleEdit();
      }
      this.#options.onProblem(
        "an edit by hand could not be merged with the sets beside it, and is taken as it is",
        error,
      );
      return false;
    }
    for (const { changes } of records) this.#recorded = applyChanges(this.#recorded, changes);
    // Without a record the newest revision is a tool's, and undo would take that back.
    const told =
      records.length > 0
        ? ` (revision ${change.revision}); undo takes the edit back.`
        : ": the file holds both. The edit changed no value in use, so it made no revision.";
    const message = `An edit by hand and a set at the same time were merged${told}`;
    const merged = {
      ...before,
      ...content.head,
      health,
      ...(records.length > 0 && { stored, revision: before.revision + 1 }),
    };
    const state = this.#withPlaces(merged);
    this.#become({ ...state, health: [...state.health, { code: 1104, message }] });
    this.#options.onHead(this.#state);
    if (records.length > 0) this.#options.publish({ kind: "changed", state: this.#state, change });
    this.#publishDifferences(before, this.#state, false);
    return true;
  }

  #fileChange(source: "file" | "merge", changes: readonly StoredDifference[], isWhole: boolean): ChangeRecord {
    const addedBy = this.#loaded ? undefined : this.#options.addedBy;
    return {
      kind: "change",
      revision: (this.journal.head?.revision ?? 0) + 1,
      time: timeText(this.#options.clock),
      actor: addedBy ?? { kind: "file" },
      source: addedBy === undefined ? source : "set",
      changes,
      text: isWhole ? this.#textHash() : "",
    };
  }

  get #isJudgedByOldRules(): boolean {
    return this.#judgedBy !== this.#options.scopes.defaults;
  }

  #become(state: RepositoryState): void {
    this.#state = state;
    this.#stamps = this.files.stamps;
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
    const end = this.#options.clock.monotonic() + foreignEditTime;
    for (;;) {
      // It may have been mended since, and nobody has said so yet.
      const isBroken = this.#unrecorded !== undefined || this.files.content.kind === "broken";
      // Without the file nothing but a look tells a work tree from a folder whose disk is away.
      if (isBroken || this.files.tree?.status.kind === "gone") await this.#look();
      // A change by the new rules on a state by the old ones would be told to set what came or went with a scope.
      while (this.#isJudgedByOldRules && !this.#removed) await this.#look();
      const content = this.files.content;
      if (this.#removed || content.kind === "broken") return this.#refuse(batch, this.#notWritable());
      if (this.#unrecorded !== undefined) return this.#refuse(batch, storageFailure(this.id, this.#unrecorded));
      const { decided, config } = decideBatch(batch, this.#state, content.config, this.#options.scopes);
      if (config === content.config) {
        // What is said to be there already has to be there: an edit that nobody has seen yet comes first.
        const isClaimed = decided.some(({ wanted }) => wanted);
        if (isClaimed && this.#options.clock.monotonic() < end && (await this.files.look())) {
          await this.#takeUp();
          continue;
        }
        return this.#written(decided, [], async () => {});
      }
      const time = timeText(this.#options.clock);
      const records = decided.flatMap(one => changeRecord(one, time) ?? []);
      const { text } = this.files.values;
      try {
        const isWhole = decided.at(-1)?.after.health.length === 0;
        const head = await this.#writeValues(config, records, isWhole);
        return this.#written(decided, records, async () => {
          await this.files.values.restore(text);
          this.#recentWrites.pop();
          await this.journal.cutBack(head);
        });
      } catch (error) {
        // The text is another one, or the work tree may be gone.
        if (error instanceof ForeignEditError || systemErrorCode(error) === "ENOENT") await this.#look();
        const isElsewhere = error instanceof ForeignEditError || this.files.content.kind === "broken";
        if (isElsewhere && this.#options.clock.monotonic() < end) continue;
        if (error instanceof DocumentTooLargeError && batch.length > 1) {
          // Which of them is too much shows only one by one.
          for (const waiting of batch) (await this.#write([waiting])).finish();
          return this.#written([], [], async () => {});
        } else {
          return this.#refuse(batch, storageFailure(this.id, error));
        }
      }
    }
  }

  /**
   * Puts a configuration into its file, and the records of it into the journal: both are on the disk before the file is
   * replaced. Throws as JsonDocument.write; then both are as they were. Returns where the journal ended before.
   */
  async #writeValues(config: Config, records: readonly ChangeRecord[], isWhole: boolean): Promise<JournalHead> {
    const document = this.files.values;
    const { text, stamp } = document;
    const before = { textHash: this.#textHash(), config: configOf(this.files) };
    const { head } = this.journal;
    if (head === undefined) throw this.#unrecorded;
    let textHash = before.textHash;
    try {
      await document.write({ ...document.value, config }, async newText => {
        textHash = hashText(newText);
        // A file that was not there has no version; what a crash leaves then is an edit like any other.
        const replaces = text !== null && stamp !== undefined && { replaces: stamp };
        // Where the text says more than what serves, its hash says nothing of the values.
        const told = isWhole ? textHash : "";
        const complete = records.map(record => ({ ...record, text: told, ...replaces }));
        if (complete.length > 0) await this.journal.append(complete, this.#recorded);
      });
    } catch (error) {
      await this.journal.cutBack(head);
      throw error;
    }
    this.#wroteAt = this.#options.clock.monotonic();
    this.#dropOldWrites();
    const paths = diffConfigs(before.config, config).map(({ scope, field }) => ({ scope, field }));
    this.#recentWrites.push({ at: this.#wroteAt, before, after: { textHash, config }, paths });
    return head;
  }

  #dropOldWrites(): void {
    const since = this.#options.clock.monotonic() - staleEditAge;
    const firstKept = this.#recentWrites.findIndex(({ at }) => at >= since);
    this.#recentWrites.splice(0, firstKept === -1 ? this.#recentWrites.length : firstKept);
  }

  /** What was changed by hand since a write of ours no longer has the write's value, so no merge may bring that back. */
  #dropFromRecentWrites(changes: readonly ConfigPath[]): void {
    const isChanged = ({ scope, field }: ConfigPath) =>
      changes.some(change => change.scope === scope && change.field === field);
    this.#recentWrites = this.#recentWrites.map(write => ({
      ...write,
      paths: write.paths.filter(path => !isChanged(path)),
    }));
  }

  #written(decided: readonly Decided[], records: readonly ChangeRecord[], undo: () => Promise<void>): WrittenChanges {
    const finish = () => {
      const before = this.#state;
      const last = decided.at(-1)?.after;
      // Not before: until here nobody may see the new values, not even as those of the past.
      for (const { changes } of records) this.#recorded = applyChanges(this.#recorded, changes);
      if (last !== undefined) this.#become(last === before ? last : this.#withPlaces(last));
      const changes = new Map(records.map(record => [record.revision, record]));
      for (const { waiting, before, after, answer, error } of decided) {
        if (error !== undefined) {
          waiting.settle({ error });
          continue;
        }
        const change = before.revision === after.revision ? undefined : changes.get(after.revision);
        if (change !== undefined) this.#options.publish({ kind: "changed", state: after, change });
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

  /** Without the values of scopes and fields that are not there now. */
  #known(config: Config): Config {
    return filterConfig(config, (scope, field) => this.#options.scopes.field(scope, field) !== undefined);
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

  /** Of the values' file as it was last seen; one that is gone has the hash of no text. */
  #textHash(): string {
    const text = this.files.values.text ?? "";
    if (this.#hashed.text !== text) this.#hashed = { text, hash: hashText(text) };
    return this.#hashed.hash;
  }

  readonly #locate = (path: readonly string[]) => {
    const { status } = this.files.values;
    return status.kind === "good" ? status.json.locate(["config", ...path]) : undefined;
  };
}

/** The record of a decided change; undefined if it changes nothing. Its text is known when it is written. */
function changeRecord({ waiting, before, after }: Decided, time: string): ChangeRecord | undefined {
  if (before.revision === after.revision) return undefined;
  const { actor, source, reason } = waiting.request;
  return {
    kind: "change",
    revision: after.revision,
    time,
    actor,
    source,
    ...(reason !== undefined && { reason }),
    changes: diffConfigs(before.stored ?? {}, after.stored ?? {}),
    text: "",
  };
}

function configOf({ content }: RepositoryFiles): Config {
  return content.kind === "good" ? content.config : {};
}
