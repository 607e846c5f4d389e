import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** What operations write of a home, by path: its repositories, what was removed, its scopes, its keys. Not the index, which is a cache, nor the audit file. */
export async function homeFiles(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || /^(lock|audit\.log(\.1)?|index\.json(\..+\.tmp)?)$/.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    // Where something is being written that may be gone by now.
    files[path] = await readFile(path, "utf8").catch(() => "");
  }
  return files;
}
