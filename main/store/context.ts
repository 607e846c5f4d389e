import type { FileSystem } from "../files/file-system.ts";
import type { Scopes } from "../scopes/scopes.ts";
import type { Clock } from "../time/clock.ts";
import type { Findings } from "./findings.ts";
import type { CommitLog } from "./log/commit-log.ts";
import type { StorePaths } from "./types.ts";
import type { TrustedValues } from "./values/trusted-values.ts";

/** What a store finds when it is opened. */
export interface StoreSurroundings {
  readonly scopes: Scopes;
  readonly trust: TrustedValues;
  readonly paths: StorePaths;
  /** What a person should know until they dismiss it. */
  readonly findings: Findings;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  /** Called for problems that belong into the daemon's log and that no caller learns of. */
  onProblem(message: string, context: { readonly [name: string]: unknown }): void;
}

/** What all parts of a store share. */
export interface StoreContext extends StoreSurroundings {
  readonly log: CommitLog;
}
