import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Mounts a file system of FUSE that never answers, as a network disk does whose server is away, and becomes another program. Only that
 * program sees the disk, because others must not hang. Another process holds the disk; its number goes to a file.
 */
const mountDead = `exec 3<>/dev/fuse
mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 dead "$1" || exit 1
sleep 600 >/dev/null 2>&1 &
echo $! >"$2"
exec 3>&-
shift 2
exec "$@"`;

/** The command that becomes the program given as its arguments, for which the folder is a disk that never answers. */
export function onDeadDisk(folder: string, holderFile: string): readonly string[] {
  return ["unshare", "--mount", "sh", "-c", mountDead, "sh", folder, holderFile];
}

/** Ends the disk: every call that hangs returns, with an error. The folder below is visible again to the program with this number. */
export function endDeadDisk(folder: string, holderFile: string, pid: number): void {
  process.kill(Number(readFileSync(holderFile, "utf8")), "SIGKILL");
  spawnSync("nsenter", ["-t", String(pid), "--mount", "umount", "-l", folder]);
}

/** Whether the system lets tests mount a disk: Linux, as root. */
export function canMountDeadDisk(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const script = "exec 3<>/dev/fuse && mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 dead /mnt";
  return spawnSync("unshare", ["--mount", "sh", "-c", script]).status === 0;
}
