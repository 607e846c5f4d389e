import { keyIdOf } from "../api-key.ts";
import { RepoconfError } from "../errors.ts";
import { sessionText } from "../handshake.ts";
import type { Credentials } from "./address.ts";

const utf8 = new TextEncoder();

/** For browsers: credentials from an API key. Throws RepoconfError 1100 if the text is not a key. */
export async function webKeyCredentials(apiKey: string): Promise<Credentials> {
  const keyId = keyIdOf(apiKey);
  if (keyId === undefined) throw new RepoconfError(1100, "This is not an API key: API keys begin with repoconf_.");
  const secret = await importSecret(await crypto.subtle.digest("SHA-256", utf8.encode(apiKey)));
  return { keyId, sign: text => sign(secret, text) };
}

/** For browsers: credentials of a session; `secret` is hexadecimal. */
export async function webSessionCredentials(id: string, secret: string): Promise<Credentials> {
  const key = await importSecret(fromHex(secret));
  return { keyId: id, sign: text => sign(key, text) };
}

/**
 * For browsers: credentials from a link's code, `ID.SECRET`. The first connection turns the code into a session whose secret both
 * sides derive; `onSession` receives it in hexadecimal.
 */
export function webCodeCredentials(
  id: string,
  secret: string,
  onSession: (id: string, secret: string) => void,
): Credentials {
  let key = importSecret(fromHex(secret));
  let isSession = false;
  return {
    keyId: id,
    sign: async text => sign(await key, text),
    proven: handshake => {
      if (isSession) return;
      isSession = true;
      const derived = key.then(code => sign(code, sessionText(handshake)));
      // The next signature waits for the session's key.
      key = derived.then(text => importSecret(fromHex(text)));
      void derived.then(text => onSession(id, text));
    },
  };
}

type Secret = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

function importSecret(bytes: ArrayBuffer): Promise<Secret> {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

async function sign(secret: Secret, text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", secret, utf8.encode(text)));
  return Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
}

function fromHex(text: string): ArrayBuffer {
  return Uint8Array.from(text.match(/../g) ?? [], pair => Number.parseInt(pair, 16)).buffer;
}
