import { chmod, chown, lstat, open, readdir, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DurableTextFile } from "../../../main/files/durable-text-file.ts";
import { giveRights } from "../../../main/files/file-rights.ts";
import type { FileSystem } from "../../../main/files/file-system.ts";
import { temporaryName } from "../../../main/files/temporary-files.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

function fileIn(folder: string, fileSystem: FileSystem) {
  const path = join(folder, "keys.json");
  const options = { path, temporaryFolder: folder, mode: 0o600, maximumBytes: 1_000, fileSystem };
  return { path, file: new DurableTextFile(options) };
}

test("a temporary file that was tidied away is written again", async () => {
  await using folder = await temporaryFolder();
  const fileSystem = watchFileSystem();
  const { file, path } = fileIn(folder.path, fileSystem);
  let isTidied = false;
  fileSystem.before = async ({ operation }) => {
    if (operation !== "rename" || isTidied) return;
    isTidied = true;
    for (const name of await readdir(folder.path)) await unlink(join(folder.path, name));
  };
  await file.write("text\n");
  expect(isTidied).toBe(true);
  expect(await readFile(path, "utf8")).toBe("text\n");
});

test("a file whose folder cannot be synced keeps its old text: a write that is reported as failed must not take effect", async () => {
  await using folder = await temporaryFolder();
  const fileSystem = watchFileSystem();
  const { file, path } = fileIn(folder.path, fileSystem);
  await file.write("before\n");
  let isFailing = true;
  fileSystem.before = call => {
    if (call.operation !== "sync" || call.path !== folder.path || !isFailing) return;
    isFailing = false;
    throw systemError("EIO");
  };
  await expect(file.write("after\n")).rejects.toThrow("EIO");
  expect(await readFile(path, "utf8")).toBe("before\n");
  expect(await readdir(folder.path)).toEqual(["keys.json"]);
  await file.write("after\n");
  expect(await readFile(path, "utf8")).toBe("after\n");
});

test("a later file with the inode of one that a killed process left is not taken for it", async () => {
  await using folder = await temporaryFolder();
  const { file, path } = fileIn(folder.path, watchFileSystem());
  const left = join(folder.path, temporaryName(path));
  await writeFile(left, "somebody's\n");
  const { size, mtimeMs, ino, birthtimeMs: created } = await lstat(left);
  const stamp = { size, mtimeMs, ino, created };
  expect(await file.adoptLeft({ stamp: { ...stamp, created: created - 1_000 } })).toEqual([left]);
  expect(await readdir(folder.path)).toHaveLength(1);
  expect(await file.adoptLeft({ stamp })).toEqual([]);
  expect(await readdir(folder.path)).toEqual([]);
});

test.skipIf(process.getuid?.() !== 0).each([
  ["the owner, the group and the mode of a file", { uid: 12, gid: 34, mode: 0o664 }, 0o755, 34],
  ["a narrow mode", { uid: 0, gid: 34, mode: 0o400 }, 0o755, 34],
  ["the group of a folder whose files belong to its group", undefined, 0o2775, 56],
  ["this user's group in any other folder", undefined, 0o775, 0],
])("a new version has %s (as root, who may give files away)", async (_title, before, folderMode, gid) => {
  await using folder = await temporaryFolder();
  await using elsewhere = await temporaryFolder();
  await chown(folder.path, 0, 56);
  await chmod(folder.path, folderMode);
  const path = join(folder.path, "file");
  const file = new DurableTextFile({ path, temporaryFolder: elsewhere.path, mode: 0o644, maximumBytes: 1_000 });
  if (before !== undefined) {
    await writeFile(path, "before\n");
    await file.read();
    // After the last read: the stamp does not tell.
    await chown(path, before.uid, before.gid);
    await chmod(path, before.mode);
  }
  await file.write("after\n");
  const { uid, mode, ...stats } = await stat(path);
  expect({ uid, gid: stats.gid, mode: mode & 0o777 }).toEqual(before ?? { uid: 0, gid, mode: 0o644 });
});

test.skipIf(process.platform === "win32")(
  "a group that cannot be kept gets no more rights than everybody",
  async () => {
    await using folder = await temporaryFolder();
    await using handle = await open(join(folder.path, "file"), "wx", 0o600);
    handle.chown = () => Promise.reject(systemError("EPERM"));
    await giveRights(handle, { mode: 0o600, kept: { uid: 12, gid: 34, mode: 0o664 } });
    expect((await handle.stat()).mode & 0o777).toBe(0o644);
  },
);
