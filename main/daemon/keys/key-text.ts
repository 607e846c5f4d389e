import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** Creates a key in the form that shared/api-key.ts defines. */
export function newKeyText(): { readonly id: string; readonly key: string } {
  const id = randomBytes(6).toString("hex");
  return { id, key: `repoconf_${id}_${randomBytes(32).toString("base64url")}` };
}

/** Only this hash is stored. The key is random, so one fast hash is enough. */
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
