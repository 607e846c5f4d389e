import { join } from "node:path";
import pLimit from "p-limit";
import { isOwnScopeName } from "../../shared/config-path.ts";
import { isJsonObject } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import { type Clock, timeText } from "../clock.ts";
import { type DurableTextFile, keepFile, UnreadableFileError } from "../files/durable-text-file.ts";
import { type FileSystem, realFileSystem } from "../files/file-system.ts";
import type { Home } from "../home.ts";
import { privateFile } from "./home.ts";
import { inTurn } from "./in-turn.ts";
import { type ScopeFiles, scopeFileEnding } from "./scope-files.ts";
import { appendInTurn } from "./store/append-in-turn.ts";
import { type CommitLog, ConflictError, type LogNumber, type ScopeChange } from "./store/log/commit-log.ts";
import { RemovedFiles } from "./store/removed-files.ts";
import { causeOf } from "./store/storage-failure.ts";

export interface SharedScopesOptions {
  readonly home: Home;
  readonly scopeFiles: ScopeFiles;
  readonly clock: Clock;
  readonly fileSystem?: FileSystem;
  /** Reads the files of the scopes again: they are in use when this resolves. */
  reload(): Promise<unknown>;
  onProblem(message: string, context: { readonly [name: string]: unknown }): void;
}

/** What the log says of a scope: the text of its file; null: there is none any more. */
type LoggedScope = Pick<ScopeChange, "text"> & { readonly number: LogNumber };

/** In the folder of the log: up to which entry each scope's file is what the log says. */
export const sharedScopesFileName = "scopes.json";
/** Milliseconds until what could not be written or appended is tried again. */
const retryTime = 10_000;

/**
 * The scopes of a home whose log several machines share: each scope's file is a mirror of what the log says of it, as the file of a
 * repository is. What a person changes in a file is appended. If another machine was first, the log's text takes the file's place,
 * and the person's is kept in `removed/`.
 */
export class SharedScopes {
  readonly #options: SharedScopesOptions;
  readonly #fileSystem: FileSystem;
  readonly #removedFiles: RemovedFiles;
  readonly #file: DurableTextFile;
  /** By scope: its newest entry in the log. */
  readonly #logged = new Map<string, LoggedScope>();
  /** The same up to which its file was brought in line; and what of that a start will know. */
  readonly #mirrored = new Map<string, LoggedScope>();
  #saved: ReadonlyMap<string, LoggedScope> = new Map();
  /** By scope: a sentence about what a person did there. */
  readonly #problems = new Map<string, string>();
  #log: CommitLog | undefined;
  #onApplied: () => void = () => {};
  /** One at a time: a text that was decided on last must be the last one in the log. */
  readonly #appending = pLimit(1);
  readonly #writing = pLimit(1);
  #cancelRetry: (() => void) | undefined;
  #isClosed = false;

  private constructor(options: SharedScopesOptions) {
    const { home, clock, fileSystem = realFileSystem } = options;
    this.#options = options;
    this.#fileSystem = fileSystem;
    this.#removedFiles = new RemovedFiles(home.removed, fileSystem, clock);
    this.#file = privateFile(home, join(home.log, sharedScopesFileName), fileSystem);
  }

