/*
 * How client and daemon prove their identities without sending the key ("The handshake" in docs/protocol.md). Each signs
 * (HMAC-SHA256, hexadecimal, with the API key's SHA-256 as the secret) a text about this one connection. A signature that is
 * relayed to another address or replayed on another connection is therefore useless.
 */

/** One connection, as both sides know it. */
export interface Handshake {
  /** The daemon's URL as the client calls it, without a path. */
  readonly url: string;
  /** The id of the Engine.IO connection: 256 random bits chosen by the daemon. */
  readonly engineId: string;
  /** 64 random hexadecimal digits chosen by the client. */
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

/** What the client signs to prove that it has the key. */
export function clientText(handshake: Handshake): string {
  return textOf("client", handshake);
}

/** What the daemon signs in its first packet. Only the daemon that created the key knows its hash. */
export function serverText(handshake: Handshake): string {
  return textOf("server", handshake);
}

/** What both sides sign with a link's secret to derive the secret of the session it becomes. */
export function sessionText(handshake: Handshake): string {
  return textOf("session", handshake);
}

/** What the daemon signs when it refuses, with the secret in daemon.json, because there may be no key that both sides know. */
export function refusalText(handshake: Handshake, code: number): string {
  return `${textOf("refusal", handshake)}\n${code}`;
}
