import { join } from "node:path";
import pLimit from "p-limit";
import { isOwnScopeName } from "../../../shared/config-path.ts";
import { isJsonObject } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import { type DurableTextFile, UnreadableFileError } from "../../files/durable-text-file.ts";
import type { FileSystem } from "../../files/file-system.ts";
import { JsonFile } from "../../files/json-file.ts";
import type { Home } from "../../home/home.ts";
import { privateFile } from "../../home/prepare-home.ts";
import { type ScopeFiles, scopeFileEnding } from "../../scopes/scope-files.ts";
import { type Clock, timeText } from "../../time/clock.ts";
import { inTurn } from "../../time/in-turn.ts";
import { appendWithRetry } from "../log/append-with-retry.ts";
import { type CommitLog, ConflictError, type ScopeChange } from "../log/commit-log.ts";
import { keepAside } from "../removed-files.ts";
import { causeOf } from "../storage-failure.ts";
import type { LogNumber } from "../types.ts";

export interface SharedScopesOptions {
  readonly home: Home;
  readonly scopeFiles: ScopeFiles;
  readonly clock: Clock;
  readonly fileSystem: FileSystem;
  /** Reads the scope files again. Resolves when they are active. */
  reload(): Promise<unknown>;
  onProblem(message: string, context: { readonly [name: string]: unknown }): void;
}

/** A scope's newest entry in the log. `text` is the text of its file; null if the scope was deleted. */
type LoggedScope = Pick<ScopeChange, "text"> & { readonly number: LogNumber };

/** The content of the file below. */
interface SavedScopes {
  readonly scopes: { readonly [name: string]: LoggedScope };
}

/** A file in the log's folder: up to which log entry each scope's file is up to date. */
export const sharedScopesFileName = "scopes.json";
/** Milliseconds before a failed write or append is retried. */
const retryTime = 10_000;

/**
 * The scopes of a home whose log is shared by several machines. As with repositories, each scope's file mirrors the log, and a
 * person's edit of the file is appended to it. If another machine's change came first in the log, it replaces the file, and the
 * person's text is kept in `removed/`.
 */
export class SharedScopes {
  readonly #options: SharedScopesOptions;
  readonly #file: JsonFile<SavedScopes>;
  /** The newest log entry of each scope. */
  readonly #logged: Map<string, LoggedScope>;
  /** The log entry that each scope's file shows; and what of that is saved for the next start. */
  readonly #mirrored: Map<string, LoggedScope>;
  #saved: ReadonlyMap<string, LoggedScope>;
  /** By scope: a sentence about a person's edit that was not shared. */
  readonly #problems = new Map<string, string>();
  #log: CommitLog | undefined;
  #onApplied: () => void = () => {};
  /** One at a time, so that the newest text is also the last one in the log. */
  readonly #appending = pLimit(1);
  readonly #writing = pLimit(1);
  #cancelRetry: (() => void) | undefined;
  #isClosed = false;

  private constructor(
    options: SharedScopesOptions,
    file: JsonFile<SavedScopes>,
    saved: ReadonlyMap<string, LoggedScope>,
  ) {
    this.#options = options;
    this.#file = file;
    this.#saved = saved;
    this.#logged = new Map(saved);
    this.#mirrored = new Map(saved);
  }

  static async open(options: SharedScopesOptions): Promise<SharedScopes> {
    const { home, fileSystem, onProblem } = options;
    const file = new JsonFile(privateFile(home, join(home.log, sharedScopesFileName), fileSystem), parseSavedScopes);
    const saved = await file.read().catch(error => {
      // Harmless: the log's entries are read again, and a file with the same text counts as unchanged.
      onProblem("cannot read which scopes the shared log has", { error: String(error) });
    });
    return new SharedScopes(options, file, new Map(Object.entries(saved?.scopes ?? {})));
  }

  /** `onApplied` is called when scopes that other machines changed are in use. */
  begin(log: CommitLog, onApplied: () => void): void {
    this.#log = log;
    this.#onApplied = onApplied;
  }

  /** Sentences about edits that were not shared, or were replaced by another machine's change. */
  get problems(): Iterable<string> {
    return this.#problems.values();
  }

