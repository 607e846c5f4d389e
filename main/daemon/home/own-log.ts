import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { realFileSystem } from "../../files/file-system.ts";
import type { Home } from "../../home/home.ts";
import { FileLog } from "../../store/log/file-log.ts";
import type { Position } from "../../store/types.ts";
import { systemClock } from "../../time/clock.ts";

/** Begins a log of the home's own behind a position of the log that its histories name. */
export async function beginOwnLog(home: Home, position: Position): Promise<void> {
  // Of an interrupted copy.
  await removeOwnLog(home);
  const files = { folder: home.log, fileSystem: realFileSystem, clock: systemClock };
  const quiet = { assertHeld: () => {}, onProblem: () => {}, onDamage: async () => {} };
  const { log } = await FileLog.open({ ...files, ...quiet, witnesses: async () => [position] });
  await log.close();
}

/** Nobody may read it any more. */
export async function removeOwnLog({ log }: Home): Promise<void> {
  for (const name of await readdir(log)) if (name.endsWith(".log")) await rm(join(log, name));
}
