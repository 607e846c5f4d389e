import { type ClientProof, clientText, type Handshake, refusalText, serverText } from "../handshake.ts";
import type { Address } from "./client.ts";

/** What client and daemon prove to each other about one connection ("The handshake" in docs/protocol.md). */
export class Proofs {
  readonly #address: Address;
  #handshake: Handshake | undefined;
  #expected: string | undefined;

  constructor(address: Address) {
    this.#address = address;
  }

  /** What the client sends on the Engine.IO connection of this id. */
  async prove(engineId: string): Promise<ClientProof> {
    const { url, credentials } = this.#address;
    const nonce = Array.from(crypto.getRandomValues(new Uint8Array(32)), byte => byte.toString(16).padStart(2, "0"));
    const handshake = { url, engineId, nonce: nonce.join("") };
    const proof = await credentials.sign(clientText(handshake));
    // Before anything is sent: the daemon's first packet is judged when it comes.
    this.#expected = await credentials.sign(serverText(handshake));
    this.#handshake = handshake;
    return { keyId: credentials.keyId, nonce: handshake.nonce, proof };
  }

  /** Whether this is what only a daemon that knows the key can say on this connection. */
  isOfDaemon(proof: unknown): boolean {
    const isRight = this.#expected !== undefined && proof === this.#expected;
    if (isRight && this.#handshake !== undefined) this.#address.credentials.proven?.(this.#handshake);
    return isRight;
  }

  /** Whether the daemon may have refused with this error; false if its secret is known and it did not sign. */
  mayBeRefusal(error: Error): boolean {
    const data: unknown = "data" in error ? error.data : undefined;
    // No refusal, but a connection that failed.
    if (typeof data !== "object" || data === null || !("code" in data)) return true;
    const { signAsDaemon } = this.#address;
    if (signAsDaemon === undefined) return true;
    if (this.#handshake === undefined || !("proof" in data)) return false;
    return data.proof === signAsDaemon(refusalText(this.#handshake, Number(data.code)));
  }
}
