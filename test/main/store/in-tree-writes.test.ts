import { existsSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { findWorkTree } from "../../../main/git/git.ts";
import { noRescans, startTestDaemon, until } from "../../helpers/daemon.ts";
import { systemError, type WatchedFileSystem, watchFileSystem } from "../../helpers/file-system.ts";
import { git } from "../../helpers/git.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { saveByRename } from "../../helpers/shop.ts";
import { titleWith } from "../../helpers/skips.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";
import { startWorkTree } from "../../helpers/work-tree.ts";

const mainText = `{ "config": { "svc": { "timeout": 30, "domain": "main.test" } } }\n`;
const otherText = `{ "config": { "svc": { "timeout": 60, "refresh_day": 3 } } }\n`;

/** A work tree that has no git folder, so that its temporary files are beside its file. */
async function startTree(fileSystem: WatchedFileSystem) {
  const tree = await startWorkTree(mainText, { fileSystem });
  const history = async () => (await tree.t.owner.call("history/list", { repo: "site" })).result;
  return {
    ...tree,
    values: async () => (await tree.t.owner.call("config/list", { repo: "site", stored: true })).result,
    history: async () => (await history()).map(({ revision, source }) => `${revision} ${source}`),
  };
}

describe("a set in a work tree", () => {
  test("writes the log and the new text in parallel, then the history, and the file durably before the reply", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree(fileSystem);
    await tree.t.owner.call("file/read", { repo: "site" });
    fileSystem.calls.splice(0);
    await tree.t.owner.call("config/set", { repo: "site", "svc.timeout": 31 });
    expect(await readFile(tree.file, "utf8")).toBe(mainText.replace("30", "31"));
    const place = (path: string) =>
      path.includes("/log/") ? "log" : path.endsWith(".jsonl") ? "history" : path.endsWith(".tmp") ? "text" : "folder";
    const steps = fileSystem.calls
      .filter(({ operation }) => ["sync", "datasync", "rename"].includes(operation))
      .map(({ operation, path }) => `${place(path)} ${operation}`);
    // Neither waits for the other.
    expect(steps.splice(0, 2).sort()).toEqual(["log datasync", "text sync"]);
    // Without the last one, a power loss could take back what git was to see.
    expect(steps).toEqual(["history datasync", "text rename", "folder sync"]);
  });

  test("follows a branch that git checks out before the set is in the log, and changes only its own field of it", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree(fileSystem);
    fileSystem.before = async ({ operation, path }) => {
      if (operation !== "writeFile" || !path.endsWith(".tmp")) return;
      fileSystem.before = () => {};
      await saveByRename(tree.file, otherText);
    };
    const { errors } = await tree.t.owner.call("config/set", { repo: "site", "svc.timeout": 31 });
    expect(errors).toEqual([]);
    expect(await readFile(tree.file, "utf8")).toBe(otherText.replace("60", "31"));
    expect(await tree.values()).toEqual({ svc: { timeout: 31, refresh_day: 3 } });
    expect(await tree.history()).toEqual(["3 set", "2 file", "1 set"]);
  });

  test("is in the history but the file wins as a whole if git checks out another branch once the set is in the log", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree(fileSystem);
    let isInLog = false;
    fileSystem.after = ({ operation, path }) => {
      isInLog ||= operation === "datasync" && path.includes("/log/");
    };
    fileSystem.before = async ({ operation, path }) => {
      if (!isInLog || operation !== "rename" || !path.endsWith(".tmp")) return;
      fileSystem.before = () => {};
      await saveByRename(tree.file, otherText);
    };
    const { errors } = await tree.t.owner.call("config/set", { repo: "site", "svc.timeout": 31 });
    expect(errors).toEqual([]);
    expect(await readFile(tree.file, "utf8")).toBe(otherText);
    expect(await tree.values()).toEqual({ svc: { timeout: 60, refresh_day: 3 } });
    expect(await tree.history()).toEqual(["3 file", "2 set", "1 set"]);
    expect(await readdir(tree.folder)).toEqual([".repoconf.json"]);
  });

  test("leaves nothing beside the file if it cannot be written to the log", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree(fileSystem);
    fileSystem.before = ({ operation, path }) => {
      if (operation === "write" && path.includes("/log/")) throw systemError("ENOSPC");
    };
    const { errors } = await tree.t.owner.call("config/set", { repo: "site", "svc.timeout": 31 });
    expect(errors).toMatchObject([{ code: 1108 }]);
    fileSystem.before = () => {};
    // The reply does not wait for this.
    await until(async () => (await readdir(tree.folder)).length === 1, "the new text to be deleted");
    expect(await readFile(tree.file, "utf8")).toBe(mainText);
  });
});

