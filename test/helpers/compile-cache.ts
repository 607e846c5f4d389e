import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Before the tests: what the thousands of commands and daemons load is compiled once, and kept until the run ends. */
export async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "repoconf-compiled-"));
  process.env["NODE_COMPILE_CACHE"] = folder;
  // The last daemons are just leaving, and write what they compiled.
  return () => rm(folder, { recursive: true, force: true, maxRetries: 10 });
}
