import { type Config, type ConfigEdit, configEntries } from "../../../shared/config.ts";
import { diffingConfigs, type StoredDifference } from "../../../shared/config-diff.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { HealthProblem } from "../../../shared/protocol.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { nextTurn, runInParts } from "../../time/turns.ts";
import { activeAfter, activeValues, type NewCommit, positioned } from "../apply-commit.ts";
import type { StoreContext } from "../context.ts";
import type { Journal } from "../history/journal.ts";
import { type Commit, type Committed, type OpenedLog, positionOf } from "../log/commit-log.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { FileStamps, RepositoryContent, RepositoryFiles } from "../mirror/repository-files.ts";
import { ofBase } from "../mirror/repository-metadata.ts";
import type { Actor, CommittedState, DocumentCommit, LogNumber, RepositoryState, StoreEvent } from "../types.ts";
import {
  type Interpretation,
  interpretingConfig,
  type Locate,
  placed,
  type Rules,
  trustedByNewRules,
} from "../values/interpret.ts";
import { commandsAmong } from "../values/trusted-values.ts";
import type { HashedValue } from "../values/value-hashes.ts";
import type { IndexedRepository } from "./repository-index.ts";

/** What is known of a repository before its files are read. */
export interface KnownRepository {
  readonly id: string;
  readonly files: RepositoryFiles;
  readonly journal: Journal;
  readonly indexed: IndexedRepository | undefined;
  /** Who has just added it; undefined if it existed before. */
  readonly addedBy: Actor | undefined;
  /** What a start finds in the log, and the commits there that the history may lack. */
  readonly missed: Pick<OpenedLog, "lost"> & { readonly commits: readonly Committed<Commit>[] };
  /** Of a file that was found: until this entry, the log is known to have no repository with this id. Undefined if it may have one. */
  readonly absentUntil: LogNumber | undefined;
  /** It is a layer above another document. */
  readonly isLayer?: boolean | undefined;
}

/** What happens to one document. */
export type ContextEvent = Extract<
  StoreEvent,
  { readonly kind: "changed" } | { readonly kind: "health" } | { readonly kind: "updated" }
>;

/** What a repository reports to the store. */
export interface RepositoryReports {
  publish(event: ContextEvent): void;
  /** Called with name and path in the file, whenever it was read. */
  onMetadata(state: RepositoryState): void;
  /** Called when the history or the file lacks a commit. */
  onOutdated(): void;
  /** Called when both have every commit. */
  onUpToDate(): void;
}

interface CommitOptions {
  readonly isPart?: boolean;
  /** Of a repository whose files are being read for the first time. */
  readonly isFirst?: boolean;
  /** What was read, if the commit is an edit of the file, or was made by new rules. */
  readonly file?: Extract<RepositoryContent, { readonly kind: "good" }>;
  /** Nobody has seen any values before. */
  readonly isSilent?: boolean;
  /** The values to show if none are known: they could not be committed. */
  readonly uncommitted?: Config | undefined;
}

/** From this many characters on, a file's text is processed in parts. */
const largeText = 64 * 1024;

/** What the parts of one repository share: what is committed, what is active, and the problems. Publishes changes. */
export class RepositoryContext {
  readonly id: string;
  readonly store: StoreContext;
  readonly given: KnownRepository;
  readonly reports: RepositoryReports;
  readonly files: RepositoryFiles;
  readonly journal: Journal;
  readonly mirror: Mirror;
  /** The newest durable state; until the files are read, the one in the index. */
  current: RepositoryState;
  /** What the log says; known once files and history have been read. */
  committed: CommittedState;
  /** The stamps of the files that `current` was made from. */
  stamps: FileStamps = {};
  /** The defaults of the rules that `current` was made by: a new object whenever a rule changes. */
  checkedBy: Config | undefined;
  /** Whether it begins in the log, and gets its history and its file after that. */
  readonly beginsInLog: boolean;
  /** `visible`, made from the state `of` by the scopes with the defaults `by`. */
  #visible: { readonly of: RepositoryState; readonly by: Config; readonly state: RepositoryState } | undefined;
  /** Why the file cannot be written. */
  #mirrorProblem: HealthProblem | undefined;

