import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** Bytes that a Unix socket's path may have, on Linux and macOS alike. */
export const longestSocketPath = 103;
/** Of what stands behind the folder in it. */
export const socketNameLength = 9;

/**
 * A fresh name for the daemon's Unix socket, in a folder that only its owner can enter; what earlier daemons left there is
 * removed. The home's lock is held. Undefined where the daemon has none: on Windows, and where the path would be too long.
 * Throws the system's error, and for a folder that is not the owner's own.
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
