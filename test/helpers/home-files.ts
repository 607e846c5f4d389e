import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

/** The text of every file below a folder, by its path in the folder. */
export async function filesBelow(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    // A temporary file may have disappeared by now.
    if (entry.isFile()) files[relative(folder, path)] = await readFile(path, "utf8").catch(() => "");
  }
  return files;
}

/** What operations write in a home, by path: without the index, which is a cache, and the audit file. */
export async function homeFiles(folder: string): Promise<Record<string, string>> {
  const isWritten = ([path]: [string, string]) => !/(^|\/)(lock|audit\.log(\.1)?|index\.json(\..+\.tmp)?)$/.test(path);
  return Object.fromEntries(Object.entries(await filesBelow(folder)).filter(isWritten));
}
