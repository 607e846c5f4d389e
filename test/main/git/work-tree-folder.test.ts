import { mkdir, readdir, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { type FolderIdentity, realFileSystem } from "../../../main/files/file-system.ts";
import { WorkTreeFolder } from "../../../main/git/work-tree-folder.ts";
import { noRescans, startTestDaemon, until } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { healthOf } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const disk: FolderIdentity = { device: 2, inode: 2, created: 10, isMount: true };
/** The outermost folder of another disk. */
const other: FolderIdentity = { ...disk, created: 20 };
const below: FolderIdentity = { device: 1, inode: 7, created: 5, isMount: false };

/** A folder whose identity the test chooses; its disk was mounted when the daemon last ran. */
function mountPoint(path: string) {
  const state: { now: FolderIdentity | undefined } = { now: disk };
  const fileSystem = { ...realFileSystem, identityOf: async () => state.now, identityNow: () => state.now };
  const { device: _, ...recorded } = disk;
  const folder = new WorkTreeFolder({ id: "site", path, pointer: "", fileSystem, recorded, isChosen: false });
  return { state, folder };
}

const unknown = "may be another folder";

test.each([
  ["mounted", disk, disk, undefined],
  ["not mounted", below, below, unknown],
  ["on another disk", other, other, unknown],
  ["mounted while it is read", below, disk, unknown],
  ["unmounted while it is read", disk, below, unknown],
  ["deleted while it is read", disk, undefined, "does not exist"],
  ["created while it is read", undefined, disk, unknown],
])("a folder without the file that is %s", async (_title, before, after, problem) => {
  await using temporary = await temporaryFolder();
  const { state, folder } = mountPoint(temporary.path);
  state.now = before;
  const found = await folder.read(async () => {
    state.now = after;
    return false;
  });
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(problem);
});

test("a set creates no file if the disk of the work tree is unmounted right before it", async () => {
  await using above = await temporaryFolder();
  const folder = join(above.path, "site");
  await mkdir(folder);
  let isMounted = true;
  const at = (identity: FolderIdentity | undefined) => identity && { ...identity, device: isMounted ? 2 : 1 };
  const fileSystem = watchFileSystem();
  const identityOf = async (path: string) => at(await realFileSystem.identityOf(path));
  const identityNow = (path: string) => at(realFileSystem.identityNow(path));
  fileSystem.before = async ({ operation, path }) => {
    if (operation === "writeFile" && path.endsWith(".tmp") && path.includes(".repoconf.json")) isMounted = false;
  };
  await using t = await startTestDaemon({
    fileSystem: Object.assign(fileSystem, { identityOf, identityNow }),
    ...noRescans,
  });
  await t.owner.call("repo/add", { id: "site", name: "site", path: folder, inTree: true });
  const { errors } = await t.owner.call("config/set", { repo: "site", "svc.timeout": 31 });
  expect(errors).toMatchObject([{ code: 1106 }]);
  expect(await readdir(folder)).toEqual([]);
});

/* Unmounting a work tree's disk leaves an empty folder on another disk, which must not count as a branch without the file. */

async function startMountedTree(timeout: number | undefined, rescanInterval = 50) {
  const above = await temporaryFolder();
  const folder = join(above.path, "site");
  const file = join(folder, ".repoconf.json");
  await mkdir(folder);
  let device = 1;
  let checks = 0;
  const onDisk = (identity: FolderIdentity | undefined) => identity && { ...identity, device };
  const identityOf = async (path: string) => {
    checks += 1;
    return onDisk(await realFileSystem.identityOf(path));
  };
  const identityNow = (path: string) => onDisk(realFileSystem.identityNow(path));
  const t = await startTestDaemon({
    fileSystem: { ...realFileSystem, identityOf, identityNow },
    rescanInterval,
  });
  const put = async (value: number | undefined) => {
    if (value === undefined) await unlink(file).catch(() => {});
    else await writeFile(file, `{ "config": { "svc": { "timeout": ${value} } } }`);
  };
  await put(timeout);
  expect((await t.owner.call("repo/add", { id: "site", name: "site", path: folder, inTree: true })).errors).toEqual([]);
  expect(await timeoutOf(t, "site")).toBe(timeout ?? 900);
  return {
    t,
    folder,
    /** Simulates a mount or an unmount: the folder is on this disk, with this value in its file or without a file. */
    mount: async (next: number, value: number | undefined) => {
      device = next;
      await put(value);
    },
    set: async (value: number) => {
      const { errors } = await t.owner.call("config/set", { repo: "site", "svc.timeout": value });
      return errors.map(({ code }) => code);
    },
    /** Resolves when nothing has checked the folder for a while. */
    quiet: async () => {
      for (let before = -1; before !== checks; ) {
        before = checks;
        await delay(200);
      }
    },
    [Symbol.asyncDispose]: async () => {
      await t[Symbol.asyncDispose]();
      await above[Symbol.asyncDispose]();
    },
  };
}

test("a set in a work tree without the file creates none if its disk was unmounted", async () => {
  await using tree = await startMountedTree(undefined, 3_600_000);
  // The watch has started, and the check after its start is done.
  await tree.mount(1, 30);
  await until(async () => (await timeoutOf(tree.t, "site")) === 30, "the file to be seen");
  await tree.mount(1, undefined);
  await until(async () => (await timeoutOf(tree.t, "site")) === 900, "the file to be deleted");
  await tree.quiet();
  // Right before the set, so that only the set itself checks the folder.
  const mounted = tree.mount(2, undefined);
  expect(await tree.set(31)).toEqual([1106]);
  await mounted;
  expect(await readdir(tree.folder)).toEqual([]);
  await tree.mount(1, undefined);
  expect(await tree.set(31)).toEqual([]);
  expect(await readdir(tree.folder)).toEqual([".repoconf.json"]);
});

test("a work tree mounted from another disk with its file is accepted, and its file may then be deleted", async () => {
  await using tree = await startMountedTree(30);
  await tree.mount(2, 40);
  await until(async () => (await timeoutOf(tree.t, "site")) === 40, "the other disk's values");
  expect(await tree.set(41)).toEqual([]);
  await tree.mount(2, undefined);
  await until(async () => (await timeoutOf(tree.t, "site")) === 900, "the file to be deleted");
  expect(await healthOf(tree.t, "site")).toEqual([]);
});
