import { randomBytes } from "node:crypto";
import {
  applyConfigEdits,
  type Config,
  type ConfigEdit,
  configEntries,
  configValue,
  countConfigFields,
  filterConfig,
} from "../../../shared/config.ts";
import { diffConfigs, diffingConfigs, type StoredDifference } from "../../../shared/config-diff.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { describeProblem } from "../../../shared/health.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { HealthProblem } from "../../../shared/protocol.ts";
import { type Clock, timeText } from "../../clock.ts";
import { DocumentTooLargeError, ForeignEditError } from "../../files/json-document.ts";
import { formatJsonText } from "../../files/json-text.ts";
import { nextTurn, runInParts } from "../../turns.ts";
import type { Scopes } from "../scopes.ts";
import { type Decided, decidingBatch, type Outcome, type WaitingChange } from "./decide-batch.ts";
import { documentCommit, editsOf } from "./document-commits.ts";
import {
  type Interpretation,
  interpretingConfig,
  isServed,
  type Locate,
  placed,
  placedAs,
  type Rules,
} from "./interpret.ts";
import type { Journal } from "./journal/journal.ts";
import { applyChanges, type ChangeRecord } from "./journal/record.ts";
import {
  type Commit,
  type CommitLog,
  type Committed,
  ConflictError,
  type DocumentCommit,
  formatPosition,
  type LogNumber,
  numberIn,
} from "./log/commit-log.ts";
import { Mirror, type MirroredCommit } from "./mirror.ts";
import { recordOf, startingPoint } from "./recovery.ts";
import { valueByAnyName, withNewNames } from "./renamed-fields.ts";
import type { FileStamps, RepositoryFiles } from "./repository-files.ts";
import { causeOf, storageFailure, unreadableJournal } from "./storage-failure.ts";
import type {
  Actor,
  Applied,
  ChangeRequest,
  Mirrored,
  RepositoryState,
  RepositorySummary,
  StoreEvent,
  ValueSource,
  WaitingValue,
} from "./store.ts";
import { hashOfValue, type TrustedValues } from "./trusted-values.ts";

type Waiting = WaitingChange | { readonly kind: "exclusive"; run(): Promise<void> };

/** What the index knew of a repository before its files are read. */
export interface IndexedRepository extends RepositorySummary, Pick<RepositoryState, "position"> {
  readonly stamps: FileStamps;
  /** Hash of the text that the file of the values had, with all that was committed until then; absent: it lacked something. */
  readonly text?: string;
}

export interface RepositoryOptions {
  readonly id: string;
  /** Asked for when first needed, as is the journal: of ten thousand repositories most are never opened. */
  files(): RepositoryFiles;
  journal(): Journal;
  readonly log: CommitLog;
  readonly scopes: Scopes;
  readonly trust: TrustedValues;
  readonly clock: Clock;
  readonly indexed: IndexedRepository | undefined;
  /** What the log has of it that its history may lack. */
  readonly unmirrored: readonly Committed<Commit>[];
  /** So many entries of the log cannot be read. */
  readonly lost: number;
  /** Who has just added it; undefined: it was there. */
  readonly addedBy: Actor | undefined;
  publish(event: StoreEvent): void;
  /** Name and place as they are in the file now, whenever that was read. */
  onHead(state: RepositoryState): void;
  /** History or file lack something. */
  onBehind(repository: Repository): void;
  /** They lack nothing any more. */
  onLevel(repository: Repository): void;
  /** Keeps a text that came by hand in the moment of a write, and is no JSON. */
  keepText(id: string, path: string): Promise<void>;
  /** Something failed that no caller is told of. */
  onProblem(message: string, error: unknown): void;
}

/** Changes that were decided and are to be committed. */
export interface PreparedChanges {
  readonly decided: readonly Decided[];
  /** What the file is to say after them. */
  readonly config: Config;
  /** What they were decided on: all that the log had up to here. */
  readonly after: LogNumber;
  /** What the log is given of them, of each that edits anything. */
  readonly commits: readonly Commit[];
  /**
   * Makes them visible and publishes them; `numbers` are those of their log entries, in order. `isPart`: other repositories
   * have more of the same entry.
   */
  commit(numbers: readonly LogNumber[], isPart?: boolean): void;
}

/** How long, in milliseconds, a change waits while another program keeps changing the file. */
const foreignEditTime = 7_500;
/** Milliseconds before history and file are tried again by themselves. */
export const retryPause = 1_000;
/** How long, in milliseconds, what a write replaced is kept: an editor that had it open has ended by then. */
const replacedTime = 1_000;
/** Milliseconds after the last write in which an edit by hand may still be one of something older. */
const restTime = 10_000;
/** From so many characters on a file's text is worked on in parts. */
const largeText = 64 * 1024;
/** Why a file does not have what was committed for now: a look comes first. */
const beingChanged = "another program keeps changing the file";

/**
 * One repository and its queue: the one way its state changes. An operation and an edit by hand alike are compared with what
 * was there, put into the log, and then visible and published; history and file follow (`Mirror`). What waits while a
 * commit runs becomes one batch.
 */
export class Repository {
  readonly id: string;
  #mirror: Mirror | undefined;
  readonly #options: RepositoryOptions;
  readonly #queue: Waiting[] = [];
  #looks: (() => void)[] = [];
  #state: RepositoryState;
  /** The values as the log has them: those in service, and of scopes that are not there now the last ones. */
  #recorded: Config = {};
  /** What the files hold could not be put into the log yet. */
  #unrecorded: unknown;
  /** Why the file does not have what it is to say. */
  #mirrorProblem: HealthProblem | undefined;
  /** Why they could not be written last, and until when nobody tries by himself; by the clock's `monotonic()`. */
  #failed = { cause: "", until: Number.NEGATIVE_INFINITY };
  /** Of the files that `state` was made from. */
  #stamps: FileStamps = {};
  #loaded = false;
  /** The journal is open, and its values are known. */
  #journalRead = false;
  /** The rules that `state` was judged by, known by their defaults, which are new ones whenever a rule changes. */
  #judgedBy: Config | undefined;
  #lineage = "";
  /** The newest commit of another machine. */
  #takenAt: LogNumber = 0;
  /** The values are to be judged for what is wrong with them alone. */
  #isToBeTold = false;
  /** Where commits are made, of a log that several machines share. */
  readonly #origin: { readonly machine?: string };
  readonly #unmirrored: Committed<Commit>[];
  #removed = false;
  /** What the last write replaced is not waited for any longer. */
  #isEndingReplaced = false;
  /** Calls the end of what the last write replaced off. */
  #callOffEnd: (() => void) | undefined;
  #running: Promise<void> | undefined;

