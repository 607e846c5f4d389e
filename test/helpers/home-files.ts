import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * What operations write in a home, by path: repositories, removed ones, scopes, keys. Excludes the index, which is a cache, and
 * the audit file.
 */
export async function homeFiles(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || /^(lock|audit\.log(\.1)?|index\.json(\..+\.tmp)?)$/.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    // A temporary file may have disappeared by now.
    files[path] = await readFile(path, "utf8").catch(() => "");
  }
  return files;
}
