import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** A disk that can be full. */
export interface SmallDisk extends Disposable {
  /** Leaves no room at all. */
  fill(): void;
  /** Makes room again. */
  free(): void;
  /** Lets nobody write, or write again. */
  protect(isProtected: boolean): void;
}

/** Mounts a small disk of the memory at a folder. Undefined if the system does not let tests mount one: it needs Linux, as root. */
export function mountSmallDisk(folder: string, megabytes: number): SmallDisk | undefined {
  mkdirSync(folder, { recursive: true });
  const args = ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=700`, "none", folder];
  if (process.platform !== "linux" || spawnSync("mount", args).status !== 0) return undefined;
  const filler = join(folder, "filler");
  return {
    // It writes until nothing fits.
    fill: () => void spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=64k", "status=none"]),
    free: () => rmSync(filler, { force: true }),
    protect: isProtected => void spawnSync("mount", ["-o", `remount,${isProtected ? "ro" : "rw"}`, folder]),
    [Symbol.dispose]: () => void spawnSync("umount", ["-l", folder]),
  };
}
