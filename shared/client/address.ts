import type { Handshake } from "../handshake.ts";

/** The id of a key and a way to prove that you have it. The key itself is never sent. */
export interface Credentials {
  /** The id in the key's text. */
  readonly keyId: string;
  /** HMAC-SHA256 of a text with the key's SHA-256 as the secret, in hexadecimal. */
  sign(text: string): string | Promise<string>;
  /** Called when the daemon has proven its identity on this connection. */
  proven?(handshake: Handshake): void;
}

/** Where the daemon is, and the key that both sides know. */
export interface Address {
  /** Without a path. */
  readonly url: string;
  /** In Node: a `node:http` agent that connects to the daemon's Unix socket. */
  readonly agent?: object;
  readonly credentials: Credentials;
  /**
   * HMAC-SHA256 of a text with the daemon's secret, in hexadecimal. If present, the client only believes a refusal that the
   * daemon signed.
   */
  signAsDaemon?(text: string): string;
}
