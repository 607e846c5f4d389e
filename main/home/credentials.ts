import { createHash, createHmac } from "node:crypto";
import { keyIdOf } from "../../shared/api-key.ts";
import type { Credentials } from "../../shared/client/address.ts";
import { RepoconfError } from "../../shared/errors.ts";

/** Credentials that prove an API key under Node. Throws RepoconfError 1100 if the text is not an API key. */
export function keyCredentials(apiKey: string): Credentials {
  const keyId = keyIdOf(apiKey);
  if (keyId === undefined) throw new RepoconfError(1100, "This is not an API key: API keys begin with repoconf_.");
  const secret = createHash("sha256").update(apiKey).digest();
  return { keyId, sign: text => sign(secret, text) };
}

/** The HMAC-SHA256 of a text, hexadecimal. */
export function sign(secret: Buffer | string, text: string): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}