  /** The numbers of entries that are not saved in files yet: the log must keep them. */
  get numbers(): LogNumber[] {
    const unsaved = [...this.#logged].filter(([name, logged]) => this.#saved.get(name) !== logged);
    return unsaved.map(([, { number }]) => number);
  }

  /** Applies another machine's change of a scope. When this resolves, it is in the file and active. */
  async applyChange(number: LogNumber, { name, text }: ScopeChange): Promise<void> {
    if (number <= (this.#logged.get(name)?.number ?? 0)) return;
    this.#logged.set(name, { number, text });
    await this.#writeChanged();
  }

  /** Removes every scope that is not among `names`, the only ones in a snapshot of the log. */
  async applyRemaining(number: LogNumber, names: ReadonlySet<string>): Promise<void> {
    for (const [name, logged] of this.#logged)
      if (logged.text !== null && !names.has(name)) this.#logged.set(name, { number, text: null });
    await this.#writeChanged();
  }

  async #writeChanged(): Promise<void> {
    await this.#mirror();
    try {
      await this.#options.reload();
      this.#onApplied();
    } catch (error) {
      this.#options.onProblem("the scopes cannot be read", { error: String(error) });
    }
  }

  /** Starts to append what people changed in the scope files, as last read, to the log. Does not wait for it. */
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
        // The log reports its own problem.
        if (this.#log?.problem !== undefined) return;
        const { path } = this.#fileOf(name);
        this.#reportProblem(name, `${path} is in use here, but other machines do not have it (${causeOf(error)})`);
      }
  }

  async #share(name: string): Promise<void> {
    const log = this.#log;
    if (log === undefined) return;
    for (;;) {
      const text = await this.#wanted(name);
      const known = this.#mirrored.get(name);
      if (this.#isClosed || text === undefined || text === (known?.text ?? null)) return;
      // Another machine's change is about to replace the file.
      if (known !== this.#logged.get(name)) return;
      const committed = (number: LogNumber) => {
        const logged = { number, text };
        this.#logged.set(name, logged);
        // From now on an edit of the file counts as another change.
        this.#mirrored.set(name, logged);
        this.#problems.delete(name);
      };
      try {
        await log.append({ entries: [this.#change(name, text)], after: log.newest, committed });
        return await this.#mirror();
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error;
        await error.applied;
      }
    }
  }

  /** The text of a scope's file; null if the scope is to be deleted; undefined if the file is invalid or not read yet. */
  async #wanted(name: string): Promise<string | null | undefined> {
    const text = this.#options.scopeFiles.texts.get(name) ?? null;
    const found = await this.#read(this.#fileOf(name));
    return found === text ? text : undefined;
  }

  /** For a snapshot: appends the newest text of each scope again. `assertNeeded` throws if the snapshot is no longer needed. */
  repeat(assertNeeded: () => void): Promise<void> {
    return this.#appending(async () => {
      const log = this.#log;
      if (log === undefined) return;
      for (const [name, { text }] of [...this.#logged])
        if (text !== null)
          await appendWithRetry(log, () => {
            assertNeeded();
            return this.#change(name, this.#logged.get(name)?.text ?? null);
          });
    });
  }

  #change(name: string, text: string | null): ScopeChange {
    return { kind: "scope", time: timeText(this.#options.clock), name, text };
  }

  /** Writes to the files what the log has. Failed writes are retried. */
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
        // The files come first: a file that differs from what is saved here counts as a person's edit.
        await this.#file.write({ scopes: Object.fromEntries(mirrored) });
        this.#saved = mirrored;
      } catch (error) {
        this.#options.onProblem("cannot write the scopes that another machine changed; Repoconf keeps retrying", {
          error: String(error),
        });
        this.#retryLater();
      }
    });
  }

  /** Replaces the known text of a file. If a person has edited it in the meantime, their text is kept in `removed/`. */
  async #write(name: string, text: string | null, known: string | null): Promise<void> {
    const file = this.#fileOf(name);
    for (;;) {
      const found = await this.#read(file);
      if (found === text) return;
      if (found !== known) await this.#keepAside(name, file.path, found);
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

  async #keepAside(name: string, path: string, found: string | null | undefined): Promise<void> {
    const { home: paths, fileSystem, clock } = this.#options;
    const context = { paths, fileSystem, clock };
    const kept = found === null ? undefined : await keepAside(context, `${name}.schema`, path);
    const yours =
      kept === undefined
        ? "so it was not deleted. To delete it for all machines, delete it again."
        : `and its version is used. Yours is in ${kept}; to use it, edit the file again.`;
    this.#reportProblem(name, `Another machine changed ${path} first, ${yours}`);
  }

  /** The file's text; null if it is missing, undefined if it cannot be read as text. */
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
      void this.#writeChanged().then(this.share);
    });
  }

  #fileOf(name: string): DurableTextFile {
    const { home, fileSystem } = this.#options;
    return privateFile(home, join(home.scopes, `${name}${scopeFileEnding}`), fileSystem, limits.scopeBytes);
  }

  /** Starts no further work. */
  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
  }

  /** Resolves when all writes have ended. Call it once the log is closed. */
  async idle(): Promise<void> {
    await this.#appending(() => {});
    await this.#writing(() => {});
  }
}

/** Somebody saved the file right before it was replaced. */
class ChangedMeanwhileError extends Error {}

/** Leaves out what is not of that form. Throws SyntaxError if nothing is. */
function parseSavedScopes(value: unknown): SavedScopes {
  const scopes = isJsonObject(value) ? value["scopes"] : undefined;
  if (!isJsonObject(scopes)) throw new SyntaxError("it does not have the form of that file");
  const valid = Object.entries(scopes).flatMap(([name, logged]): [string, LoggedScope][] => {
    if (!isOwnScopeName(name) || !isJsonObject(logged)) return [];
    const { number, text } = logged;
    const isValid = typeof number === "number" && (typeof text === "string" || text === null);
    return isValid ? [[name, { number, text }]] : [];
  });
  return { scopes: Object.fromEntries(valid) };
}
