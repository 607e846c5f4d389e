import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** An API key's text: `repoconf_` + id + `_` + 43 random characters (256 bits). */
const keyText = /^repoconf_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;

export function newKeyText(): { readonly id: string; readonly key: string } {
  const id = randomBytes(6).toString("hex");
  return { id, key: `repoconf_${id}_${randomBytes(32).toString("base64url")}` };
}

/** The id in a key's text; undefined if this is no key. */
export function keyIdOf(key: string): string | undefined {
  return keyText.exec(key)?.[1];
}

/** Only this is stored. The key is random, so one fast hash is enough. */
export function hashKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** Compares in constant time. */
export function sameHash(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one, "hex"), Buffer.from(other, "hex")];
  return left.length === right.length && left.length > 0 && timingSafeEqual(left, right);
}

/** The key in a header `Authorization: Bearer KEY`; undefined if there is none. */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer (\S+)$/i.exec(header ?? "")?.[1];
}
