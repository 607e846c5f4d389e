import { stat } from "node:fs/promises";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { foreignDisks } from "../../files/foreign-disks.ts";

/** The folders of repositories that do not exist. A disk that does not answer is not known to lack one. */
export async function missingFolders(entries: readonly RepositoryEntry[]): Promise<ReadonlySet<string>> {
  const paths = entries.flatMap(({ path }) => path ?? []);
  const codeOf = (path: string) => stat(path).then(() => undefined, systemErrorCode);
  const codes = await Promise.all(paths.map(path => foreignDisks.ask(path, () => codeOf(path)).catch(() => undefined)));
  return new Set(paths.filter((_, index) => codes[index] === "ENOENT"));
}
