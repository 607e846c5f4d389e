import { lstat, readdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DurableTextFile } from "../../../main/files/durable-text-file.ts";
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
