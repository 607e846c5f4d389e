import { copyFile, link, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { crc32 } from "node:zlib";
import { systemErrorCode } from "../../main/files/file-system.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/**
 * The home as a kill -9 at this moment would leave it, while its daemon continues: the same files, inode for inode, in another
 * folder. They do not change, because the daemon replaces files instead of writing into them; it only appends to the log and the
 * journals, so these are copied; files of the log that name their inode name that of the copy.
 */
export async function freezeHome(folder: string): Promise<AsyncDisposable & { readonly path: string }> {
  // On the same disk, because an inode cannot be on two.
  const frozen = await temporaryFolder(dirname(folder));
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const target = join(frozen.path, relative(folder, path));
    if (entry.isDirectory()) await mkdir(target, { recursive: true, mode: 0o700 });
    else if (entry.name !== "lock") {
      await mkdir(join(target, ".."), { recursive: true, mode: 0o700 });
      const isAppendedTo = ["journal", "log"].includes(relative(folder, entry.parentPath));
      await (isAppendedTo ? copyAppended(path, target) : link(path, target)).catch(error => {
        // Calls run in parallel: another one may have removed it since the folder was listed.
        if (systemErrorCode(error) !== "ENOENT") throw error;
      });
    }
  }
  return frozen;
}

async function copyAppended(path: string, target: string): Promise<void> {
  await copyFile(path, target);
  const text = await readFile(target, "utf8");
  const { ino: inode, birthtimeMs: created } = await stat(target);
  const named = text.replace(
    /^\S+ (?<before>.*"file":)\{[^}]*\}(?<after>.*)$/gm,
    (_, before: string, after: string) => {
      const rest = `${before}${JSON.stringify({ inode, created })}${after}`;
      return `${crc32(rest).toString(16).padStart(8, "0")} ${rest}`;
    },
  );
  await writeFile(target, named);
}