  constructor(store: StoreContext, given: KnownRepository, reports: RepositoryReports) {
    const { id, files, journal, indexed } = given;
    this.id = id;
    this.store = store;
    this.given = given;
    this.reports = reports;
    this.files = files;
    this.journal = journal;
    this.mirror = new Mirror(files, journal, store.log, store.clock, () => this.committed);
    const { name = id, path, remote, favourite, inTree = false, revision = 0, position, health = [] } = indexed ?? {};
    const place = { ...(path !== undefined && { path }), ...(remote !== undefined && { remote }) };
    const metadata = { id, name, ...place, inTree, ...ofBase(indexed), ...(favourite && { favourite }) };
    this.beginsInLog = store.log.isAuthority;
    this.current = { ...metadata, revision, position, health, stored: undefined };
    this.committed = { lineage: "", revision, position, target: {}, valid: {} };
  }

  /**
   * The state for everyone outside of the repository. New schemas are in use at once, but the values are interpreted by them only when
   * that is in the log: until then, what they make a command of is not active.
   */
  get visible(): RepositoryState {
    const [{ stored }, { scopes }] = [this.current, this.store];
    if (this.#visible?.of === this.current && this.#visible.by === scopes.defaults) return this.#visible.state;
    const trusted = stored && trustedByNewRules(stored, this.rules);
    const state = trusted === stored ? this.current : { ...this.current, stored: trusted };
    this.#visible = { of: this.current, by: scopes.defaults, state };
    return state;
  }

  /** The problems of the values, without the one that the file cannot be written. */
  get problems(): readonly HealthProblem[] {
    return this.current.health.filter(problem => problem !== this.#mirrorProblem);
  }

  /** Yields to the event loop if the file is large. */
  async turn(): Promise<void> {
    if ((this.files.values.text?.length ?? 0) > largeText) await nextTurn();
  }

  get rules(): Rules {
    return this.rulesOf(this.store.scopes);
  }

  /** The rules that would apply with these scopes. */
  rulesOf(scopes: Scopes): Rules {
    const { trust } = this.store;
    const { trustedAs } = this;
    const isTrusted = (path: ConfigPath, value: JsonValue) =>
      this.#isOfWorkTree ? trust.has(trustedAs, scopes, path, value) : trust.hasInHome(trustedAs, scopes, path, value);
    return { scopes, isTrusted, ...(this.given.isLayer && { isLayer: true }) };
  }

  /** The repository whose trust counts: for a linked worktree, the one that it belongs to. */
  get trustedAs(): string {
    // While the file that says it is broken, what was last known.
    return (this.files.content.metadata ?? this.current).base ?? this.id;
  }

  /** Whether git may change the values. A file of the home is the person's own, except for what keys set there. */
  get #isOfWorkTree(): boolean {
    return this.files.tree !== undefined;
  }

  /** The commands among values that are set by somebody with the right to, and that would need trust. */
  commandsAmong(edits: readonly ConfigEdit[]): readonly HashedValue[] {
    const { trust, scopes } = this.store;
    const needTrust = ({ scope, field, value }: ConfigEdit) =>
      value !== undefined &&
      scopes.isCommand(scope, field) &&
      (this.#isOfWorkTree || trust.isPlain(this.trustedAs, scopes, { scope, field }, value));
    return commandsAmong(edits.filter(needTrust), scopes);
  }

  /**
   * Trusts the commands of the built-in scope among values that are or were active. Those of other scopes may have become active as
   * plain texts, before their schema made commands of them.
   */
  trustBuiltIn(config: Config): void {
    this.store.trust.add(this.trustedAs, this.commandsAmong([...configEntries({ svc: config["svc"] ?? {} })]));
  }

  /** What the index has as the newest revision: the history's, if a start gets later ones from the log again. */
  get indexedPlace(): Pick<IndexedRepository, "revision" | "position"> {
    const { revision, position } = this.current;
    const recorded = this.beginsInLog ? this.mirror.historyRevision : undefined;
    return recorded === undefined ? { revision, position } : { revision: recorded, position: undefined };
  }

  /** What the first commit tells other machines of the repository. */
  get introduction(): Pick<DocumentCommit, "name" | "remote"> | undefined {
    const { name = this.id, remote } = this.files.content.metadata ?? {};
    return this.beginsInLog ? { name, ...(remote !== undefined && { remote }) } : undefined;
  }

  /**
   * Takes over commits, in the order of the log: the only way in which a set, an edit by hand or another machine's commit changes the
   * state. `isPart`: other repositories have more of the same entry.
   */
  commit(
    commits: readonly NewCommit[],
    health: readonly HealthProblem[],
    { isPart = false, isFirst = false, file, isSilent = false, uncommitted }: CommitOptions = {},
  ): void {
    if (commits.length === 0) return;
    const { log, scopes } = this.store;
    const before = this.current;
    const about = file === undefined ? before : { id: this.id, ...file.metadata };
    const revisions: Extract<StoreEvent, { readonly kind: "changed" }>[] = [];
    let state = before;
    for (const { committed, applied } of commits) {
      const inLog = committed === undefined ? applied : positioned(applied, positionOf(committed, log.id));
      const { state: next, record, edits } = inLog;
      const stored =
        file === undefined
          ? activeAfter(state.stored, this.committed, applied, scopes)
          : (uncommitted ?? activeValues(next.valid, scopes));
      // A commit that is no revision leaves the position of the one before it.
      const { position } = record === undefined ? this.committed : next;
      this.committed = { ...next, position };
      state = { ...about, revision: next.revision, position, stored, health };
      if (record !== undefined && !isSilent) revisions.push({ kind: "changed", state, change: record, isPart });
      if (committed !== undefined) this.mirror.commit({ number: committed.number, record, edits });
    }
    if (file !== undefined) this.mirror.accept(file.config);
    this.store.findings.settle(this.id, this.committed.target);
    this.setState(state, health);
    for (const one of revisions) this.reports.publish(one.state === state ? { ...one, state: this.current } : one);
    this.publishDifferences(before, this.current, isFirst);
    if (!isFirst && this.mirror.isOutdated) this.reports.onOutdated();
  }

  setState(state: RepositoryState, health: readonly HealthProblem[]): void {
    const problem = state.broken === undefined ? this.#mirrorProblem : undefined;
    this.current = { ...state, health: problem === undefined ? health : [...health, problem] };
    this.stamps = this.files.stamps;
  }

  /** Shows a state that differs without a commit: name, path, and what is derived. */
  show(state: RepositoryState, health: readonly HealthProblem[], isFirst = false): void {
    const before = this.current;
    this.setState(state, health);
    this.publishDifferences(before, this.current, isFirst);
  }

  publishDifferences(before: RepositoryState, after: RepositoryState, first: boolean): void {
    const { publish } = this.reports;
    const isSameMetadata = (["name", "path", "inTree", "base", "favourite"] as const).every(
      one => before[one] === after[one],
    );
    // Others know the state in the index.
    if (!isSameMetadata && (!first || this.given.indexed !== undefined)) publish({ kind: "updated", state: after });
    if (first ? after.health.length > 0 : !sameJson(before.health, after.health))
      publish({ kind: "health", state: after, before: before.health });
  }

  /** Call after the file was written: updates the places of problems. */
  findPlaces(): void {
    const before = this.current;
    if (before.broken !== undefined || before.health.length === 0) return;
    this.show(before, placed(this.problems, this.locate));
  }

  reportMirrorProblem(problem: HealthProblem | undefined): void {
    const known = this.#mirrorProblem;
    if (known?.message === problem?.message) return;
    const before = this.current;
    this.#mirrorProblem = problem;
    const others = before.health.filter(one => one !== known);
    if (before.broken === undefined) this.show(before, others);
  }

  get isCheckedByOldRules(): boolean {
    return this.checkedBy !== this.store.scopes.defaults;
  }

  /** Interprets the values by the scopes at its end, whose defaults are `by`, and compares them with those in the log. */
  async interpret(
    target: Config,
  ): Promise<Interpretation & { readonly changes: readonly StoredDifference[]; readonly by: Config }> {
    for (;;) {
      const by = this.store.scopes.defaults;
      // A scope that comes back has its last valid values. If none could be committed, those of the file are shown.
      const acknowledged = this.known(this.committed.valid);
      const lastGood = Object.keys(acknowledged).length > 0 ? acknowledged : this.current.stored;
      const checks = { locate: this.locate, acknowledged };
      const interpretation = await runInParts(interpretingConfig(target, lastGood, this.rules, checks));
      await this.turn();
      const changes = await runInParts(diffingConfigs(this.known(this.committed.valid), interpretation.stored));
      if (by === this.store.scopes.defaults) return { ...interpretation, changes, by };
    }
  }

  /** Reports a failure that no caller learns of. */
  reportProblem(message: string, error: unknown): void {
    this.store.onProblem(message, { repo: this.id, error: String(error) });
  }

  /** The configuration without the values of unknown scopes and fields. */
  readonly known = (config: Config) => activeValues(config, this.store.scopes);

  readonly locate: Locate = paths => {
    const { status } = this.files.values;
    return status.kind === "good" ? status.json.locate(paths.map(path => ["config", ...path])) : [];
  };
}
