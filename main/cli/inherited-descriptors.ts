import { closeSync, readdirSync, readFileSync } from "node:fs";

/** Linux's O_CLOEXEC, on every architecture that Node runs on; `fs.constants` lacks it. */
const closeOnExec = 0o2000000;

/**
 * Closes what this process was handed beyond the standard streams: a script's lock would be held for as long as a daemon
 * lives that one of its commands started. `spawn` closes nothing on Linux; on macOS it does, and Windows hands nothing
 * over. What Node opens itself is told by its flag, which nothing can have that came through an exec.
 */
export function closeInheritedDescriptors(): void {
  if (process.platform !== "linux") return;
  for (const name of listOrNone("/proc/self/fd")) {
    const descriptor = Number(name);
    if (descriptor > 2 && !isOwn(descriptor)) closeSync(descriptor);
  }
}

function listOrNone(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // No /proc, as in some containers.
    return [];
  }
}

function isOwn(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    // Closed already, as the one that listed the folder.
    return true;
  }
}
