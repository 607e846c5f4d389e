import type { Config } from "../../../shared/config.ts";
import type { RepoconfError } from "../../../shared/errors.ts";
import type { CountedLayer } from "../../../shared/protocol.ts";
import type { ConflictError } from "../log/commit-log.ts";
import type { Mirrored } from "../types.ts";

/*
 * What the parts of a repository need of each other.
 */

/** Milliseconds for which a change waits while another program keeps changing the file. */
export const foreignEditTime = 7_500;

/** See `HandEditReader`. */
export interface FileReader {
  readonly loaded: boolean;
  readonly isRemoved: boolean;
  readonly unrecorded: unknown;
  readonly refusal: RepoconfError | undefined;
  readonly lateEdits: { endLater(): void };
  readonly requestRefresh: () => Promise<void>;
  bringUpToDate(): Promise<void>;
  refresh(): Promise<boolean>;
  refreshLocked(): Promise<boolean>;
  applyExternalEdit(): Promise<void>;
  reconcile(target: Config, kind: "file"): Promise<void>;
  conflictApplied(conflict: ConflictError): Promise<void>;
  notWritable(): RepoconfError;
}

/** See `MirrorWriter`. */
export interface FileWriter {
  write(): Promise<Mirrored>;
  flush(): Promise<Mirrored>;
  writeInTree(): Promise<void>;
}

/** A document above a repository's own, with values that count before it. */
export interface DocumentAbove<Document> {
  readonly name: CountedLayer;
  readonly document: Document;
}