/** A repository with one commit. */
async function makeRepository(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await git(folder, "init", "--quiet");
  await git(folder, "commit", "--quiet", "--allow-empty", "-m", "first");
}

/** Creates work trees below the folder `above`, and returns the folder of the in-tree file. */
const trees: { readonly [kind: string]: (above: string) => Promise<string> } = {
  "a work tree": async above => {
    await makeRepository(join(above, "tree"));
    return join(above, "tree");
  },
  "a folder in a work tree": async above => {
    await makeRepository(join(above, "tree"));
    await mkdir(join(above, "tree/packages/shop"), { recursive: true });
    return join(above, "tree/packages/shop");
  },
  "a linked worktree": async above => {
    await makeRepository(join(above, "main"));
    await git(join(above, "main"), "worktree", "add", "--quiet", "../linked");
    return join(above, "linked");
  },
  "a submodule": async above => {
    await makeRepository(join(above, "inner"));
    await makeRepository(join(above, "outer"));
    await git(join(above, "outer"), "submodule", "--quiet", "add", join(above, "inner"), "inner");
    return join(above, "outer/inner");
  },
};
const isTemporary = (path: string) => /\.repoconf\.json\.[0-9a-f]+\.tmp$/.test(path);

test.each(Object.entries(trees))("git never sees the temporary file of a set in %s", async (_kind, makeTree) => {
  await using above = await temporaryFolder();
  const tree = await makeTree(above.path);
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ ...noRescans, fileSystem });
  await t.owner.call("repo/add", { id: "t", name: "t", path: tree, inTree: true });
  const seen: string[] = [];
  let written = 0;
  fileSystem.before = async ({ operation, path }) => {
    if (operation !== "rename" || !isTemporary(path)) return;
    written++;
    expect(existsSync(path)).toBe(true);
    seen.push(await git(tree, "status", "--porcelain", "--untracked-files=all", "--ignored", "."));
  };
  for (const timeout of [1, 2])
    expect((await t.owner.call("config/set", { repo: "t", "svc.timeout": timeout })).errors).toEqual([]);
  expect(written).toBe(2);
  expect(seen.filter(status => status.includes(".tmp"))).toEqual([]);
  expect(await readFile(join(tree, ".repoconf.json"), "utf8")).toContain(`"timeout": 2`);
});

