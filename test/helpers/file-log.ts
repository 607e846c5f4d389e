import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../main/clock.ts";
import type { Commit, LogNumber } from "../../main/daemon/store/log/commit-log.ts";
import { FileLog } from "../../main/daemon/store/log/file-log.ts";
import { type FileSystem, realFileSystem } from "../../main/files/file-system.ts";

export interface TestLog {
  readonly log: FileLog;
  /** The timeouts of the commits that a start would have to see to. */
  readonly found: readonly number[];
  readonly lost: number;
  readonly problems: readonly string[];
  /** The timeouts of what was told as committed, in that order, with their numbers. */
  readonly committed: [LogNumber, number][];
  /** One request with these commits. */
  append(...timeouts: number[]): Promise<void>;
}

/** The log in a folder, as a start opens it. */
export async function openLog(folder: string, fileSystem: FileSystem = realFileSystem): Promise<TestLog> {
  const problems: string[] = [];
  const committed: [LogNumber, number][] = [];
  const { log, entries, lost } = await FileLog.open({
    folder,
    fileSystem,
    clock: systemClock,
    assertHeld: () => {},
    onProblem: message => void problems.push(message),
  });
  return {
    log,
    found: entries.map(({ entry }) => (entry.kind === "commit" ? timeoutOf(entry) : Number.NaN)),
    lost,
    problems,
    committed,
    append: (...timeouts) =>
      log.append({
        entries: timeouts.map(commitOf),
        committed: first => {
          for (const [index, timeout] of timeouts.entries()) committed.push([first + index, timeout]);
        },
      }),
  };
}

function commitOf(timeout: number): Commit {
  const edits = [{ scope: "svc", field: "timeout", value: timeout }];
  return {
    kind: "commit",
    time: "2025-01-01T00:00:00.000Z",
    actor: { kind: "file" },
    source: "file",
    documents: [{ repo: "shop", lineage: "", revision: timeout, edits }],
  };
}

function timeoutOf({ documents }: Commit): number {
  return Number(documents[0]?.edits[0]?.value);
}

/** Paths of the log's files, the oldest first. */
export async function logFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).sort().map(name => join(folder, name));
}
