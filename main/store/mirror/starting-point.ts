import type { Config, ConfigEdit } from "../../../shared/config.ts";
import type { ChangeRecord } from "../history/record.ts";
import type { CommittedState, LogNumber } from "../types.ts";

/** A commit of this repository, as far as its history and file need it. */
export interface MirroredCommit {
  readonly number: LogNumber;
  /** Undefined if no active value changed, only the values that the file is to have. */
  readonly record: ChangeRecord | undefined;
  /** The changes for the file. */
  readonly edits: readonly ConfigEdit[];
}

/** The state of a repository after a start. */
export interface StartingPoint {
  /** `target` has a person's edit of the file, and the changes that the file lacks. */
  readonly state: CommittedState;
  /** The journal's values. */
  readonly written: Config;
  /** Commits that the log has and the journal lacks. */
  readonly tail: readonly MirroredCommit[];
  /** Edits that the file should have but lacks, and that no revision records. */
  readonly unrecorded: readonly ConfigEdit[];
  /** The file's values, and the revision with these values as far as the daemon wrote them. */
  readonly onDisk: Config;
  readonly fileRevision: number;
  /** Whether the file was edited by hand, and changes that the edit's author did not know of are kept besides the edit. */
  readonly merged: boolean;
  /** The values of the text that the newest recorded write replaced, if the replaced file is still there. */
  readonly replaced: Config | undefined;
  /** Changes that a file in a work tree lacks, which counts as it is. */
  readonly pending: readonly PendingChange[];
  /** Whether the file has an older text of ours because it was copied. */
  readonly isCopy: boolean;
  /** Whether revisions or records are lost. */
  readonly isLost: boolean;
  /** Whether a revision of source `recovery` must follow. A machine cannot tell the others what their shared log says. */
  readonly isRecovery: boolean;
  /** The values that the file had and was to have before any edit by hand. */
  readonly before: { readonly onDisk: Config; readonly target: Config };
}

/** A field that a revision changed and that the file lacks. */
export interface PendingChange extends ConfigEdit {
  readonly by: ChangeRecord;
}
