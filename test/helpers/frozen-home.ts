import { copyFile, link, mkdir, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { systemErrorCode } from "../../main/files/file-system.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/**
 * The home as a kill -9 at this moment would leave it, while its daemon continues: the same files, inode for inode, in another
 * folder. They do not change, because the daemon replaces files instead of writing into them; it only appends to the log and the
 * journals, so these are copied.
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
        // Calls run in parallel: another one may have removed it since the folder was listed.
        if (systemErrorCode(error) !== "ENOENT") throw error;
      });
    }
  }
  return frozen;
}
