import { execFileSync } from "node:child_process";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";

/** A text that no output and no variable of a shell may have. */
export const secret = "TEXT-OF-A-PRIVATE-KEY";

/** What a repository of others may have in place of a file, by kind; each function puts it at a path. */
export const hostileEntries: { readonly [kind: string]: (path: string) => Promise<unknown> } = {
  "a pipe": async path => execFileSync("mkfifo", [path]),
  "a socket": path => new Promise<void>(resolve => createServer().unref().listen(path, resolve)),
  "a folder": path => mkdir(path),
  "a link to a key": async path => {
    await writeFile(`${path}.key`, secret);
    await symlink(`${path}.key`, path);
  },
  "a link to a folder": async path => {
    await mkdir(`${path}.folder`);
    await writeFile(join(`${path}.folder`, "key"), secret);
    await symlink(`${path}.folder`, path);
  },
  "a link to an endless device": path => symlink("/dev/zero", path),
  "a link to a file that reports no size": path => symlink("/proc/self/pagemap", path),
  "a link to a pipe": async path => {
    execFileSync("mkfifo", [`${path}.pipe`]);
    await symlink(`${path}.pipe`, path);
  },
  "a file that claims 5 GB": async path => {
    await writeFile(path, "");
    await truncate(path, 5 * 1024 ** 3);
  },
  // Nothing is unreadable for root, who alone can make devices.
  ...(process.getuid?.() === 0
    ? { "an endless device": async (path: string) => execFileSync("mknod", [path, "c", "1", "5"]) }
    : { "an unreadable file": (path: string) => writeFile(path, secret, { mode: 0o000 }) }),
};