describe("a set in a work tree succeeds", () => {
  async function setWith(tree: string, before: (path: string, operation: string) => Promise<void>) {
    const fileSystem = watchFileSystem();
    await using t = await startTestDaemon({ ...noRescans, fileSystem });
    await t.owner.call("repo/add", { id: "t", name: "t", path: tree, inTree: true });
    const places = new Set<string>();
    fileSystem.before = async ({ operation, path }) => {
      if (!isTemporary(path)) return;
      await before(path, operation);
      if (operation === "rename") places.add(dirname(path));
    };
    const { result } = await t.owner.call("config/set", { repo: "t", flush: true, "svc.timeout": 7 });
    expect(result).toMatchObject([{ mirrored: true }]);
    expect(await timeoutOf(t, "t")).toBe(7);
    expect(await readFile(join(tree, ".repoconf.json"), "utf8")).toContain(`"timeout": 7`);
    expect((await readdir(tree)).filter(isTemporary)).toEqual([]);
    return places;
  }

  test.each([
    ["a work tree", "a work tree"],
    ["a folder without git", undefined],
  ])("in %s whose temporary file is deleted by someone else", async (_what, kind) => {
    await using above = await temporaryFolder();
    const tree = (await trees[kind ?? ""]?.(above.path)) ?? above.path;
    let taken = false;
    await setWith(tree, async (path, operation) => {
      if (operation !== "rename" || taken) return;
      taken = true;
      await unlink(path);
    });
    expect(taken).toBe(true);
  });

  test.each(["EACCES", "EROFS"])("by writing next to the file if git's folder fails with %s", async code => {
    await using above = await temporaryFolder();
    await makeRepository(above.path);
    const places = await setWith(above.path, async (path, operation) => {
      if (operation === "open" && dirname(path).endsWith("/.git")) throw Object.assign(systemError(code), { path });
    });
    expect([...places]).toEqual([above.path]);
  });

  test.each<[what: string, change: (tree: string) => Promise<unknown>]>([
    ["has disappeared", tree => rename(join(tree, ".git"), join(tree, "elsewhere"))],
    ["was moved out of the work tree", tree => git(tree, "init", "--quiet", "--separate-git-dir", `${tree}.git`, ".")],
  ])("by writing next to the file if git's folder %s since the last set", async (_what, change) => {
    await using above = await temporaryFolder();
    const tree = join(above.path, "tree");
    await makeRepository(tree);
    await using t = await startTestDaemon(noRescans);
    await t.owner.call("repo/add", { id: "t", name: "t", path: tree, inTree: true });
    await t.owner.call("config/set", { repo: "t", "svc.timeout": 1 });
    await change(tree);
    const { result } = await t.owner.call("config/set", { repo: "t", flush: true, "svc.timeout": 2 });
    expect(result).toMatchObject([{ mirrored: true }]);
    expect(await readFile(join(tree, ".repoconf.json"), "utf8")).toContain(`"timeout": 2`);
  });

  const otherDisk = "/dev/shm";
  const hasOther = existsSync(otherDisk) && statSync(otherDisk).dev !== statSync(tmpdir()).dev;
  const title = "by writing next to the file if git's folder is on another file system";
  test.skipIf(!hasOther)(titleWith(hasOther, otherDisk, title), async () => {
    const elsewhere = await mkdtemp(join(otherDisk, "repoconf-test-"));
    try {
      await using above = await temporaryFolder();
      await git(above.path, "init", "--quiet", "--separate-git-dir", join(elsewhere, "git"));
      expect([...(await setWith(above.path, async () => {}))]).toEqual([above.path]);
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  test.each<[what: string, point: (tree: string, stranger: string) => Promise<unknown>]>([
    ["names a folder without git", tree => writeFile(join(tree, ".git"), "gitdir: ..\n")],
    ["names another repository", (tree, other) => writeFile(join(tree, ".git"), `gitdir: ${join(other, ".git")}\n`)],
    [
      "names another repository's worktree",
      async (tree, other) => {
        await git(other, "worktree", "add", "--quiet", "../linked");
        await writeFile(join(tree, ".git"), `gitdir: ${join(other, ".git/worktrees/linked")}\n`);
      },
    ],
    ["is a link to another repository's", (tree, other) => symlink(join(other, ".git"), join(tree, ".git"))],
    [
      "names a link to another repository's",
      async (tree, other) => {
        await symlink(join(other, ".git"), join(tree, "inner"));
        await writeFile(join(tree, ".git"), "gitdir: inner\n");
      },
    ],
  ])("by writing only next to the file if .git %s", async (_what, point) => {
    await using above = await temporaryFolder();
    const [tree, stranger] = [join(above.path, "tree"), join(above.path, "stranger")];
    await makeRepository(stranger);
    await mkdir(tree);
    await point(tree, stranger);
    const writable = [above.path, join(stranger, ".git"), join(stranger, ".git/worktrees/linked")];
    const changed = () => writable.map(folder => statSync(folder, { throwIfNoEntry: false })?.mtimeMs);
    const before = changed();
    expect([...(await setWith(tree, async () => {}))]).toEqual([tree]);
    expect(changed()).toEqual(before);
    expect((await findWorkTree(tree))?.linked).toBe(undefined);
  });

  test("and an invented linked worktree does not belong to the repository that it names", async () => {
    await using above = await temporaryFolder();
    const [tree, stranger] = [join(above.path, "tree"), join(above.path, "stranger")];
    await makeRepository(stranger);
    await mkdir(join(tree, "inner"), { recursive: true });
    await writeFile(join(tree, ".git"), "gitdir: inner\n");
    await writeFile(join(tree, "inner/HEAD"), "ref: refs/heads/main\n");
    await writeFile(join(tree, "inner/gitdir"), "../.git\n");
    await writeFile(join(tree, "inner/commondir"), `${join(stranger, ".git")}\n`);
    expect([...(await setWith(tree, async () => {}))]).toEqual([join(tree, "inner")]);
    expect((await findWorkTree(tree))?.linked).toBe(undefined);
  });
});

test("a file in git's folder that only has the name of a temporary file is kept, and told", async () => {
  await using above = await temporaryFolder();
  await makeRepository(above.path);
  const left = join(above.path, ".git/.repoconf.json.0123456789ab.tmp");
  await writeFile(left, "{");
  await using t = await startTestDaemon(noRescans);
  await t.owner.call("repo/add", { id: "t", name: "t", path: above.path, inTree: true });
  const { findings } = (await t.owner.call("daemon/status")).result;
  expect(findings).toEqual([expect.objectContaining({ repo: "t", message: expect.stringContaining(left) })]);
  expect(existsSync(left)).toBe(true);
});
