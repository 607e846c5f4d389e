import type { IncomingMessage } from "node:http";
import type { Logger } from "pino";
import type { RepoconfError } from "../../../shared/errors.ts";
import type { Refusal } from "../http/guard.ts";
import { UnauthorizedError } from "../keys/keys.ts";
import type { AuditLog } from "./audit-log.ts";

/** Counts, logs and audits what was refused before it reached an operation. */
export class Refusals {
  readonly #logger: Logger;
  readonly #audit: AuditLog | undefined;
  readonly #counts = new Map<string, number>();

  constructor(logger: Logger, audit: AuditLog | undefined) {
    this.#logger = logger;
    this.#audit = audit;
  }

  /** By cause, since the start. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** The guard refused an HTTP request or an upgrade. */
  noteRequest({ cause, message }: Refusal, { headers: { host, origin } }: IncomingMessage): void {
    this.#count(cause);
    if (cause !== "page") this.#logger.warn({ cause, host, origin }, message);
  }

  /** A connection was refused, or ended because of what its client does. */
  noteConnection(error: RepoconfError): void {
    this.#count(error.code === 1100 ? "key" : "limit", error instanceof UnauthorizedError ? error.keyId : undefined);
    this.#logger.warn(
      { code: error.code },
      error.code === 1100 ? "a connection without a valid key was refused" : error.message,
    );
  }

  /** Somebody asked for the metrics without the owner's key. */
  noteMetrics(): void {
    this.#count("key");
    this.#logger.warn("a request for /metrics without the owner's key was refused");
  }

  #count(cause: string, keyId?: string): void {
    this.#counts.set(cause, (this.#counts.get(cause) ?? 0) + 1);
    // A single tab that stays open would fill the audit file.
    if (cause !== "page") this.#audit?.connectionRefused(cause, keyId);
  }
}
