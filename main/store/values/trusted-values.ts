import { createHash } from "node:crypto";
import { Low } from "lowdb";
import pLimit from "p-limit";
import type { ConfigEdit } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { canonicalJson, isJsonObject, type JsonValue } from "../../../shared/json.ts";
import { effectOf } from "../../../shared/scopes/scope-schema.ts";
import type { DurableTextFile } from "../../files/durable-text-file.ts";
import { JsonFile } from "../../files/json-file.ts";
import type { Scopes } from "../../scopes/scopes.ts";

interface TrustData {
  /** `<repo> <scope>.<field>`: the hashes of the values that may become active there, the newest last. */
  readonly trusted: { readonly [place: string]: readonly string[] };
}

/** A value of a field, by its `trustHash`. */
export interface TrustedValue {
  readonly path: ConfigPath;
  readonly hash: string;
}

/** The maximum of remembered values for one field; older ones need to be accepted again. */
const mostValues = 1_000;

/** A cache, because a large value is checked at each refresh of its file. Values are never mutated. */
const hashes = new WeakMap<object, string>();

/** The SHA-256 of a value's canonical JSON. */
export function hashOfValue(value: JsonValue): string {
  const isPart = typeof value === "object" && value !== null;
  const known = isPart ? hashes.get(value) : undefined;
  if (known !== undefined) return known;
  const hash = createHash("sha256").update(canonicalJson(value)).digest("hex");
  if (isPart) hashes.set(value, hash);
  return hash;
}

/**
 * The hash by which a value is listed, accepted and trusted: of the value together with what the field's schema makes of it. So trust in
 * a value as one variable, or as a command, is none in the same value as another variable. The built-in fields never change, so theirs
 * is the hash of the value alone.
 */
export function trustHash(scopes: Scopes, { scope, field }: ConfigPath, value: JsonValue): string {
  const hash = hashOfValue(value);
  if (scope === "svc") return hash;
  const { command, variable = null } = effectOf(scopes.field(scope, field)?.schema ?? {});
  return createHash("sha256")
    .update(`${JSON.stringify([command, variable])} ${hash}`)
    .digest("hex");
}

/** The commands among values, as what these schemas make of them. */
export function commandsAmong(edits: readonly ConfigEdit[], scopes: Scopes): readonly TrustedValue[] {
  return edits.flatMap(({ scope, field, value }) =>
    value !== undefined && scopes.isCommand(scope, field)
      ? { path: { scope, field }, hash: trustHash(scopes, { scope, field }, value) }
      : [],
  );
}

/**
 * The values in work trees' files that run as commands and may become active: those that a person accepted, or that were set through
 * the daemon while the field had the same effect. Stored by repository, field, effect and value, so that switching branches does not
 * ask twice. `trust.json` contains hashes, not values.
 */
export class TrustedValues {
  readonly #low: Low<TrustData>;
  readonly #onProblem: (message: string, error: unknown) => void;
  readonly #trusted: Map<string, readonly string[]>;
  readonly #lock = pLimit(1);
  /** How often they have changed, and how often when they were last saved. */
  #changes = 0;
  #saved = 0;

  private constructor(low: Low<TrustData>, onProblem: (message: string, error: unknown) => void) {
    this.#low = low;
    this.#onProblem = onProblem;
    this.#trusted = new Map(Object.entries(low.data.trusted));
  }

  /**
   * An invalid file trusts nothing: active values stay active, and others need to be accepted again. `onDamage` is called with a sentence
   * that says so.
   */
  static async open(
    file: DurableTextFile,
    onProblem: (message: string, error: unknown) => void,
    onDamage: (message: string) => void | Promise<void>,
  ): Promise<TrustedValues> {
    const low = new Low<TrustData>(new JsonFile(file, parseTrust), { trusted: {} });
    try {
      await low.read();
    } catch {
      await onDamage(
        "trust.json is invalid: values in work trees that run as commands and are not active must be trusted again.",
      );
      // Otherwise the next start would find the same.
      await low.write().catch(error => onProblem("cannot write trust.json", error));
    }
    await file.makePrivate().catch(error => onProblem("cannot restrict access to trust.json", error));
    return new TrustedValues(low, onProblem);
  }

  /** Whether a value is trusted as what the field's schema makes of it, under any name of the field. */
  has(repo: string, scopes: Scopes, path: ConfigPath, value: JsonValue): boolean {
    const hash = trustHash(scopes, path, value);
    return scopes.namesOf(path).some(name => this.#at(repo, name).includes(hash));
  }

  /** Trusts values immediately, and returns those that were not trusted before; `saved` waits for the disk. */
  add(repo: string, values: readonly TrustedValue[]): readonly TrustedValue[] {
    return values.filter(({ path, hash }) => {
      const known = this.#at(repo, path);
      if (known.includes(hash)) return false;
      this.#put(repo, path, [...known, hash].slice(-mostValues));
      return true;
    });
  }

  /** As `add`, once it is on the disk. Throws the system's error; then none of them is newly trusted. */
  async addDurably(repo: string, values: readonly TrustedValue[]): Promise<readonly TrustedValue[]> {
    const added = this.add(repo, values);
    try {
      if (values.length > 0) await this.#save();
    } catch (error) {
      this.remove(repo, added);
      throw error;
    }
    return added;
  }

  /** Stops trusting these values. */
  remove(repo: string, values: readonly TrustedValue[]): void {
    for (const { path, hash } of values)
      this.#put(
        repo,
        path,
        this.#at(repo, path).filter(one => one !== hash),
      );
  }

  /** Stops trusting every other value of a field. */
  keepOnly(repo: string, path: ConfigPath, hashes: readonly string[]): void {
    const kept = this.#at(repo, path).filter(one => hashes.includes(one));
    if (this.#at(repo, path).length !== kept.length) this.#put(repo, path, kept);
  }

  /** Stops trusting all values of a repository, because its id may be used for another one. */
  drop(repo: string): void {
    const places = [...this.#trusted.keys()].filter(place => place.startsWith(`${repo} `));
    for (const place of places) this.#trusted.delete(place);
    if (places.length > 0) this.#saveSoon();
  }

  /** Resolves when everything is on the disk. Does not throw: a failed write is reported and retried with the next one. */
  saved(): Promise<void> {
    return this.#save().catch(error => this.#onProblem("cannot write trust.json", error));
  }

  /** Writes one after the other, each with all additions so far. Throws the system's error. */
  #save(): Promise<void> {
    return this.#lock(async () => {
      const changes = this.#changes;
      if (this.#saved === changes) return;
      this.#low.data = { trusted: Object.fromEntries(this.#trusted) };
      await this.#low.write();
      this.#saved = changes;
    });
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
    this.#changes += 1;
    void this.saved();
  }
}

function placeOf(repo: string, { scope, field }: ConfigPath): string {
  return `${repo} ${joinConfigPath(scope, field)}`;
}

function parseTrust(value: unknown): TrustData {
  const areTexts = (list: unknown) => Array.isArray(list) && list.every(one => typeof one === "string");
  const { trusted } = isJsonObject(value) ? value : {};
  if (!isJsonObject(trusted) || !Object.values(trusted).every(areTexts))
    throw new SyntaxError(`it is not { "trusted": { ... } }`);
  // Every member that is used has been checked.
  return value as unknown as TrustData;
}
