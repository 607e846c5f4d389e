import { Low } from "lowdb";
import pLimit from "p-limit";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { isJsonObject } from "../../../shared/json.ts";
import type { DurableTextFile } from "../../files/durable-text-file.ts";
import { JsonFile } from "../../files/json-file.ts";

/** A value of a field, by a hash. */
export interface HashedValue {
  readonly path: ConfigPath;
  readonly hash: string;
}

/** What a file of hashes is. */
interface HashFile {
  /** The name of its only member. */
  readonly member: string;
  /** How many hashes of a field it keeps. */
  readonly most: number;
  /** With more of them, the file has the oldest no longer, or every value of the field. */
  readonly beyond: "dropOldest" | "everyValue";
}

/** In place of the hashes of a field: every value. */
const everyValue = "*";

/** `<repo> <scope>.<field>`: the hashes of values there, the newest last. */
type Hashes = { readonly [place: string]: readonly string[] };

type OnProblem = (error: unknown) => void;

/** A file in the home with hashes of values, by repository and field, and none of the values. */
export class ValueHashes {
  readonly #low: Low<{ readonly [member: string]: Hashes }>;
  readonly #file: HashFile;
  readonly #onProblem: OnProblem;
  readonly #hashes: Map<string, readonly string[]>;
  readonly #lock = pLimit(1);
  /** How often they have changed, and how often when they were last saved. */
  #changes = 0;
  #saved = 0;

  private constructor(low: Low<{ readonly [member: string]: Hashes }>, file: HashFile, onProblem: OnProblem) {
    this.#low = low;
    this.#file = file;
    this.#onProblem = onProblem;
    this.#hashes = new Map(Object.entries(low.data[file.member] ?? {}));
  }

  /** An invalid file counts as empty, after `onDamage`. `onProblem`: it cannot be written, or made private. */
  static async open(
    textFile: DurableTextFile,
    file: HashFile,
    onProblem: OnProblem,
    onDamage: () => void | Promise<void>,
  ): Promise<ValueHashes> {
    const { member } = file;
    const parse = (value: unknown) => ({ [member]: parseHashes(member, value) });
    const low = new Low<{ readonly [name: string]: Hashes }>(new JsonFile(textFile, parse), { [member]: {} });
    try {
      await low.read();
    } catch {
      await onDamage();
      // Otherwise the next start would find the same.
      await low.write().catch(onProblem);
    }
    await textFile.makePrivate().catch(onProblem);
    return new ValueHashes(low, file, onProblem);
  }

  includes(repo: string, path: ConfigPath, hash: string): boolean {
    const known = this.#at(repo, path);
    return known.includes(hash) || known.includes(everyValue);
  }

  /** Whether it has values of a field. */
  hasAny(repo: string, path: ConfigPath): boolean {
    return this.#at(repo, path).length > 0;
  }

  /** Adds values immediately, and returns those that were not there before; `saved` waits for the disk. */
  add(repo: string, values: readonly HashedValue[]): readonly HashedValue[] {
    return values.filter(({ path, hash }) => {
      if (this.includes(repo, path, hash)) return false;
      const { most, beyond } = this.#file;
      const all = [...this.#at(repo, path), hash];
      this.#put(repo, path, all.length > most && beyond === "everyValue" ? [everyValue] : all.slice(-most));
      return true;
    });
  }

  /** As `add`, once it is on the disk. Throws the system's error; then none of them is added. */
  async addDurably(repo: string, values: readonly HashedValue[]): Promise<readonly HashedValue[]> {
    const added = this.add(repo, values);
    try {
      if (values.length > 0) await this.#save();
    } catch (error) {
      this.remove(repo, added);
      throw error;
    }
    return added;
  }

  remove(repo: string, values: readonly HashedValue[]): void {
    for (const { path, hash } of values)
      if (this.#at(repo, path).includes(hash))
        this.#put(
          repo,
          path,
          this.#at(repo, path).filter(one => one !== hash),
        );
  }

  /** Removes every other value of a field. */
  keepOnly(repo: string, path: ConfigPath, hashes: readonly string[]): void {
    const kept = this.#at(repo, path).filter(one => one === everyValue || hashes.includes(one));
    if (this.#at(repo, path).length !== kept.length) this.#put(repo, path, kept);
  }

  /** Removes all values of a repository, because its id may be used for another one. */
  drop(repo: string): void {
    const places = [...this.#hashes.keys()].filter(place => place.startsWith(`${repo} `));
    for (const place of places) this.#hashes.delete(place);
    if (places.length > 0) this.#saveSoon();
  }

  /** Resolves when everything is on the disk. Does not throw: a failed write is reported and retried with the next one. */
  saved(): Promise<void> {
    return this.#save().catch(this.#onProblem);
  }

  /** Writes one after the other, each with all additions so far. Throws the system's error. */
  #save(): Promise<void> {
    return this.#lock(async () => {
      const changes = this.#changes;
      if (this.#saved === changes) return;
      this.#low.data = { [this.#file.member]: Object.fromEntries(this.#hashes) };
      await this.#low.write();
      this.#saved = changes;
    });
  }

  #at(repo: string, path: ConfigPath): readonly string[] {
    return this.#hashes.get(placeOf(repo, path)) ?? [];
  }

  #put(repo: string, path: ConfigPath, hashes: readonly string[]): void {
    if (hashes.length === 0) this.#hashes.delete(placeOf(repo, path));
    else this.#hashes.set(placeOf(repo, path), hashes);
    this.#saveSoon();
  }

  #saveSoon(): void {
    this.#changes += 1;
    void this.saved();
  }
}

function placeOf(repo: string, { scope, field }: ConfigPath): string {
  return `${repo} ${joinConfigPath(scope, field)}`;
}

function parseHashes(member: string, value: unknown): Hashes {
  const areTexts = (list: unknown) => Array.isArray(list) && list.every(one => typeof one === "string");
  const hashes = isJsonObject(value) ? value[member] : undefined;
  if (!isJsonObject(hashes) || !Object.values(hashes).every(areTexts))
    throw new SyntaxError(`it is not { "${member}": { ... } }`);
  // All of it has been checked.
  return hashes as unknown as Hashes;
}
