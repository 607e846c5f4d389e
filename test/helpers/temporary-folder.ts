import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder that `await using` deletes with its content. */
export async function temporaryFolder(within = tmpdir()): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(within, "repoconf-test-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