  static async open(options: SharedScopesOptions): Promise<SharedScopes> {
    const scopes = new SharedScopes(options);
    try {
      for (const [name, logged] of parseLoggedScopes(await scopes.#file.read())) {
        scopes.#logged.set(name, logged);
        scopes.#mirrored.set(name, logged);
      }
    } catch (error) {
      // What the log still has comes again, and what is the same here is no change.
      options.onProblem("cannot read which scopes the shared log has", { error: String(error) });
    }
    scopes.#saved = new Map(scopes.#mirrored);
    return scopes;
  }

  /** `onApplied` is called when scopes that other machines changed are in use. */
  begin(log: CommitLog, onApplied: () => void): void {
    this.#log = log;
    this.#onApplied = onApplied;
  }

  /** Sentences about what was not shared, or gave way to what another machine did. */
  get problems(): Iterable<string> {
    return this.#problems.values();
  }

  /** Of the entries that are not in files yet: the log has to keep these. */
  get numbers(): LogNumber[] {
    const unsaved = [...this.#logged].filter(([name, logged]) => this.#saved.get(name) !== logged);
    return unsaved.map(([, { number }]) => number);
  }

  /** Another machine changed a scope: its file says so, and it is in use, when this resolves. */
  async applyChange(number: LogNumber, { name, text }: ScopeChange): Promise<void> {
    if (number <= (this.#logged.get(name)?.number ?? 0)) return;
    this.#logged.set(name, { number, text });
    await this.#follow();
  }

  /** There is no scope in the log but these. */
  async applyRemaining(number: LogNumber, names: ReadonlySet<string>): Promise<void> {
    for (const [name, logged] of this.#logged)
      if (logged.text !== null && !names.has(name)) this.#logged.set(name, { number, text: null });
    await this.#follow();
  }

  async #follow(): Promise<void> {
    await this.#mirror();
    try {
      await this.#options.reload();
      this.#onApplied();
    } catch (error) {
      this.#options.onProblem("the scopes cannot be read", { error: String(error) });
    }
  }

  /** What people changed in the files of the scopes, as these were read last, goes into the log. Does not wait for that. */
  readonly share = inTurn(
    () => this.#appending(() => this.#shareAll()),
    error => this.#options.onProblem("the scopes cannot be shared", { error: String(error) }),
  );

  async #shareAll(): Promise<void> {
    for (const name of new Set([...this.#options.scopeFiles.texts.keys(), ...this.#mirrored.keys()]))
      try {
        if (isOwnScopeName(name)) await this.#share(name);
      } catch (error) {
        if (this.#isClosed) return;
        this.#retryLater();
        // The log reports that itself.
        if (this.#log?.problem !== undefined) return;
        this.#reportProblem(
          name,
          `${this.#pathOf(name)} is in use here, but other machines do not have it (${causeOf(error)})`,
        );
      }
  }

  async #share(name: string): Promise<void> {
    const log = this.#log;
    if (log === undefined) return;
    for (;;) {
      const text = await this.#wanted(name);
      const known = this.#mirrored.get(name);
      if (this.#isClosed || text === undefined || text === (known?.text ?? null)) return;
      // The file is about to become another one.
      if (known !== this.#logged.get(name)) return;
      const entry: ScopeChange = { kind: "scope", time: timeText(this.#options.clock), name, text };
      const committed = (number: LogNumber) => {
        const logged = { number, text };
        this.#logged.set(name, logged);
        // What a person changes in it from now on is another change.
        this.#mirrored.set(name, logged);
        this.#problems.delete(name);
      };
      try {
        await log.append({ entries: [entry], after: log.newest, committed });
        return await this.#mirror();
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error;
        await error.taken;
      }
    }
  }

  /** What a person wants a scope to be; null: not to be there; undefined: it cannot be used, or has not been read yet. */
  async #wanted(name: string): Promise<string | null | undefined> {
    const text = this.#options.scopeFiles.texts.get(name) ?? null;
    const found = await this.#read(this.#fileOf(name));
    return found === text ? text : undefined;
  }

  /** For a snapshot: says once more what the log says of each scope. `assertNeeded` throws where nobody needs that any more. */
  repeat(assertNeeded: () => void): Promise<void> {
    return this.#appending(async () => {
      const log = this.#log;
      if (log === undefined) return;
      const names = [...this.#logged].flatMap(([name, { text }]) => (text === null ? [] : [name]));
      for (const name of names)
        await appendInTurn(log, (): ScopeChange => {
          assertNeeded();
          const text = this.#logged.get(name)?.text ?? null;
          return { kind: "scope", time: timeText(this.#options.clock), name, text };
        });
    });
  }

  /** Brings the files in line with the log. What cannot be written is tried again. */
  #mirror(): Promise<void> {
    return this.#writing(async () => {
      try {
        for (const [name, logged] of this.#logged) {
          const known = this.#mirrored.get(name);
          if (known === logged) continue;
          if (known?.text !== logged.text) await this.#write(name, logged.text, known?.text ?? null);
          this.#mirrored.set(name, logged);
        }
        const mirrored = new Map(this.#mirrored);
        if ([...mirrored].every(([name, logged]) => this.#saved.get(name) === logged)) return;
        // The files first: one that is not what is noted here is taken for a person's change.
        await this.#file.write(`${JSON.stringify({ scopes: Object.fromEntries(mirrored) })}\n`);
        this.#saved = mirrored;
      } catch (error) {
        this.#options.onProblem("cannot write the scopes that another machine changed; Repoconf keeps retrying", {
          error: String(error),
        });
        this.#retryLater();
      }
    });
  }

  /** Puts a text in the place of the one that is known; what a person made of that meanwhile is kept aside. */
  async #write(name: string, text: string | null, known: string | null): Promise<void> {
    const file = this.#fileOf(name);
    for (;;) {
      const found = await this.#read(file);
      if (found === text) return;
      if (found !== known) await this.#keepAside(name, found);
      const assertUnchanged = () => {
        if (found !== undefined && !file.holds(found)) throw new ChangedMeanwhileError();
      };
      try {
        if (text !== null) return await file.write(text, { assertUnchanged });
        assertUnchanged();
        return await file.remove();
      } catch (error) {
        if (!(error instanceof ChangedMeanwhileError)) throw error;
      }
    }
  }

  async #keepAside(name: string, found: string | null | undefined): Promise<void> {
    const path = this.#pathOf(name);
    const kept = found === null ? undefined : await this.#removedFiles.place(`${name}.schema`);
    if (kept !== undefined) await keepFile(path, kept, this.#fileSystem, this.#options.clock);
    const what = kept === undefined ? "was deleted here" : "was changed here";
    const where = kept === undefined ? "Delete it again" : `The file of this machine is now ${kept}. Edit it again`;
    this.#reportProblem(
      name,
      `${path} ${what} after another machine had changed it, whose change counts. ${where} if need be`,
    );
  }

  /** Undefined: what is there is no text. */
  async #read(file: DurableTextFile): Promise<string | null | undefined> {
    try {
      return await file.read();
    } catch (error) {
      if (error instanceof UnreadableFileError) return undefined;
      throw error;
    }
  }

  #reportProblem(name: string, problem: string): void {
    if (this.#problems.get(name) !== problem) this.#options.onProblem(problem, { scope: name });
    this.#problems.set(name, problem);
  }

  #retryLater(): void {
    if (this.#isClosed) return;
    this.#cancelRetry ??= this.#options.clock.schedule(retryTime, () => {
      this.#cancelRetry = undefined;
      void this.#follow().then(this.share);
    });
  }

  #pathOf(name: string): string {
    return join(this.#options.home.scopes, `${name}${scopeFileEnding}`);
  }

  #fileOf(name: string): DurableTextFile {
    return privateFile(this.#options.home, this.#pathOf(name), this.#fileSystem, limits.scopeBytes);
  }

  /** Begins nothing any more. */
  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
  }

  /** The log is closed: resolves when nothing is being written any more. */
  async idle(): Promise<void> {
    await this.#appending(() => {});
    await this.#writing(() => {});
  }
}

/** Somebody saved in the very moment. */
class ChangedMeanwhileError extends Error {}

/** Throws SyntaxError. */
function parseLoggedScopes(text: string | null): [string, LoggedScope][] {
  const value: unknown = JSON.parse(text ?? '{"scopes":{}}');
  const scopes = isJsonObject(value) ? value["scopes"] : undefined;
  if (!isJsonObject(scopes)) throw new SyntaxError("it does not have the form of that file");
  return Object.entries(scopes).flatMap(([name, logged]): [string, LoggedScope][] => {
    if (!isJsonObject(logged)) return [];
    const { number, text: scopeText } = logged;
    const isValid =
      isOwnScopeName(name) && typeof number === "number" && (typeof scopeText === "string" || scopeText === null);
    return isValid ? [[name, { number, text: scopeText }]] : [];
  });
}
