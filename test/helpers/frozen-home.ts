import { copyFile, link, mkdir, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { systemErrorCode } from "../../main/files/file-system.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/**
 * The home as a kill -9 at this moment would leave it, while its daemon runs on: the same files, inode for inode, in
 * another folder. They stay as they are, as the daemon never writes into a file but puts another in its place; all but the log
 * and the journals, which it appends to, so these are copies.
 */
export async function freezeHome(folder: string): Promise<AsyncDisposable & { readonly path: string }> {
  const frozen = await temporaryFolder();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const target = join(frozen.path, relative(folder, path));
    if (entry.isDirectory()) await mkdir(target, { recursive: true, mode: 0o700 });
    else if (entry.name !== "lock") {
      await mkdir(join(target, ".."), { recursive: true, mode: 0o700 });
      const isAppendedTo = ["journal", "log"].includes(relative(folder, entry.parentPath));
      await (isAppendedTo ? copyFile(path, target) : link(path, target)).catch(error => {
        // Calls run side by side: another one may have taken it away since the folder was listed.
        if (systemErrorCode(error) !== "ENOENT") throw error;
      });
    }
  }
  return frozen;
}
