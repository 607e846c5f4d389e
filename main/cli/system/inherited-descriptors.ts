import { closeSync, readdirSync, readFileSync } from "node:fs";

/** Linux's O_CLOEXEC, on every architecture that Node runs on; `fs.constants` lacks it. */
const closeOnExec = 0o2000000;

/**
 * Closes inherited files other than the standard streams. Otherwise a daemon that a script's command started would hold the script's
 * lock as long as it runs. Only needed on Linux: `spawn` closes them on macOS, and Windows does not inherit them. Files that Node opened
 * have O_CLOEXEC, which no file inherited through an exec can have.
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
    // Already closed, like the one that listed the folder.
    return true;
  }
}
