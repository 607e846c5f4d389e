import { createHash } from "node:crypto";
import { Low } from "lowdb";
import { type Config, configEntries } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { canonicalJson, isJsonObject, type JsonValue } from "../../../shared/json.ts";
import type { DurableTextFile } from "../../files/durable-text-file.ts";
import { JsonFile } from "../../files/json-file.ts";

interface TrustData {
  /** Repositories that had no history when this file was begun: what their files say at their first reading was active. */
  readonly unread: readonly string[];
  /** `<repo> <scope>.<field>`: the hashes of the values that may become active there, the newest last. */
  readonly trusted: { readonly [place: string]: readonly string[] };
}

/** So many values of one field are remembered; older ones are asked for again. */
const mostValues = 1_000;

/** A large value is asked about at each refresh of its file. No value ever changes. */
const hashes = new WeakMap<object, string>();

/** What `trust/list` calls a value by. */
export function hashOfValue(value: JsonValue): string {
  const isPart = typeof value === "object" && value !== null;
  const known = isPart ? hashes.get(value) : undefined;
  if (known !== undefined) return known;
  const hash = createHash("sha256").update(canonicalJson(value)).digest("hex");
  if (isPart) hashes.set(value, hash);
  return hash;
}

/**
 * Which values that run as commands may become active out of a work tree's file: those that a person accepted, that were
 * set through the daemon, or that are or were active. By repository, field and value, so that a switch of branches asks
 * for nothing twice. `trust.json` keeps hashes and no values.
 */
export class TrustedValues {
  readonly #low: Low<TrustData>;
  readonly #onProblem: (message: string, error: unknown) => void;
  readonly #unread: Set<string>;
  readonly #trusted: Map<string, readonly string[]>;
  /** There was no file: this home has not been asked about trust before. */
  readonly isNew: boolean;
  /** Of what is known, and of what is on the disk. */
  #version = 0;
  #written = 0;
  #saving: Promise<unknown> = Promise.resolve();

  private constructor(low: Low<TrustData>, isNew: boolean, onProblem: (message: string, error: unknown) => void) {
    this.#low = low;
    this.isNew = isNew;
    this.#onProblem = onProblem;
    this.#unread = new Set(low.data.unread);
    this.#trusted = new Map(Object.entries(low.data.trusted));
  }

  /** A file that cannot be used trusts nothing: what is active stays so, and the rest is asked for again. */
  static async open(
    file: DurableTextFile,
    onProblem: (message: string, error: unknown) => void,
  ): Promise<TrustedValues> {
    const none: TrustData = { unread: [], trusted: {} };
    const low = new Low<TrustData | null>(new JsonFile<TrustData | null>(file, parseTrust), null);
    let isDamaged = false;
    try {
      await low.read();
    } catch (error) {
      isDamaged = true;
      onProblem("trust.json is invalid: untrusted values must be trusted again", error);
    }
    await file.makePrivate().catch(error => onProblem("cannot restrict access to trust.json", error));
    const isNew = low.data === null && !isDamaged;
    low.data ??= none;
    return new TrustedValues(low as Low<TrustData>, isNew, onProblem);
  }

  /** The home is asked for the first time; these of its repositories have no history. */
  begin(unread: Iterable<string>): Promise<void> {
    for (const id of unread) this.#unread.add(id);
    this.#version += 1;
    return this.saved();
  }

  has(repo: string, path: ConfigPath, value: JsonValue): boolean {
    return this.#at(repo, path).includes(hashOfValue(value));
  }

  /** Whether a value is trusted in a field that was renamed: by the name of then, or of now. */
  hasByAnyName(repo: string, names: readonly ConfigPath[], value: JsonValue): boolean {
    return names.some(path => this.has(repo, path, value));
  }

  /** Counts at once; `saved` waits for the disk. */
  add(repo: string, path: ConfigPath, value: JsonValue): void {
    const hash = hashOfValue(value);
    const known = this.#at(repo, path);
    if (!known.includes(hash)) this.#put(repo, path, [...known, hash].slice(-mostValues));
  }

  /** A person accepts it: counts once it is on the disk. Throws the system's error, and then it does not count. */
  async accept(repo: string, path: ConfigPath, value: JsonValue): Promise<void> {
    const before = this.#at(repo, path);
    this.add(repo, path, value);
    try {
      await this.#save();
    } catch (error) {
      this.#put(repo, path, before);
      throw error;
    }
  }

  /** All values of a configuration whose fields run as commands. */
  addAll(repo: string, config: Config, isCommand: (scope: string, field: string) => boolean): void {
    for (const { scope, field, value } of configEntries(config))
      if (isCommand(scope, field)) this.add(repo, { scope, field }, value);
  }

  /** Whether what its file says now is what was active before anybody asked; once. */
  removeUnread(repo: string): boolean {
    if (!this.#unread.delete(repo)) return false;
    this.#saveSoon();
    return true;
  }

  /** Of a field nothing but this value is trusted any more. */
  keepOnly(repo: string, path: ConfigPath, value: JsonValue | undefined): void {
    const kept = value === undefined ? [] : [hashOfValue(value)].filter(hash => this.#at(repo, path).includes(hash));
    if (this.#at(repo, path).length !== kept.length) this.#put(repo, path, kept);
  }

  /** Nothing of a repository is trusted any more: its id may become another's. */
  drop(repo: string): void {
    const places = [...this.#trusted.keys()].filter(place => place.startsWith(`${repo} `));
    for (const place of places) this.#trusted.delete(place);
    if (this.#unread.delete(repo) || places.length > 0) this.#saveSoon();
  }

  /** Resolves when all of it is on the disk. Does not throw: what cannot be written is told, and tried again with the next. */
  saved(): Promise<void> {
    return this.#save().catch(error => this.#onProblem("cannot write trust.json", error));
  }

  /** One write after the other, each with all that has come by then. Throws the system's error. */
  async #save(): Promise<void> {
    const wanted = this.#version;
    const write = this.#saving.then(async () => {
      if (this.#written >= wanted) return;
      const version = this.#version;
      this.#low.data = { unread: [...this.#unread], trusted: Object.fromEntries(this.#trusted) };
      await this.#low.write();
      this.#written = version;
    });
    this.#saving = write.catch(() => {});
    await write;
  }

  #at(repo: string, path: ConfigPath): readonly string[] {
    return this.#trusted.get(placeOf(repo, path)) ?? [];
  }

  #put(repo: string, path: ConfigPath, hashes: readonly string[]): void {
    if (hashes.length === 0) this.#trusted.delete(placeOf(repo, path));
    else this.#trusted.set(placeOf(repo, path), hashes);
    this.#saveSoon();
  }

  #saveSoon(): void {
    this.#version += 1;
    void this.saved();
  }
}

function placeOf(repo: string, { scope, field }: ConfigPath): string {
  return `${repo} ${joinConfigPath(scope, field)}`;
}

function parseTrust(value: unknown): TrustData {
  const areTexts = (list: unknown) => Array.isArray(list) && list.every(one => typeof one === "string");
  const { unread, trusted } = isJsonObject(value) ? value : {};
  if (!areTexts(unread) || !isJsonObject(trusted) || !Object.values(trusted).every(areTexts))
    throw new SyntaxError(`it is not { "unread": [...], "trusted": { ... } }`);
  // Every member that is used has been checked.
  return value as unknown as TrustData;
}
