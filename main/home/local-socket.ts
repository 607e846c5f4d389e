import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** The maximum number of bytes in a Unix socket's path, on both Linux and macOS. */
export const longestSocketPath = 103;
/** The number of those bytes after the folder. */
export const socketNameLength = 9;

/**
 * A new path for the daemon's Unix socket, in a folder that only its owner can enter; files of earlier daemons there are
 * removed. The caller must hold the home's lock. Undefined if there can be no socket: on Windows, and if the path would be too
 * long. Throws the system's error, or an Error if the folder does not belong to the user.
 */
export async function localSocketPath(folder: string): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;
  if (Buffer.byteLength(folder) + socketNameLength > longestSocketPath) return undefined;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const stats = await lstat(folder);
  // Anyone who can create a socket there can impersonate the daemon.
  if (!stats.isDirectory() || stats.uid !== process.getuid?.())
    throw new Error(`${folder} is not a folder (Repoconf does not follow links). Move it away.`);
  await chmod(folder, 0o700);
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
  return join(folder, randomBytes(4).toString("hex"));
}
