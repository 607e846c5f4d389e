import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type FileSystem, realFileSystem } from "../../main/files/file-system.ts";
import { FileLog } from "../../main/store/log/file-log.ts";
import { systemClock } from "../../main/time/clock.ts";
import { type TestLog, testLog } from "./commit-log-contract.ts";

/** The log in a folder, opened as at a start. `known`: the positions that histories name; `stops` gets the mark of the last clean stop. */
export async function openLog(
  folder: string,
  {
    fileSystem = realFileSystem,
    known = [],
    stops = [],
  }: { readonly fileSystem?: FileSystem; readonly known?: string[]; readonly stops?: unknown[] } = {},
): Promise<TestLog> {
  const problems: string[] = [];
  const opened = await FileLog.open({
    folder,
    fileSystem,
    clock: systemClock,
    witnesses: async stop => {
      stops.push(stop);
      return known;
    },
    assertHeld: () => {},
    onProblem: message => void problems.push(message),
    onDamage: async ({ message }) => void problems.push(message),
  });
  return testLog(opened, problems);
}

/** The paths of the log's files, oldest first. */
export async function logFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).sort().map(name => join(folder, name));
}
