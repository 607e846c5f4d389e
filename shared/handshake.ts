/*
 * How client and daemon prove to each other who they are, without a key that travels ("The handshake" in docs/protocol.md).
 * Each signs (HMAC-SHA256, hexadecimal, by the SHA-256 of the API key) a text about this one connection: anyone who relays it
 * to another address, or repeats it on another connection, has the signature of another text.
 */

/** One connection, as both sides know it. */
export interface Handshake {
  /** The daemon's URL as the client calls it, without a path. */
  readonly url: string;
  /** The id of the Engine.IO connection, which the daemon drew: 256 random bits. */
  readonly engineId: string;
  /** What the client drew: 64 hexadecimal digits. */
  readonly nonce: string;
}

/** What a client sends as `auth`. */
export interface ClientProof {
  /** The id in the API key's text. */
  readonly keyId: string;
  readonly nonce: string;
  /** The signature of `clientText`. */
  readonly proof: string;
}

export const nonceForm = /^[0-9a-f]{64}$/;

const textOf = (kind: string, { url, engineId, nonce }: Handshake) =>
  `repoconf ${kind} 1\n${url}\n${engineId}\n${nonce}`;

/** What a client signs: it has the key. */
export function clientText(handshake: Handshake): string {
  return textOf("client", handshake);
}

/** What the daemon signs in its first packet: it knows the key, and so is the daemon that made it. */
export function serverText(handshake: Handshake): string {
  return textOf("server", handshake);
}

/** What both sides sign by the secret of a link: the secret of the session that it becomes. */
export function sessionText(handshake: Handshake): string {
  return textOf("session", handshake);
}

/** What the daemon signs when it refuses, by the secret in daemon.json: there may be no key that both know. */
export function refusalText(handshake: Handshake, code: number): string {
  return `${textOf("refusal", handshake)}\n${code}`;
}
