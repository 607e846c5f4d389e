import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type FolderIdentity, realFileSystem } from "../../../main/files/file-system.ts";
import { WorkTreeFolder } from "../../../main/git/work-tree-folder.ts";
import { noRescans, startTestDaemon } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
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
