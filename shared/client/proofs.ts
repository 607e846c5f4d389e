import { type ClientProof, clientText, type Handshake, refusalText, serverText } from "../handshake.ts";
import type { Address } from "./address.ts";

/** The proofs that client and daemon exchange on one connection ("The handshake" in docs/protocol.md). */
export class Proofs {
  readonly #address: Address;
  #handshake: Handshake | undefined;
  #expected: string | undefined;

  constructor(address: Address) {
    this.#address = address;
  }

  /** What the client sends on the Engine.IO connection with this id. */
  async prove(engineId: string): Promise<ClientProof> {
    const { url, credentials } = this.#address;
    const nonce = Array.from(crypto.getRandomValues(new Uint8Array(32)), byte => byte.toString(16).padStart(2, "0"));
    const handshake = { url, engineId, nonce: nonce.join("") };
    const proof = await credentials.sign(clientText(handshake));
    // Computed before anything is sent, because the daemon's first packet is checked as soon as it arrives.
    this.#expected = await credentials.sign(serverText(handshake));
    this.#handshake = handshake;
    return { keyId: credentials.keyId, nonce: handshake.nonce, proof };
  }

  /** Whether only a daemon that knows the key can have sent this proof on this connection. */
  isOfDaemon(proof: unknown): boolean {
    const isRight = this.#expected !== undefined && proof === this.#expected;
    if (isRight && this.#handshake !== undefined) this.#address.credentials.proven?.(this.#handshake);
    return isRight;
  }

  /** Whether the daemon may have sent this error; false if the daemon's secret is known and the error is not signed with it. */
  mayBeRefusal(error: Error): boolean {
    const data: unknown = "data" in error ? error.data : undefined;
    // Not a refusal but a failed connection.
    if (typeof data !== "object" || data === null || !("code" in data)) return true;
    const { signAsDaemon } = this.#address;
    if (signAsDaemon === undefined) return true;
    if (this.#handshake === undefined || !("proof" in data)) return false;
    return data.proof === signAsDaemon(refusalText(this.#handshake, Number(data.code)));
  }
}
