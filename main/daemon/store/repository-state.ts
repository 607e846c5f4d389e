import { type Config, filterConfig } from "../../../shared/config.ts";
import { diffingConfigs, type StoredDifference } from "../../../shared/config-diff.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import { describeProblem } from "../../../shared/health.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { HealthProblem } from "../../../shared/protocol.ts";
import type { Clock } from "../../clock.ts";
import { nextTurn, runInParts } from "../../turns.ts";
import type { Scopes } from "../scopes.ts";
import { type Interpretation, interpretingConfig, type Locate, placed, type Rules } from "./interpret.ts";
import type { Journal } from "./journal/journal.ts";
import type { Commit, CommitLog, Committed } from "./log/commit-log.ts";
import { Mirror } from "./mirror.ts";
import type { FileStamps, RepositoryFiles } from "./repository-files.ts";
import type { Actor, RepositoryState, RepositorySummary, StoreEvent } from "./store.ts";
import type { TrustedValues } from "./trusted-values.ts";

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
  onMetadata(state: RepositoryState): void;
  /** History or file lack something. */
  onBehind(): void;
  /** They lack nothing any more. */
  onLevel(): void;
  /** Keeps a text that came by hand in the moment of a write, and is no JSON. */
  keepText(id: string, path: string): Promise<void>;
  /** Something failed that no caller is told of. */
  onProblem(message: string, error: unknown): void;
}

/** From so many characters on a file's text is worked on in parts. */
const largeText = 64 * 1024;

/** What is active in one repository, by which rules that was judged, and what is wrong with it. Tells where it becomes another. */
export class ServedState {
  readonly id: string;
  readonly options: RepositoryOptions;
  /** The newest durable state; before the files were read only what the index knew. */
  current: RepositoryState;
  /** The values as the log has them: those active, and of scopes that are not there now the last ones. */
  recorded: Config = {};
  /** Of the files that `current` was made from. */
  stamps: FileStamps = {};
  /** The rules that `current` was judged by, known by their defaults, which are new ones whenever a rule changes. */
  checkedBy: Config | undefined;
  /** Which of the repositories that had this id. */
  lineage = "";
  /** Where commits are made, of a log that several machines share. */
  readonly origin: { readonly machine?: string };
  #mirror: Mirror | undefined;
  /** Why the file does not have what it is to say. */
  #mirrorProblem: HealthProblem | undefined;

  constructor(options: RepositoryOptions) {
    const { id, indexed } = options;
    this.id = id;
    this.options = options;
    this.origin = options.log.shared ?? {};
    const { name = id, path, remote, inTree = false, revision = 0, position, health = [] } = indexed ?? {};
    const place = { ...(path !== undefined && { path }), ...(remote !== undefined && { remote }) };
    const metadata = { id, name, ...place, inTree };
    this.current = { ...metadata, revision, position, health, stored: undefined };
  }

  /** Made when it is first asked for. */
  get mirror(): Mirror {
    const { files, journal, log, clock } = this.options;
    this.#mirror ??= new Mirror(files(), journal(), log, clock);
    return this.#mirror;
  }

  /** Undefined: nobody has asked for it yet. */
  get madeMirror(): Mirror | undefined {
    return this.#mirror;
  }

  get files(): RepositoryFiles {
    return this.mirror.files;
  }

  /** What is wrong with the values, but not that the file cannot be written. */
  get problems(): readonly HealthProblem[] {
    return this.current.health.filter(problem => problem !== this.#mirrorProblem);
  }

  /** A turn of the event loop for others, if what is done here takes its time. */
  async turn(): Promise<void> {
    if (this.#isLarge) await nextTurn();
  }

  get #isLarge(): boolean {
    return (this.files.values.text?.length ?? 0) > largeText;
  }

  get rules(): Rules {
    const { scopes, trust } = this.options;
    const isTrusted = (path: ConfigPath, value: JsonValue) =>
      !this.#isOfWorkTree || trust.hasByAnyName(this.id, scopes.namesOf(path), value);
    return { scopes, isTrusted };
  }

  /** Whether git may change the values. A file of the home is the person's own. */
  get #isOfWorkTree(): boolean {
    return this.files.tree !== undefined;
  }

  /** They are or were active, or somebody sets them who may. */
  trustCommands(config: Config): void {
    const { scopes, trust } = this.options;
    if (this.#isOfWorkTree) trust.addAll(this.id, config, (scope, field) => scopes.isCommand(scope, field));
  }

  /** Without the values of scopes and fields that are not there now, by no name. */
  known(config: Config): Config {
    const { scopes } = this.options;
    return filterConfig(
      config,
      (scope, field) => scopes.field(scope, field) !== undefined || scopes.newName(scope, field) !== undefined,
    );
  }

  setState(state: RepositoryState, health: readonly HealthProblem[]): void {
    const problem = state.broken === undefined ? this.#mirrorProblem : undefined;
    this.current = { ...state, health: problem === undefined ? health : [...health, problem] };
    this.stamps = this.files.stamps;
  }

  publishDifferences(before: RepositoryState, after: RepositoryState, first: boolean): void {
    const { publish } = this.options;
    const isSameMetadata = before.name === after.name && before.path === after.path && before.inTree === after.inTree;
    // Others were told what the index has.
    if (!isSameMetadata && (!first || this.options.indexed !== undefined)) publish({ kind: "updated", state: after });
    if (first ? after.health.length > 0 : !sameJson(before.health, after.health))
      publish({ kind: "health", state: after, before: before.health });
  }

  /** The file was written: its problems may stand elsewhere. */
  findPlaces(): void {
    const before = this.current;
    if (before.broken !== undefined || before.health.length === 0) return;
    this.setState(before, placed(this.problems, this.locate));
    this.publishDifferences(before, this.current, false);
  }

  reportMirrorProblem(problem: HealthProblem | undefined): void {
    const known = this.#mirrorProblem;
    if (known?.message === problem?.message) return;
    const before = this.current;
    this.#mirrorProblem = problem;
    if (before.broken !== undefined) return;
    this.setState(
      before,
      before.health.filter(one => one !== known),
    );
    this.publishDifferences(before, this.current, false);
  }

  get fileProblem(): string | undefined {
    return this.current.broken === undefined ? undefined : describeProblem(this.current.broken);
  }

  get isCheckedByOldRules(): boolean {
    return this.checkedBy !== this.options.scopes.defaults;
  }

  /** What the values mean by the scopes as they are when it ends, and how that differs from what the log has. */
  async interpret(
    wanted: Config,
    lastGood: Config | undefined,
  ): Promise<Interpretation & { readonly changes: readonly StoredDifference[] }> {
    for (;;) {
      this.checkedBy = this.options.scopes.defaults;
      const judging = { locate: this.locate, acknowledged: this.known(this.recorded) };
      const interpretation = await runInParts(interpretingConfig(wanted, lastGood, this.rules, judging));
      await this.turn();
      const changes = await runInParts(diffingConfigs(this.known(this.recorded), interpretation.stored));
      if (!this.isCheckedByOldRules) return { ...interpretation, changes };
    }
  }

  readonly locate: Locate = paths => {
    const { status } = this.files.values;
    return status.kind === "good" ? status.json.locate(paths.map(path => ["config", ...path])) : [];
  };
}