  constructor(options: RepositoryOptions) {
    const { id, indexed } = options;
    this.id = id;
    this.#options = options;
    this.#origin = options.log.shared ?? {};
    this.#unmirrored = [...options.unmirrored];
    const { name = id, path, inTree = false, revision = 0, position, health = [] } = indexed ?? {};
    const head = { id, name, ...(path !== undefined && { path }), inTree };
    this.#state = { ...head, revision, position, health, stored: undefined };
  }

  get mirror(): Mirror {
    this.#mirror ??= new Mirror(this.#options.files(), this.#options.journal(), this.#options.log, this.#options.clock);
    return this.#mirror;
  }

  get files(): RepositoryFiles {
    return this.mirror.files;
  }

  get journal(): Journal {
    return this.mirror.journal;
  }

  /** The newest durable state; before `loaded` only what the index knew. */
  get state(): RepositoryState {
    return this.#state;
  }

  /** The oldest revision whose successors are all kept. */
  get oldest(): number {
    return this.journal.oldest(this.#state.revision);
  }

  /** The values of `state` as the log has them. */
  get recorded(): Config {
    return this.#recorded;
  }

  /** The versions of the files that `state` was made from. */
  get stamps(): FileStamps {
    return this.#stamps;
  }

  /** When it last wrote its values itself, by the clock's `monotonic()`. */
  get wroteAt(): number {
    return this.#mirror?.wroteAt ?? Number.NEGATIVE_INFINITY;
  }

  /** The first entry that the log has to keep because of this repository; undefined if none. */
  get keptFrom(): LogNumber | undefined {
    return this.#unmirrored[0]?.number ?? this.#mirror?.keptFrom;
  }

  /** Whether files and journal have been read. A journal that cannot be opened is tried again at every look. */
  get loaded(): boolean {
    return this.#loaded && this.#journalRead;
  }

  /** Whether they have been looked at, if only in vain. */
  get isRead(): boolean {
    return this.#loaded;
  }

  /** Whether this object can be let go: nothing waits or is on its way, and its files have all that another one needs. */
  get isAtRest(): boolean {
    const isBusy = this.#running !== undefined || this.#queue.length > 0 || this.#looks.length > 0;
    // Which disk a work tree was on, nothing but this object knows.
    if (isBusy || this.#state.inTree || !this.loaded || this.journal.isCompacting) return false;
    if (this.#unrecorded !== undefined || this.#isJudgedByOldRules) return false;
    const isWell = this.#state.broken === undefined && this.#state.health.length === 0;
    const isOver = this.wroteAt + restTime < this.#options.clock.monotonic();
    return isWell && isOver && !this.mirror.isBehind && this.keptFrom === undefined;
  }

  get summary(): RepositorySummary {
    const { stored, broken: _, position: __, ...info } = this.#state;
    const modified = stored === undefined ? (this.#options.indexed?.modified ?? 0) : countConfigFields(stored);
    return { ...info, modified };
  }

  /** Once it is loaded: what a later start, or another object, is to know of it before it reads the files. */
  get indexEntry(): IndexedRepository {
    const isLevel = !this.mirror.isBehind && this.files.content.kind === "good";
    const text = isLevel ? { text: this.mirror.textHash() } : {};
    const known = { ...this.summary, position: this.#state.position, stamps: this.stamps, ...text };
    // Of a log that is elsewhere, a start has what the history has, and all that came later comes again.
    const revision = this.#options.log.shared && this.mirror.historyRevision;
    return revision === undefined ? known : { ...known, revision, position: undefined };
  }

  /** Reads what has not been read yet. Throws RepoconfError 1108 while the journal cannot be read, 1102 once removed. */
  async load(): Promise<void> {
    if (!this.loaded) await this.look();
    if (!this.loaded) throw this.#removed ? this.#notWritable() : this.#unrecorded;
  }

  /** The file with the values. */
  get file(): string {
    return this.files.values.path;
  }

  /** Where a field's value stands in the file. */
  source(scope: string, field: string): ValueSource {
    const names = this.#options.scopes.namesOf({ scope, field });
    return { file: this.file, ...this.#locate(names.map(name => [name.scope, name.field])).find(Boolean) };
  }

  /** Whether the value in service is what the file says, also of a field that stands in neither. */
  isFromFile(scope: string, field: string): boolean {
    const { stored, broken } = this.#state;
    const served = configValue(stored ?? {}, scope, field);
    const said = valueByAnyName(this.mirror.wanted, { scope, field }, this.#options.scopes);
    return broken === undefined && sameJson(served, said);
  }

  /**
   * Takes what another machine committed as it is: nothing is decided again. Between two turns of the event loop, in the order of
   * the log. `isPart`: other repositories have more of the same entry. Until it is `loaded`, its next load takes it.
   */
  takeOver({ number, entry }: Committed<Commit>, document: DocumentCommit, isPart: boolean): void {
    if (!this.loaded) {
      this.#unmirrored.push({ number, entry });
      return;
    }
    const before = this.#state;
    const { log } = this.#options;
    const { revision, edits } = document;
    const isRevision = revision > before.revision;
    // What the history had before a start comes again.
    const told = numberIn(log.id, this.journal.head?.text?.through);
    if (!isRevision && (revision < before.revision || document.served?.length !== 0 || number <= told)) return;
    this.#takenAt = number;
    if (document.begins) {
      this.#lineage = document.lineage;
      this.mirror.beginLineage(document.lineage);
    }
    const position = formatPosition(log.id, number);
    const record = isRevision ? { ...recordOf(entry, document, this.#recorded), position } : undefined;
    const changes = record?.changes ?? [];
    const wanted = applyConfigEdits(this.mirror.wanted, edits);
    const isKnown = edits.every(({ scope, field }) => this.#options.scopes.field(scope, field) !== undefined);
    // As long as all that the file says is in service, both are one object, and what is set next need not be judged with the rest.
    const isWhole = before.stored === this.mirror.wanted && document.served === undefined && isKnown;
    const stored = isWhole ? wanted : this.#known(applyChanges(before.stored ?? {}, changes));
    this.#recorded = isWhole && this.#recorded === before.stored ? wanted : applyChanges(this.#recorded, changes);
    this.mirror.commit([{ number, record, edits }], wanted);
    const health = before.health.filter(problem => problem !== this.#mirrorProblem);
    this.#become({ ...before, stored, ...(isRevision && { revision, position }) }, health);
    if (record !== undefined) this.#options.publish({ kind: "changed", state: this.#state, change: record, isPart });
    this.#publishDifferences(before, this.#state, false);
    this.#options.onBehind(this);
    // What is wrong with a value, or no longer is, shows when all of them are judged.
    if ((health.length > 0 || document.served !== undefined) && !this.#isJudgedByOldRules) {
      this.#judgedBy = undefined;
      this.#isToBeTold = true;
      void this.look();
    }
  }

  /** The log can be reached again: an edit by hand that waits in the file is tried again. */
  retry(): void {
    if (this.#unrecorded !== undefined) void this.look();
  }

  /** Reads the files inside the queue; an edit found there becomes a change. */
  look(): Promise<void> {
    const looked = new Promise<void>(resolve => this.#looks.push(resolve));
    this.#wake();
    return looked;
  }

  /** The rules for values changed: judges what the files hold anew. */
  async reinterpret(): Promise<void> {
    this.#isToBeTold = false;
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

  /** Inside `exclusive`: decides on the newest state, for the caller to put into the log. Throws RepoconfError 1102, 1106, 1107 or 1108. */
  async prepare<Answer>(
    request: ChangeRequest<Answer>,
  ): Promise<{ prepared: PreparedChanges; applied: Applied<Answer>; refused: boolean }> {
    const end = this.#options.clock.monotonic() + foreignEditTime;
    for (;;) {
      await this.#bringUpToDate();
      const refusal = this.#refusal;
      if (refusal !== undefined) throw refusal;
      const waiting: WaitingChange = { kind: "change", request, settle: () => {} };
      const prepared = await this.#decide([waiting]);
      if (this.#isJudgedByOldRules) continue;
      const [decided] = prepared.decided;
      if (decided === undefined) throw new Error("the change was not processed");
      if (decided.error !== undefined) throw decided.error;
      if (await this.#isStale(prepared, end)) continue;
      if (await this.#isForeign(prepared, end)) continue;
      if (!this.#fits(prepared)) throw storageFailure(this.id, new DocumentTooLargeError());
      const applied = { state: decided.after, answer: decided.answer as Answer };
      return { prepared, applied, refused: decided.refused };
    }
  }

  /**
   * Makes history and file say what is committed. Does not throw: where that cannot be, it says why, `health` tells of it,
   * and it is tried again. `isScheduled`: nobody waits, so what has just failed rests first. `onReplaced`: see `Mirror.write`.
   */
  async follow({
    isScheduled = false,
    onReplaced,
  }: {
    readonly isScheduled?: boolean;
    readonly onReplaced?: () => void;
  } = {}): Promise<Mirrored> {
    if (!this.loaded || this.#removed) return true;
    return this.mirror.inTurn(async () => {
      if (this.#removed) return true;
      const { cause: lastCause, until } = this.#failed;
      if (isScheduled && this.#options.clock.monotonic() < until) return lastCause;
      // The file has an edit that is not in the log yet: nothing may take its place.
      if (this.#unrecorded instanceof ConflictError) return beingChanged;
      if (this.#unrecorded !== undefined) {
        // But the log is not to be kept for its sake.
        await this.mirror.writeHistory(false).catch(() => {});
        return causeOf(this.#unrecorded);
      }
      try {
        await this.#turn();
        const isBehind = this.mirror.isFileBehind;
        await this.mirror.write(
          config => !this.#isJudgedByOldRules && isServed(config, this.#state.stored, this.#rules),
          this.#options.scopes,
          onReplaced,
        );
        if (isBehind) this.#endReplacedLater();
        this.#stamps = this.files.stamps;
        await this.#turn();
        this.#tellMirrorProblem(undefined);
        if (isBehind) this.#findPlaces();
        if (!this.mirror.isBehind) this.#options.onLevel(this);
        return this.#fileProblem ?? true;
      } catch (error) {
        if (error instanceof ForeignEditError) {
          // Whoever changed it is heard first.
          void this.look();
          return beingChanged;
        }
        const cause = causeOf(error);
        this.#failed = { cause, until: this.#options.clock.monotonic() + retryPause };
        this.#tellMirrorProblem({
          code: 1108,
          message: `The file cannot be written (${cause}). The values are active and safe in the log; Repoconf keeps retrying.`,
        });
        return cause;
      }
    });
  }

  /** As `follow`, but waits while another program changes the file. */
  async flush(): Promise<Mirrored> {
    const end = this.#options.clock.monotonic() + foreignEditTime;
    for (;;) {
      const mirrored = await this.follow();
      if (mirrored !== beingChanged || this.#options.clock.monotonic() > end) return mirrored;
      await this.look();
    }
  }

  /**
   * Inside the queue, right after a commit: what git sees is to be there when the caller hears of it. A text that came into the
   * file since is the next commit, as a whole: it may be another branch's.
   */
  async followInTree(): Promise<void> {
    if (!this.#state.inTree) return;
    const trusted = this.#options.trust.saved();
    const end = this.#options.clock.monotonic() + foreignEditTime;
    const seen = () => {
      const { promise: replaced, resolve } = Promise.withResolvers<Mirrored>();
      return Promise.race([replaced, this.follow({ onReplaced: () => resolve(true) })]);
    };
    while ((await seen()) === beingChanged && this.#options.clock.monotonic() < end) await this.#look();
    await trusted;
  }

  /** The values of the work tree's file that wait until they are trusted, as the file has them now. */
  async waiting(): Promise<readonly WaitingValue[]> {
    await this.look();
    return this.#waiting;
  }

  get #waiting(): readonly WaitingValue[] {
    const { stored, health, broken } = this.#state;
    if (broken !== undefined) return [];
    const untrusted = new Set(health.filter(({ code }) => code === 1114).map(({ field }) => field));
    return [...configEntries(withNewNames(this.mirror.wanted, this.#options.scopes).config)]
      .filter(({ scope, field }) => untrusted.has(joinConfigPath(scope, field)))
      .map(({ scope, field, value }) => {
        const serving = configValue(stored ?? {}, scope, field);
        return { scope, field, value, hash: hashOfValue(value), ...(serving !== undefined && { serving }) };
      });
  }

  /**
   * Inside `exclusive`: a person trusts the value that waits in a field, known by its hash, and it comes into service. The
   * revision by which it is. Throws RepoconfError 1102, 1104 if the file has another value by now, 1106 or 1108.
   */
  async accept(path: ConfigPath, hash: string): Promise<number> {
    await this.#bringUpToDate();
    const refusal = this.#refusal;
    if (refusal !== undefined) throw refusal;
    const { trust } = this.#options;
    const waiting = this.#waiting.find(({ scope, field }) => scope === path.scope && field === path.field);
    if (waiting?.hash !== hash) {
      const value = valueByAnyName(this.mirror.wanted, path, this.#options.scopes);
      // Somebody else was faster.
      if (waiting === undefined && value !== undefined && hashOfValue(value) === hash) return this.#state.revision;
      throw anotherValue(this.id, path);
    }
    try {
      await trust.accept(this.id, path, waiting.value);
    } catch (error) {
      throw storageFailure(this.id, error);
    }
    await this.mirror.inTurn(() => this.#absorb(this.mirror.wanted, "file"));
    if (this.#unrecorded !== undefined) throw storageFailure(this.id, this.#unrecorded);
    return this.#state.revision;
  }

  /** The end of a change: a text that was made ready for it, and is not in the file, will not be. */
  async dropPrepared(): Promise<void> {
    if (this.#state.inTree) await this.mirror.dropPrepared();
  }

  /** Puts what was committed into the history, for who reads it. Throws RepoconfError 1108. */
  async writeHistory(): Promise<void> {
    try {
      await this.mirror.writeHistory(true);
    } catch (error) {
      throw unreadableJournal(this.id, error);
    }
  }

  /**
   * Inside `exclusive`: rewrites name and path in the file of the home. That file alone has to be good: of an in-tree
   * repository whose folder has moved, the path is what has to be fixed. Throws RepoconfError 1102, 1106 or 1108.
   */
  async changeHead(changes: { readonly name?: string; readonly path?: string }): Promise<void> {
    const { home } = this.files;
    const end = this.#options.clock.monotonic() + foreignEditTime;
    await this.follow();
    await this.mirror.inTurn(async () => {
      for (;;) {
        if (this.#removed || home.status.kind !== "good") throw this.#notWritable();
        try {
          if (this.files.values === home) await this.mirror.beginReplacing();
          await home.write({ ...home.value, ...changes });
          if (this.files.values === home) this.#endReplacedLater();
          else await home.dropReplaced().catch(() => {});
          break;
        } catch (error) {
          if (!(error instanceof ForeignEditError) || this.#options.clock.monotonic() > end)
            throw storageFailure(this.id, error);
          await this.#lookInTurn();
        }
      }
      // The path of an in-tree repository decides which file holds its values.
      this.files.follow();
      await this.files.look();
      await this.#takeUp();
    });
  }

  /**
   * Inside `exclusive`: puts a text in the place of the file that people edit, and takes it up as an edit by hand. False
   * if the file is not `expected` any more. Throws RepoconfError 1102 or 1108.
   */
  async replaceText(text: string, expected: string | null): Promise<boolean> {
    if (this.#removed) throw this.#notWritable();
    await this.#look();
    await this.follow();
    return this.mirror.inTurn(async () => {
      const document = this.files.edited;
      if (document.text !== expected) return false;
      try {
        await this.mirror.beginReplacing();
        await document.replaceText(text);
      } catch (error) {
        if (error instanceof ForeignEditError) return false;
        throw storageFailure(this.id, error);
      }
      // Whoever wrote it knew the text that was there, and so every set.
      this.mirror.forgetRecentWrites();
      this.#endReplacedLater();
      await this.#lookInTurn();
      return true;
    });
  }

  /**
   * Inside `exclusive`: writes the file that people edit anew from what is in service; `keep` puts aside what is
   * there right before. Throws RepoconfError 1102, 1106 or 1108.
   */
  async restoreText(schemaReference: string, keep: (path: string) => Promise<void>): Promise<void> {
    if (this.#removed) throw this.#notWritable();
    await this.#look();
    await this.mirror.inTurn(async () => {
      const { stored, name, path, inTree } = this.#state;
      const document = this.files.edited;
      if (stored === undefined) throw this.#notWritable();
      const config = filterConfig(stored, () => true);
      const head = { name, ...(path !== undefined && { path }) };
      const whole = inTree ? { ...head, inTree: true } : { $schema: schemaReference, ...head, config };
      const value = document === this.files.tree ? { config } : whole;
      try {
        await document.dropReplaced();
        await document.overwriteText(formatJsonText(value), () => keep(document.path));
      } catch (error) {
        throw storageFailure(this.id, error);
      }
      this.mirror.forgetRecentWrites();
      await this.#lookInTurn();
    });
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
      // Another machine may remove one that nobody has read.
      if ((!this.#loaded && !this.#removed) || this.#looks.length > 0) {
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
          await this.#change(changes);
        } catch (error) {
          // A bug must not leave its callers without an answer, nor the queue standing still.
          for (const { settle } of changes) settle({ error });
        } finally {
          await this.dropPrepared();
        }
      }
    }
  }

  /** A look that failed by a bug says nothing of the files: what is known stays. */
  #giveUpLoading(error: unknown): void {
    this.#loaded = true;
    this.#unrecorded ??= error;
    this.#options.onProblem("could not check a repository's files", error);
  }

  /** Reads the files; tells whether they held something new. */
  #look(): Promise<boolean> {
    return this.mirror.inTurn(() => this.#lookInTurn());
  }

  async #lookInTurn(): Promise<boolean> {
    if (this.#removed) return false;
    const path = this.#loaded ? this.files.values.path : undefined;
    const changed = await this.files.look();
    // What was written to another file is no earlier text of this one.
    if (path !== undefined && this.files.values.path !== path) this.mirror.forgetRecentWrites();
    if (!this.loaded) await this.#load();
    else if (changed || this.#unrecorded !== undefined) await this.#takeUp();
    else if (this.#isJudgedByOldRules && this.#isToBeTold) await this.#tellHealth();
    else if (this.#isJudgedByOldRules) await this.#absorb(this.mirror.wanted, "file");
    else return this.#takeLateEdit();
    await this.#takeLateEdit();
    return true;
  }

  /** Whether there was an edit that came in the moment of a write, or behind it into the file that it replaced. */
  async #takeLateEdit(): Promise<boolean> {
    if (!this.loaded || this.files.content.kind === "broken") return false;
    const after = this.#options.log.newest;
    const edited = await this.mirror.lateEdit(this.#options.scopes);
    if (edited === undefined) return false;
    // An editor that writes in place has no JSON there for a moment.
    if (edited === null && !this.#isEndingReplaced) return false;
    if (edited === null) await this.#options.keepText(this.id, this.files.values.replacedPath ?? "");
    else await this.#absorb(edited, "merge", after);
    if (this.#unrecorded === undefined) await this.mirror.dropReplaced().catch(() => {});
    return true;
  }

  #endReplacedLater(): void {
    this.#callOffEnd?.();
    this.#callOffEnd = this.#options.clock.schedule(replacedTime, () => void this.endReplaced());
  }

  /** A moment after the last write: who was still writing to the file that it replaced has ended by now. */
  async endReplaced(): Promise<void> {
    this.#callOffEnd?.();
    if (!this.loaded || this.#removed) return;
    if ((await this.mirror.lateEdit(this.#options.scopes)) !== undefined) {
      this.#isEndingReplaced = true;
      await this.look();
      this.#isEndingReplaced = false;
    }
    await this.mirror.inTurn(async () => {
      if (this.files.content.kind === "good" && this.#unrecorded === undefined)
        await this.mirror.dropReplaced().catch(() => {});
    });
  }

  /**
   * Brings log, journal and files together after a start. An edit made while no daemon ran becomes a revision; what a broken
   * file held last comes from the journal.
   */
  async #load(): Promise<void> {
    const { journal, files } = this.mirror;
    try {
      const unmirrored = [...this.#unmirrored];
      const logged = unmirrored.flatMap(({ entry }) => entry.documents).find(({ repo }) => repo === this.id);
      // What the log has is not lost with the journal's end.
      const known = Math.min(this.#options.indexed?.revision ?? 0, (logged?.revision ?? Number.POSITIVE_INFINITY) - 1);
      await journal.open(files.values.stamp, known);
      const point = await startingPoint(this.mirror, {
        repo: this.id,
        unmirrored,
        logId: this.#options.log.id,
        indexed: this.#options.indexed,
        lost: this.#options.lost,
        isNew: this.#options.addedBy !== undefined,
        scopes: this.#options.scopes,
      });
      this.#recorded = point.recorded;
      const begins = this.#options.addedBy !== undefined || point.newest === 0;
      this.#lineage = begins ? randomBytes(4).toString("hex") : point.lineage;
      this.#unmirrored.splice(0, unmirrored.length);
      this.mirror.begin(point, this.#lineage);
      this.#unrecorded = undefined;
      // What an earlier repository of this id held is no good value of this one.
      const hasNone = point.newest === 0 || this.#options.addedBy !== undefined;
      const stored = hasNone ? undefined : this.#known(point.recorded);
      // In service before values had to be trusted, and the history does not have it.
      if (this.#options.trust.takeUnread(this.id) && point.newest === 0) this.#trustCommands(point.wanted);
      this.#state = { ...this.#state, revision: point.newest, position: point.position, stored };
      await this.#absorb(point.wanted, point.merged ? "merge" : "file");
    } catch (error) {
      // With its end and without what it recorded, the next record would tell of changes that nobody made.
      journal.close();
      if (this.#unrecorded === undefined)
        this.#options.onProblem("cannot read the journal; changes are refused until it can be read again", error);
      this.#unrecorded = unreadableJournal(this.id, error);
      const { content } = files;
      await this.#absorb(content.kind === "good" ? content.config : {}, "file");
    }
    this.#loaded = true;
    this.#journalRead = journal.head !== undefined;
    this.#takeMissed();
    if (this.#journalRead && this.mirror.isBehind) this.#options.onBehind(this);
  }

  /** Of other machines: what came while the journal was being read. */
  #takeMissed(): void {
    if (!this.#journalRead) return;
    for (const committed of this.#unmirrored.splice(0)) {
      const document = committed.entry.documents.find(({ repo }) => repo === this.id);
      if (document !== undefined) this.takeOver(committed, document, false);
    }
  }

  /** The files hold something new. */
  async #takeUp(): Promise<void> {
    const { content } = this.files;
    if (content.kind === "broken") return this.#absorb(this.mirror.wanted, "file");
    // What is in a work tree is for git to decide, but for a text that is our own: that lacks what is on its way into it.
    const told = this.journal.head?.text;
    const isOurs = told !== undefined && [told.text, told.over].includes(this.mirror.textHash());
    const { config, merged } =
      content.head.inTree && !isOurs
        ? { config: content.config, merged: false }
        : this.mirror.rebase(content.config, this.#options.scopes);
    await this.#absorb(config, merged ? "merge" : "file");
  }

  /** Takes what the files hold as the state: a change like any other. `wanted` is what they are to say from now on. */
  async #absorb(wanted: Config, source: "file" | "merge", after = this.#options.log.newest): Promise<void> {
    const before = this.#state;
    const first = !this.#loaded;
    this.#judgedBy = this.#options.scopes.defaults;
    const content = this.files.content;
    const { broken: _, ...whole } = before;
    if (content.kind === "broken") {
      // That is a person in an editor, and what comes next is based on it: no program that knows of nothing.
      this.mirror.forgetRecentWrites();
      this.#become({ ...whole, ...content.head, broken: content.problem }, [content.problem]);
      this.#options.onHead(this.#state);
      this.#publishDifferences(before, this.#state, first);
      return;
    }
    // Another branch may take it out of service, and bring it back.
    if (before.stored !== undefined) this.#trustCommands(before.stored);
    const { stored, health, changes } = await this.#interpret(wanted, before.stored);
    await this.#turn();
    const begins = this.journal.head?.segment === undefined && this.#state.revision === 0;
    // Values of a scope that went are no longer in service, but this is no revision: they come back with it.
    const isSame =
      health.length === 0 &&
      before.stored !== undefined &&
      (await runInParts(diffingConfigs(before.stored, stored))).length === 0;
    const edited = await runInParts(diffingConfigs(this.mirror.wanted, wanted));
    const edits = [...editsOf(edited), ...saidOf(changes, edited, wanted)];
    await this.#turn();
    const take = (committed?: Pick<MirroredCommit, "number"> & { readonly record: ChangeRecord }) => {
      if (committed !== undefined) {
        this.#recorded = applyChanges(this.#recorded, changes);
        this.mirror.commit([{ ...committed, edits }], wanted);
      }
      this.mirror.take(content.config, wanted);
      this.mirror.forgetRecentWrites(changes);
      const { revision, position } = committed?.record ?? before;
      const told: HealthProblem[] =
        source === "merge" ? [{ code: 1104, message: mergeMessage(committed?.record) }] : [];
      const state = {
        id: this.id,
        ...content.head,
        revision,
        position,
        stored: isSame ? before.stored : stored,
        health,
      };
      if (diffConfigs(this.#recorded, stored).length === 0) this.#recorded = state.stored;
      this.#become(state, [...health, ...told]);
      this.#options.onHead(this.#state);
      // Before its first revision nobody has seen any values.
      if (committed !== undefined && changes.length > 0 && !begins)
        this.#options.publish({ kind: "changed", state: this.#state, change: committed.record, isPart: false });
      this.#publishDifferences(before, this.#state, first);
      if (this.#loaded && this.mirror.isBehind) this.#options.onBehind(this);
    };
    if (this.#takenAt > after) {
      this.#beginAgain(new ConflictError(Promise.resolve()));
      return;
    }
    if (changes.length > 0 || begins) {
      const isRecorded = await this.#record(this.#fileChange(source, changes), edits, after, take);
      if (isRecorded || !first) return;
    } else if (this.journal.head !== undefined) this.#unrecorded = undefined;
    take();
  }

  /**
   * What is wrong with the values by the rules of this machine. What another machine committed stays in service: two whose rules
   * differ would else change it back and forth for ever.
   */
  async #tellHealth(): Promise<void> {
    this.#isToBeTold = false;
    const before = this.#state;
    const { health } = await this.#interpret(this.mirror.wanted, before.stored);
    if (before.broken !== undefined || this.#state !== before) return;
    this.#become(before, health);
    this.#publishDifferences(before, this.#state, false);
  }

  /** Another machine was first: what the file says is compared with that, as soon as it is there. */
  #beginAgain(conflict: ConflictError): void {
    this.#unrecorded = conflict;
    void conflict.taken.then(() => this.look());
  }

  /** What the values mean by the scopes as they are when it ends, and how that differs from what the log has. */
  async #interpret(
    wanted: Config,
    lastGood: Config | undefined,
  ): Promise<Interpretation & { readonly changes: readonly StoredDifference[] }> {
    for (;;) {
      this.#judgedBy = this.#options.scopes.defaults;
      const judging = { locate: this.#locate, acknowledged: this.#known(this.#recorded) };
      const interpretation = await runInParts(interpretingConfig(wanted, lastGood, this.#rules, judging));
      const changes = await runInParts(diffingConfigs(this.#known(this.#recorded), interpretation.stored));
      if (!this.#isJudgedByOldRules) return { ...interpretation, changes };
    }
  }

  /** A turn of the event loop for others, if what is done here takes its time. */
  async #turn(): Promise<void> {
    if (this.#isLarge) await nextTurn();
  }

  get #isLarge(): boolean {
    return (this.files.values.text?.length ?? 0) > largeText;
  }

  /** Commits what a hand edit changed; if that fails it is tried again at the next look, and until then not in service. */
  async #record(
    record: ChangeRecord,
    edits: readonly ConfigEdit[],
    after: LogNumber,
    take: (committed: { readonly number: LogNumber; readonly record: ChangeRecord }) => void,
  ): Promise<boolean> {
    try {
      const { log, addedBy } = this.#options;
      if (this.journal.head === undefined) throw this.#unrecorded;
      const { kind: _, revision, changes, lineage: __, ...rest } = record;
      const name = log.shared && { name: this.#headName };
      const isFirst = this.#state.stored === undefined || addedBy !== undefined;
      const begins = isFirst ? ({ begins: true, ...name } as const) : {};
      const place = { repo: this.id, lineage: this.#lineage, revision, ...(!this.#loaded && begins) };
      const document = documentCommit(place, edits, changes);
      const committed = (number: LogNumber) => {
        this.#unrecorded = undefined;
        take({ number, record: { ...record, position: formatPosition(log.id, number) } });
      };
      await log.append({ entries: [{ kind: "commit", ...rest, documents: [document] }], after, committed });
      return true;
    } catch (error) {
      if (error instanceof ConflictError) {
        this.#beginAgain(error);
        return false;
      }
      if (this.#unrecorded === undefined)
        this.#options.onProblem("a hand edit cannot be recorded, so it is not active yet", error);
      this.#unrecorded = error;
      return false;
    }
  }

  #fileChange(source: "file" | "merge", changes: readonly StoredDifference[]): ChangeRecord {
    const addedBy = this.#loaded ? undefined : this.#options.addedBy;
    return {
      kind: "change",
      revision: this.#state.revision + 1,
      time: timeText(this.#options.clock),
      actor: addedBy ?? { kind: "file" },
      source: addedBy === undefined ? source : "set",
      ...this.#origin,
      ...(this.#lineage !== "" && { lineage: this.#lineage }),
      changes,
    };
  }

  get #headName(): string {
    return this.files.content.head?.name ?? this.id;
  }

  get #isJudgedByOldRules(): boolean {
    return this.#judgedBy !== this.#options.scopes.defaults;
  }

  #become(state: RepositoryState, health: readonly HealthProblem[]): void {
    const problem = state.broken === undefined ? this.#mirrorProblem : undefined;
    this.#state = { ...state, health: problem === undefined ? health : [...health, problem] };
    this.#stamps = this.files.stamps;
  }

  #publishDifferences(before: RepositoryState, after: RepositoryState, first: boolean): void {
    const { publish } = this.#options;
    const sameHead = before.name === after.name && before.path === after.path && before.inTree === after.inTree;
    // What others were told came from the index.
    if (!sameHead && (!first || this.#options.indexed !== undefined)) publish({ kind: "updated", state: after });
    if (first ? after.health.length > 0 : !sameJson(before.health, after.health))
      publish({ kind: "health", state: after, before: before.health });
  }

  /** Before a change is decided: an edit that nobody has told of comes first. */
  async #bringUpToDate(): Promise<void> {
    while (this.#unrecorded instanceof ConflictError && !this.#removed) {
      await this.#unrecorded.taken;
      await this.#look();
    }
    // It may have been mended since, and nobody has said so yet.
    const isBroken = this.#unrecorded !== undefined || this.files.content.kind === "broken";
    if (isBroken || (await this.files.isTouched())) await this.#look();
    // A change by the new rules on a state by the old ones would be told to set what came or went with a scope.
    while (this.#isJudgedByOldRules && !this.#removed) await this.#look();
  }

  get #refusal(): RepoconfError | undefined {
    if (this.#removed || this.files.content.kind === "broken") return this.#notWritable();
    return this.#unrecorded === undefined ? undefined : storageFailure(this.id, this.#unrecorded);
  }

  /** Decides the batch in order, each change on the outcome of the one before, and puts the result into the log. */
  async #change(batch: readonly WaitingChange[]): Promise<void> {
    const end = this.#options.clock.monotonic() + foreignEditTime;
    let prepared: PreparedChanges;
    do {
      await this.#bringUpToDate();
      const refusal = this.#refusal;
      if (refusal !== undefined) {
        for (const { settle } of batch) settle({ error: refusal });
        return;
      }
      prepared = await this.#decide(batch);
      await this.#turn();
      // By the rules that the state was judged by, or once more.
    } while (
      this.#isJudgedByOldRules ||
      (await this.#isStale(prepared, end)) ||
      (await this.#isForeign(prepared, end))
    );
    if (!this.#fits(prepared)) {
      // Which of them is too much shows only one by one.
      const [only, ...others] = batch;
      if (others.length > 0) for (const waiting of batch) await this.#change([waiting]);
      else only?.settle({ error: storageFailure(this.id, new DocumentTooLargeError()) });
      return;
    }
    const { commits: entries, after } = prepared;
    try {
      if (entries.length === 0) prepared.commit([]);
      else
        await this.#options.log.append({
          entries,
          after,
          committed: first => prepared.commit(entries.map((_, index) => first + index)),
        });
    } catch (error) {
      if (error instanceof ConflictError) {
        await error.taken;
        return this.#change(batch);
      }
      for (const { settle } of batch) settle({ error: storageFailure(this.id, error) });
      return;
    }
    if (entries.length > 0) await this.followInTree();
    for (const { waiting, after, answer, error } of prepared.decided)
      waiting.settle(error === undefined ? { applied: { state: after, answer } } : { error });
  }

  async #decide(batch: readonly WaitingChange[]): Promise<PreparedChanges> {
    const after = this.#options.log.newest;
    const { decided, config } = await runInParts(decidingBatch(batch, this.#state, this.mirror.wanted, this.#rules));
    const time = timeText(this.#options.clock);
    const made = decided
      .filter(({ edits }) => edits.length > 0)
      .map(one => ({ one, record: this.#recordOf(one, time) }));
    const commits = made.map(({ one, record }): Commit => {
      const { actor, source } = one.waiting.request;
      const place = { repo: this.id, lineage: this.#lineage, revision: one.after.revision };
      const document = documentCommit(place, one.edits, record?.changes ?? []);
      return { kind: "commit", time, actor, source, ...whyOf(one.waiting), ...this.#origin, documents: [document] };
    });
    const commit = (numbers: readonly LogNumber[], isPart = false) => {
      const before = this.#state;
      const committed = made.map(({ one, record }, index) => {
        const number = numbers[index] ?? 0;
        const position = formatPosition(this.#options.log.id, number);
        return { number, record: record && { ...record, position }, edits: one.edits, after: one.after };
      });
      const position = committed.findLast(({ record }) => record !== undefined)?.record?.position ?? before.position;
      const last = { ...(decided.at(-1)?.after ?? before), position };
      // Not before: until here nobody may see the new values, not even as those of the past.
      for (const { one } of made) {
        this.#trustCommands(applyConfigEdits({}, one.edits));
        const isAll = this.#recorded === one.before.stored && one.after.stored !== undefined;
        this.#recorded = isAll ? one.after.stored : applyChanges(this.#recorded, one.changes);
      }
      // The text is as it was; where it is written anew the places are looked for.
      if (made.length > 0) {
        this.mirror.commit(committed, config);
        this.#become(last, placedAs(last.health, before.health));
      }
      for (const { record, after } of committed)
        if (record !== undefined) this.#options.publish({ kind: "changed", state: after, change: record, isPart });
      this.#publishDifferences(before, this.#state, false);
      if (made.length > 0) this.#options.onBehind(this);
    };
    return { decided, config, after, commits, commit };
  }

  /** What is said to be there already has to be there: an edit that nobody has seen yet comes first. */
  async #isStale({ decided }: PreparedChanges, end: number): Promise<boolean> {
    const isClaimed = decided.some(({ wanted }) => wanted) && decided.every(({ edits }) => edits.length === 0);
    return isClaimed && this.#options.clock.monotonic() < end && (await this.#look());
  }

  /**
   * In a work tree the new text is beside the file before the commit, so that between a look at the file and its replacing there is
   * as little as can be: what git puts there comes before the change, or as a whole behind it. Throws ForeignEditError if another
   * program keeps changing it.
   */
  async #isForeign({ commits, config }: PreparedChanges, end: number): Promise<boolean> {
    if (!this.#state.inTree || commits.length === 0) return false;
    try {
      await this.mirror.prepare(config, this.#options.scopes);
      return false;
    } catch (error) {
      // Where the disk refuses, the set is served all the same, and `health` tells of the file.
      if (!(error instanceof ForeignEditError)) return false;
      if (this.#options.clock.monotonic() > end) throw storageFailure(this.id, error);
      return this.#look();
    }
  }

  #fits({ decided, config }: PreparedChanges): boolean {
    return this.mirror.fits(
      decided.flatMap(({ edits }) => edits),
      config,
    );
  }

  /** Undefined if it changes nothing that anybody is served. */
  #recordOf({ waiting, before, after, changes }: Decided, time: string): ChangeRecord | undefined {
    if (before.revision === after.revision) return undefined;
    const { actor, source } = waiting.request;
    return {
      kind: "change",
      revision: after.revision,
      time,
      actor,
      source,
      ...whyOf(waiting),
      ...this.#origin,
      ...(this.#lineage !== "" && { lineage: this.#lineage }),
      changes,
    };
  }

  get #rules(): Rules {
    const { scopes, trust } = this.#options;
    const isTrusted = (path: ConfigPath, value: JsonValue) =>
      !this.#isOfWorkTree || trust.hasByAnyName(this.id, scopes.namesOf(path), value);
    return { scopes, isTrusted };
  }

  /** Whether git may change the values. A file of the home is the person's own. */
  get #isOfWorkTree(): boolean {
    return this.files.tree !== undefined;
  }

  /** They are or were in service, or somebody sets them who may. */
  #trustCommands(config: Config): void {
    const { scopes, trust } = this.#options;
    if (this.#isOfWorkTree) trust.addAll(this.id, config, (scope, field) => scopes.isCommand(scope, field));
  }

  /** The file was written: its problems may stand elsewhere. */
  #findPlaces(): void {
    const before = this.#state;
    if (before.broken !== undefined || before.health.length === 0) return;
    const others = before.health.filter(problem => problem !== this.#mirrorProblem);
    this.#become(before, placed(others, this.#locate));
    this.#publishDifferences(before, this.#state, false);
  }

  #tellMirrorProblem(problem: HealthProblem | undefined): void {
    const known = this.#mirrorProblem;
    if (known?.message === problem?.message) return;
    const before = this.#state;
    this.#mirrorProblem = problem;
    if (before.broken !== undefined) return;
    this.#become(
      before,
      before.health.filter(one => one !== known),
    );
    this.#publishDifferences(before, this.#state, false);
  }

  get #fileProblem(): string | undefined {
    return this.#state.broken === undefined ? undefined : describeProblem(this.#state.broken);
  }

  /** Without the values of scopes and fields that are not there now, by no name. */
  #known(config: Config): Config {
    const { scopes } = this.#options;
    return filterConfig(
      config,
      (scope, field) => scopes.field(scope, field) !== undefined || scopes.newName(scope, field) !== undefined,
    );
  }

  #notWritable(): RepoconfError {
    if (this.#removed) return new RepoconfError(1102, `There is no repository ${this.id}.`, { repo: this.id });
    const { broken } = this.#state;
    const what = broken === undefined ? "It is invalid." : `${describeProblem(broken)}.`;
    const message = `The repository's file is invalid. Fix it and retry: ${what}`;
    return new RepoconfError(1106, message, { repo: this.id });
  }

  readonly #locate: Locate = paths => {
    const { status } = this.files.values;
    return status.kind === "good" ? status.json.locate(paths.map(path => ["config", ...path])) : [];
  };
}

/** Of changes in what is served those that a file's values say and that are not `edited`: without them a power loss that takes the file back takes them too. */
function saidOf(changes: readonly StoredDifference[], edited: readonly ConfigPath[], values: Config): ConfigEdit[] {
  const known = new Set(edited.map(({ scope, field }) => joinConfigPath(scope, field)));
  return editsOf(changes).filter(
    ({ scope, field, value }) =>
      !known.has(joinConfigPath(scope, field)) && sameJson(configValue(values, scope, field), value),
  );
}

/** What a request says of why, and of what it is a part. */
function whyOf({ request: { reason, batch } }: WaitingChange): Pick<Commit, "reason" | "batch"> {
  return { ...(reason !== undefined && { reason }), ...(batch !== undefined && { batch }) };
}

function anotherValue(repo: string, { scope, field }: ConfigPath): RepoconfError {
  const path = joinConfigPath(scope, field);
  const message = `The value of ${path} that you reviewed is no longer waiting for trust: the file may have a different value now. Review it again.`;
  return new RepoconfError(1104, message, { repo, field: path });
}

function mergeMessage(record: ChangeRecord | undefined): string {
  // Without a revision the newest one is a tool's, and undo would take that back.
  const told =
    record === undefined || record.changes.length === 0
      ? ": the file contains both. The edit changed no active value, so it made no revision."
      : ` (revision ${record.revision}); undo reverts the edit.`;
  return `A hand edit and a set made at the same time were merged${told}`;
}
