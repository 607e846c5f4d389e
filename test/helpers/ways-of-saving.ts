import { execFile } from "node:child_process";
import { existsSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import files from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { saveByRename } from "./shop.ts";

const run = promisify(execFile);

/** Like `saveByRename`, at once: for an edit at one step of a write. */
export function renameOver(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/** Ways of saving that can happen between two steps of a write. */
export const waysOfSaving: readonly [name: string, save: (path: string, text: string) => void][] = [
  ["renamed over", renameOver],
  ["written in place", (path, text) => writeFileSync(path, text)],
  [
    "deleted and created again",
    (path, text) => {
      unlinkSync(path);
      writeFileSync(path, text);
    },
  ],
];

/** Replaces the text of a file in a particular way. */
type Save = (path: string, text: string) => Promise<void>;

async function writeOver(path: string, text: string): Promise<void> {
  const handle = await files.open(path, "r+");
  await handle.writeFile(text);
  await handle.close();
}

/** The ways of editors, scripts and tools. */
export const savingStyles: { readonly [style: string]: Save } = {
  "a new file renamed over it": saveByRename,
  "truncated and written": files.writeFile,
  "truncated, a pause, written": async (path, text) => {
    await files.truncate(path);
    await delay(40);
    await files.writeFile(path, text);
  },
  "written in two halves": async (path, text) => {
    await files.writeFile(path, text.slice(0, text.length / 2));
    await delay(40);
    await files.writeFile(path, text.slice(text.length / 2), { flag: "a" });
  },
  "overwritten in place, with the same length": writeOver,
  "overwritten in place, with the same length and its old time restored": async (path, text) => {
    const { atime, mtime } = await files.stat(path);
    await writeOver(path, text);
    await files.utimes(path, atime, mtime);
  },
  "deleted and created": async (path, text) => {
    await files.unlink(path);
    await files.writeFile(path, text, { flag: "wx" });
  },
  "deleted, a pause, created": async (path, text) => {
    await files.unlink(path);
    await delay(60);
    await files.writeFile(path, text, { flag: "wx" });
  },
  "moved aside as a backup, then created": async (path, text) => {
    await files.rename(path, `${path}~`);
    await files.writeFile(path, text);
  },
  "replaced by a hard link": async (path, text) => {
    await files.writeFile(`${path}.new`, text);
    await files.unlink(path);
    await files.link(`${path}.new`, path);
    await files.unlink(`${path}.new`);
  },
  "another file copied over it": async (path, text) => {
    await files.writeFile(`${path}.other`, text);
    await files.copyFile(`${path}.other`, path);
  },
  "saved like Emacs, with a lock link beside it": async (path, text) => {
    const lock = join(dirname(path), `.#${basename(path)}`);
    await files.symlink("someone@somewhere.1", lock);
    await saveByRename(path, text);
    await files.unlink(lock);
  },
  "saved like vim: moved to a backup, written again, the backup deleted": async (path, text) => {
    await files.rename(path, `${path}~`);
    await files.writeFile(path, text);
    await files.unlink(`${path}~`);
  },
  "saved like vim with backupcopy=yes: copied to a backup, written in place": async (path, text) => {
    await files.copyFile(path, `${path}~`);
    await files.writeFile(path, text);
    await files.unlink(`${path}~`);
  },
  "synced and renamed over it, as careful programs do": async (path, text) => {
    const handle = await files.open(`${path}.tmp`, "w");
    await handle.writeFile(text);
    await handle.sync();
    await handle.close();
    await files.rename(`${path}.tmp`, path);
  },
  "mode and owner's rights changed after the save": async (path, text) => {
    await saveByRename(path, text);
    await files.chmod(path, 0o644);
  },
  "copied over it by cp": async (path, text) => {
    await files.writeFile(`${path}.other`, text);
    await run("cp", [`${path}.other`, path]);
  },
  "moved over it by mv": async (path, text) => {
    await files.writeFile(`${path}.other`, text);
    await run("mv", ["-f", `${path}.other`, path]);
  },
  "redirected into it by a shell": async (path, text) => {
    await files.writeFile(`${path}.other`, text);
    await run("sh", ["-c", `cat "$1" > "$2"`, "sh", `${path}.other`, path]);
  },
  "checked out by git": async (path, text) => {
    const folder = `${path}.git`;
    const work = dirname(path);
    const git = (...args: readonly string[]) => run("git", [`--git-dir=${folder}`, `--work-tree=${work}`, ...args]);
    if (!existsSync(folder)) await git("init", "--quiet");
    const before = await files.readFile(path);
    // The text must first be added to the repository, without writing the watched file.
    await files.writeFile(`${folder}/text`, text);
    const { stdout } = await git("hash-object", "-w", `${folder}/text`);
    await git("update-index", "--add", "--cacheinfo", `100644,${stdout.trim()},${basename(path)}`);
    if (before.toString() !== text) await git("checkout", "--", basename(path));
  },
};
