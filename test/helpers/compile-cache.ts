import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs before the tests: compiled code of the thousands of commands and daemons is cached until the run ends. */
export async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "repoconf-compiled-"));
  process.env["NODE_COMPILE_CACHE"] = folder;
  // The last daemons may still be exiting and writing to the cache.
  return () => rm(folder, { recursive: true, force: true, maxRetries: 10 });
}
