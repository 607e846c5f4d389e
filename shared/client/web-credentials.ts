import { keyIdOf } from "../api-key.ts";
import { RepoconfError } from "../errors.ts";
import type { Credentials } from "./client.ts";

const utf8 = new TextEncoder();

/** In a browser: proves a key. Throws RepoconfError 1100 for a text that is no key. */
export async function webKeyCredentials(apiKey: string): Promise<Credentials> {
  const keyId = keyIdOf(apiKey);
  if (keyId === undefined) throw new RepoconfError(1100, "This is no API key: one begins with repoconf_.");
  return webCredentials(keyId, await crypto.subtle.digest("SHA-256", utf8.encode(apiKey)));
}

/** In a browser: signs with a secret. */
async function webCredentials(keyId: string, secret: ArrayBuffer): Promise<Credentials> {
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return {
    keyId,
    sign: async text => toHex(await crypto.subtle.sign("HMAC", key, utf8.encode(text))),
  };
}

function toHex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), byte => byte.toString(16).padStart(2, "0")).join("");
}
