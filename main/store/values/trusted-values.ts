import { createHash } from "node:crypto";
import type { ConfigEdit } from "../../../shared/config.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import { canonicalJson, type JsonValue } from "../../../shared/json.ts";
import { effectOf } from "../../../shared/scopes/scope-schema.ts";
import type { DurableTextFile } from "../../files/durable-text-file.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { type HashedValue, ValueHashes } from "./value-hashes.ts";

/** The maximum of remembered values for one field; older ones need to be accepted again. */
const mostTrusted = 1_000;
/**
 * The same for plain values that keys set, each of which is one more write of the file. With more, every value of the field counts as one
 * that a key set: otherwise a key could have an earlier one of its own forgotten.
 */
const mostPlain = 100;

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
export function commandsAmong(edits: readonly ConfigEdit[], scopes: Scopes): readonly HashedValue[] {
  return edits.flatMap(({ scope, field, value }) =>
    value !== undefined && scopes.isCommand(scope, field)
      ? { path: { scope, field }, hash: trustHash(scopes, { scope, field }, value) }
      : [],
  );
}

/** The values of fields that have no effect so far, as they are remembered if a key without the right to set commands sets them. */
export function plainAmong(edits: readonly ConfigEdit[], scopes: Scopes): readonly HashedValue[] {
  // The built-in fields never become commands.
  return edits.flatMap(({ scope, field, value }) =>
    value !== undefined && scope !== "svc" && !scopes.isCommand(scope, field)
      ? { path: { scope, field }, hash: hashOfValue(value) }
      : [],
  );
}

/** The files of `TrustedValues`: trust.json and plain-values.json. */
export interface TrustFiles {
  readonly trusted: DurableTextFile;
  readonly plain: DurableTextFile;
}

/**
 * Which values may become active as commands. In a work tree's file, those that a person accepted, or that were set through the daemon by
 * somebody with the right to while the field had the same effect. In a file of the home, which is the person's own, all, except those that
 * a key without that right set as plain values before a schema made commands of them. Stored by repository, field, effect and value, so
 * that switching branches does not ask twice, as hashes.
 */
export class TrustedValues {
  readonly #trusted: ValueHashes;
  readonly #plain: ValueHashes;

  private constructor(trusted: ValueHashes, plain: ValueHashes) {
    this.#trusted = trusted;
    this.#plain = plain;
  }

  /**
   * An invalid trust.json trusts nothing: active values stay active, and others need to be accepted again. `onDamage` is called with a
   * sentence that says so, and the file.
   */
  static async open(
    files: TrustFiles,
    onProblem: (message: string, error: unknown) => void,
    onDamage: (message: string, file: string) => void | Promise<void>,
  ): Promise<TrustedValues> {
    const trusted = await ValueHashes.open(
      files.trusted,
      { member: "trusted", most: mostTrusted, beyond: "dropOldest" },
      error => onProblem("cannot write trust.json", error),
      () =>
        onDamage(
          "trust.json is invalid: values in work trees that run as commands and are not active must be trusted again.",
          files.trusted.path,
        ),
    );
    const plain = await ValueHashes.open(
      files.plain,
      { member: "plain", most: mostPlain, beyond: "everyValue" },
      error => onProblem("cannot write plain-values.json", error),
      () =>
        onDamage(
          "plain-values.json is invalid: which values keys without the right to set commands have set is not known any more. Before you add x-command or x-env to a field of your own scopes, review its values: repoconf search field:NAME",
          files.plain.path,
        ),
    );
    return new TrustedValues(trusted, plain);
  }

  /** Whether a value is trusted as what the field's schema makes of it, under any name of the field. */
  has(repo: string, scopes: Scopes, path: ConfigPath, value: JsonValue): boolean {
    const hash = trustHash(scopes, path, value);
    return scopes.namesOf(path).some(name => this.#trusted.includes(repo, name, hash));
  }

  /** Whether a value in a file of the home may be active as a command. */
  hasInHome(repo: string, scopes: Scopes, path: ConfigPath, value: JsonValue): boolean {
    return !this.isPlain(repo, scopes, path, value) || this.has(repo, scopes, path, value);
  }

  /** Whether a key without the right to set commands set the value while the field had no effect. */
  isPlain(repo: string, scopes: Scopes, path: ConfigPath, value: JsonValue): boolean {
    // Few fields have such values, and a hash takes longer than all else here.
    const names = scopes.namesOf(path).filter(name => this.#plain.hasAny(repo, name));
    if (names.length === 0) return false;
    const hash = hashOfValue(value);
    return names.some(name => this.#plain.includes(repo, name, hash));
  }

  /** Trusts values immediately, and returns those that were not trusted before; `saved` waits for the disk. */
  add(repo: string, values: readonly HashedValue[]): readonly HashedValue[] {
    return this.#trusted.add(repo, values);
  }

  /** As `add`, once it is on the disk. Throws the system's error; then none of them is newly trusted. */
  addDurably(repo: string, values: readonly HashedValue[]): Promise<readonly HashedValue[]> {
    return this.#trusted.addDurably(repo, values);
  }

  /** Remembers, on the disk, that these values (`plainAmong`) are of a key without the right to set commands. Throws the system's error. */
  async addPlain(repo: string, values: readonly HashedValue[]): Promise<void> {
    await this.#plain.addDurably(repo, values);
  }

  /** Somebody with that right set them too. */
  removePlain(repo: string, values: readonly HashedValue[]): void {
    this.#plain.remove(repo, values);
  }

  /** Stops trusting these values. */
  remove(repo: string, values: readonly HashedValue[]): void {
    this.#trusted.remove(repo, values);
  }

  /** Removes the hashes of every other value of a field. */
  keepOnly(repo: string, scopes: Scopes, path: ConfigPath, values: readonly JsonValue[]): void {
    this.#trusted.keepOnly(
      repo,
      path,
      values.map(value => trustHash(scopes, path, value)),
    );
    this.#plain.keepOnly(repo, path, values.map(hashOfValue));
  }

  /** Removes all hashes of a repository, because its id may be used for another one. */
  drop(repo: string): void {
    this.#trusted.drop(repo);
    this.#plain.drop(repo);
  }

  /** Resolves when everything is on the disk. Does not throw: a failed write is reported and retried with the next one. */
  async saved(): Promise<void> {
    await Promise.all([this.#trusted.saved(), this.#plain.saved()]);
  }
}
