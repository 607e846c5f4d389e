import { readdir } from "node:fs/promises";
import { join } from "node:path";
import pLimit from "p-limit";
import { limits } from "../../shared/limits.ts";
import { UnreadableFileError } from "../files/durable-text-file.ts";
import { realFileSystem, systemErrorCode } from "../files/file-system.ts";
import { type JsonText, JsonTextError, readJsonText } from "../files/json-text.ts";
import { readUntil } from "../files/read-until.ts";
import type { Home } from "../home/home.ts";
import { privateFile } from "../home/prepare-home.ts";
import type { Clock } from "../time/clock.ts";
import { runInParts } from "../time/turns.ts";
import { repositorySchemaText } from "./repository-schema.ts";
import { describePlace, type LocatedFault, locateFaults, mostFaults, ScopeSchemaError } from "./schema-faults.ts";
import { compilingScope, type Scope, type Scopes } from "./scopes.ts";

/** The end of a scope's file name, after the scope's name. */
export const scopeFileEnding = ".schema.json";

/** The scopes that people add: `scopes/<scope>.schema.json` in the home, applied while the daemon runs. */
export class ScopeFiles {
  readonly #home: Home;
  readonly #scopes: Scopes;
  readonly #onProblem: (message: string) => void;
  readonly #clock: Clock;
  #problems: readonly string[] = [];
  /** By file name: the text as last read, and the scope compiled from it. */
  #known = new Map<string, KnownFile>();
  #texts: ReadonlyMap<string, string> = new Map();
  readonly #inTurn = pLimit(1);

  constructor(home: Home, scopes: Scopes, onProblem: (message: string) => void, clock: Clock) {
    this.#home = home;
    this.#clock = clock;
    this.#scopes = scopes;
    this.#onProblem = onProblem;
  }

  /** The current problems with the files, one sentence each; a file may have several. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** By scope: the text of its file as last read. Scopes that are not valid are left out. */
  get texts(): ReadonlyMap<string, string> {
    return this.#texts;
  }

  /** Reads the folder again. Returns the names of the scopes that were added, removed or changed. */
  reload(): Promise<string[]> {
    return this.#inTurn(() => this.#reload());
  }

  async #reload(): Promise<string[]> {
    const found = new Map<string, Scope>();
    const known = new Map<string, KnownFile>();
    const problems: string[] = [];
    const texts = new Map<string, string>();
    const names = await this.#listFiles();
    // In parallel, because an invalid file is read for 250 ms, and many of them must not delay a start one after the other.
    const read = await Promise.allSettled(names.map(name => this.#read(name)));
    for (const [index, name] of names.entries()) {
      const one = read[index];
      if (one?.status === "fulfilled" && one.value !== undefined) {
        texts.set(scopeOf(name), one.value.text);
        known.set(name, one.value);
        found.set(one.value.scope.name, one.value.scope);
      }
      if (one?.status === "rejected")
        for (const what of describe(one.reason))
          problems.push(`${join(this.#home.scopes, name)}${what}; this scope is not used`);
    }
    const changed: string[] = [];
    for (const { name } of [...this.#scopes.all()]) {
      if (name === "svc" || found.has(name)) continue;
      this.#scopes.delete(name);
      changed.push(name);
    }
    for (const [name, scope] of found) {
      if (this.#scopes.get(name) === scope) continue;
      this.#scopes.set(scope);
      changed.push(name);
    }
    for (const problem of problems) if (!this.#problems.includes(problem)) this.#onProblem(problem);
    this.#problems = problems;
    this.#known = known;
    this.#texts = texts;
    return changed;
  }

  /** Writes the schema by which editors check repository files, if it has changed. Nothing else depends on it. */
  writeRepositorySchema(): Promise<void> {
    return this.#inTurn(() => this.#writeRepositorySchema());
  }

  async #writeRepositorySchema(): Promise<void> {
    const file = privateFile(this.#home, this.#home.repositorySchemaFile);
    const text = await repositorySchemaText([...this.#scopes.all()], "home");
    const before = await file.read().catch(() => null);
    if (before === text) return;
    await file.write(text).catch(error => {
      this.#onProblem(`${this.#home.repositorySchemaFile}${describe(error)}; editors may still use an older one`);
    });
  }

  /** The names of the files, sorted. */
  #listFiles(): Promise<string[]> {
    return readUntil(
      this.#clock,
      async () => (await readdir(this.#home.scopes)).filter(name => name.endsWith(scopeFileEnding)).sort(),
      names => [...this.#texts.keys()].every(name => names.includes(`${name}${scopeFileEnding}`)),
    );
  }

  /** Undefined if the file is missing. `known` is the text that needs no parsing. */
  #readFile(path: string, known: string | undefined): Promise<ReadFile | undefined> {
    const file = privateFile(this.#home, path, realFileSystem, limits.scopeBytes);
    return readUntil(
      this.#clock,
      async () => {
        const text = await file.read();
        if (text === null) return undefined;
        return { text, ...(text !== known && { json: await readJsonText(text) }) };
      },
      found => found !== undefined,
    );
  }

  /** The scope of a file; undefined if the file is missing by now. Throws an error that says why it is invalid. */
  async #read(name: string): Promise<KnownFile | undefined> {
    const scope = scopeOf(name);
    if (scope === "svc") throw new ScopeSchemaError("svc is a built-in scope and cannot be replaced");
    const known = this.#known.get(name);
    const read = await this.#readFile(join(this.#home.scopes, name), known?.text);
    if (read?.json === undefined) return read && known;
    try {
      return { text: read.text, scope: await runInParts(compilingScope(scope, read.json.value)) };
    } catch (error) {
      throw error instanceof ScopeSchemaError ? new LocatedFaultsError(error, read.json) : error;
    }
  }
}

function scopeOf(fileName: string): string {
  return fileName.slice(0, -scopeFileEnding.length);
}

interface KnownFile {
  readonly text: string;
  readonly scope: Scope;
}

interface ReadFile {
  readonly text: string;
  /** The parsed text; absent if the text is the known one. */
  readonly json?: JsonText;
}

/** What is wrong with a schema, with its places in the text. */
class LocatedFaultsError extends Error {
  readonly faults: readonly LocatedFault[];
  readonly more: number;

  constructor({ message, faults }: ScopeSchemaError, text: JsonText) {
    super(message);
    this.faults = locateFaults(faults.slice(0, mostFaults), text);
    this.more = faults.length - this.faults.length;
  }
}

/** What follows the file's name, of each problem. */
function describe(error: unknown): string[] {
  if (error instanceof JsonTextError) return [`, line ${error.line}, column ${error.column}: ${error.message}`];
  if (error instanceof ScopeSchemaError || error instanceof UnreadableFileError) return [`: ${error.message}`];
  if (!(error instanceof LocatedFaultsError)) return [`: ${systemErrorCode(error) ?? String(error)}`];
  const told = error.faults.map(fault => `, ${describePlace(fault)}: ${fault.message}`);
  return error.more === 0 ? told : [...told, `: and ${error.more} more problems`];
}
