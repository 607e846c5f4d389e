import { cp, mkdir, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { foreignDisks } from "../../../main/files/foreign-disks.ts";
import { startTestDaemon, type TestClient, type TestDaemon } from "../../helpers/daemon.ts";
import { git } from "../../helpers/git.ts";
import { post, socketOf } from "../../helpers/one-shot.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** Starts a repository with a commit. */
async function makeClone(folder: string, ...more: readonly string[]): Promise<string> {
  await mkdir(folder, { recursive: true });
  await git(folder, "init", ...more);
  await git(folder, "commit", "--allow-empty", "-m", "first");
  return folder;
}

describe("which repository contains a folder, by git's own files (repo/find)", () => {
  let t: TestDaemon;
  let above: Awaited<ReturnType<typeof temporaryFolder>>;
  let at: (...names: string[]) => string;
  const add = (id: string, path: string) => t.owner.call("repo/add", { id, name: id, path, inTree: false });
  const find = async (path: string, client: TestClient = t.owner) => {
    const { result, errors } = await client.call("repo/find", { path });
    return errors.length > 0 ? errors[0]?.code : result.id;
  };

  beforeAll(async () => {
    above = await temporaryFolder();
    const folder = await realpath(above.path);
    at = (...names) => join(folder, ...names);
    t = await startTestDaemon();
    const main = await makeClone(at("main"));
    const library = await makeClone(at("library"));
    await git(main, "submodule", "add", library, "submodule");
    await git(main, "commit", "-m", "submodule");
    await mkdir(at("main", "packages", "web", "src"), { recursive: true });
    await makeClone(at("main", "nested"));
    await makeClone(at("main", "added"));
    await git(main, "worktree", "add", at("linked"));
    await git(main, "worktree", "add", at("main", ".worktrees", "inside"));
    await git(main, "worktree", "add", at("own"));
    await mkdir(at("linked", "packages", "web"), { recursive: true });
    await git(at("main", "submodule"), "worktree", "add", at("of-submodule"));
    await git(main, "clone", "--bare", library, at("main", "bare.git"));
    await git(at("main", "bare.git"), "worktree", "add", at("of-bare"));
    await git(at("library"), "clone", "--bare", library, at("container", ".bare"));
    await writeFile(at("container", ".git"), "gitdir: ./.bare\n");
    await git(at("container"), "worktree", "add", at("container", "one"));
    await makeClone(at("separate"), "--separate-git-dir", at("separate.git"));
    // An unpacked archive whose file .git names a folder of git that is not its own.
    await mkdir(at("archive"));
    await cp(at("linked", ".git"), at("archive", ".git"));
    await git(main, "worktree", "add", at("moved-from"));
    await git(main, "worktree", "move", at("moved-from"), at("moved-to"));
    await mkdir(at("plain", "below"), { recursive: true });
    await symlink(at("plain"), at("link"));
    await symlink(at("main", "packages"), at("packages"));
    for (const id of ["main", "container", "separate", "plain", "own"]) await add(id, at(id));
    await add("web", at("main", "packages", "web"));
    await add("added", at("main", "added"));
  });
  afterAll(async () => {
    await t[Symbol.asyncDispose]();
    await above[Symbol.asyncDispose]();
  });

  test.each<[what: string, path: string, wanted: string | number]>([
    ["a work tree", "main", "main"],
    ["a folder in it", "main/packages", "main"],
    ["a folder that does not exist", "main/no/such/folder", "main"],
    ["a package that was added itself", "main/packages/web/src", "web"],
    ["a folder beside it, whose name begins as its name", "main/packages/web-2", "main"],
    ["a clone in another one", "main/nested", 1102],
    ["a clone in another one that was added", "main/added", "added"],
    ["a submodule", "main/submodule", 1102],
    ["git's own folder", "main/.git/worktrees", "main"],
    ["a linked worktree", "linked", "main"],
    ["a package in a linked worktree", "linked/packages/web", "web"],
    ["a linked worktree in its main one", "main/.worktrees/inside", "main"],
    ["a linked worktree that was added itself", "own", "own"],
    ["a linked worktree that was moved", "moved-to", "main"],
    ["a worktree of a submodule, whose superproject was added", "of-submodule", 1102],
    ["a worktree of a bare repository in another one", "of-bare", 1102],
    ["a container of worktrees", "container", "container"],
    ["a worktree in a container", "container/one", "container"],
    ["a work tree with its git folder elsewhere", "separate", "separate"],
    ["an archive with a .git that is not its own", "archive", 1102],
    ["a folder without git", "plain/below", "plain"],
    ["a link to it", "link/below", "plain"],
    ["a link into a work tree", "packages/web", "web"],
    ["a folder beside all of them", "elsewhere", 1102],
  ])("%s: %s", async (_what, path, wanted) => {
    expect(await find(at(path))).toBe(wanted);
    const listed = async (repo?: string) =>
      (await t.owner.call("repo/list", { path: at(path), ...(repo !== undefined && { repo }) })).result;
    expect((await listed()).map(({ id }) => id)).toEqual([wanted].filter(one => one !== 1102));
    expect(await listed("another")).toEqual([]);
  });

  test("the submodule's own repository, if that was added, also in a worktree of it", async () => {
    await add("submodule", at("main", "submodule"));
    expect([await find(at("main", "submodule")), await find(at("of-submodule"))]).toEqual(["submodule", "submodule"]);
    await t.owner.call("repo/remove", { repo: "submodule" });
    expect(await find(at("main", "submodule"))).toBe(1102);
  });

  test("a repository that was added by a link, by its real folder, also once the link leads elsewhere", async () => {
    for (const name of ["one", "two", "three"]) await mkdir(at("real", name), { recursive: true });
    await symlink(at("real", "one"), at("by-link"));
    await add("by-link", at("by-link"));
    await add("real", at("real"));
    expect([await find(at("real", "one")), await find(at("by-link")), await find(at("real"))]).toEqual([
      "by-link",
      "by-link",
      "real",
    ]);
    await rm(at("by-link"));
    await symlink(at("real", "two"), at("by-link"));
    expect([await find(at("real", "one")), await find(at("real", "two"))]).toEqual(["real", "by-link"]);
    await t.owner.call("repo/update", { repo: "by-link", path: at("real", "three") });
    expect([await find(at("real", "two")), await find(at("real", "three"))]).toEqual(["real", "by-link"]);
    await t.owner.call("repo/remove", { repo: "real" });
    await symlink(at("real", "one"), at("again"));
    await add("again", at("again"));
    await t.restart();
    expect(await find(at("real", "one"))).toBe("again");
    expect([await find(at("real", "two")), await find(at("real", "three"))]).toEqual([1102, "by-link"]);
  });

  test("any other key learns only of what it may see, and the disk is not asked for it", async () => {
    const tool = await t.connectWith([{ repos: ["main", "plain"], fields: ["svc.domain"], right: "read" }]);
    await find(at("main"));
    const asked = vi.spyOn(foreignDisks, "ask");
    const listed = async (path: string) => (await tool.call("repo/list", { path })).result.map(({ id }) => id);
    for (const seen of [at("main", "packages"), at("main", "packages", "web")])
      expect([await find(seen, tool), await listed(seen)]).toEqual(["main", ["main"]]);
    for (const hidden of ["container", "link", "linked", "packages/web", "elsewhere"])
      expect([await find(at(hidden), tool), await listed(at(hidden))]).toEqual([1102, []]);
    expect(asked).not.toHaveBeenCalled();
    const { errors } = await tool.call("repo/find", { path: at("container") });
    expect(errors[0]?.message).toContain(`${at("container")} is in no repository that this key may read`);
  });

  test("asks the disk as often for many repositories as for few", async () => {
    const asked = vi.spyOn(foreignDisks, "ask");
    const count = async () => {
      await find(at("main", "packages"));
      const before = asked.mock.calls.length;
      expect(await find(at("main", "packages"))).toBe("main");
      expect(await find(at("elsewhere"))).toBe(1102);
      return asked.mock.calls.length - before;
    };
    const few = await count();
    for (let index = 0; index < 60; index++) {
      await mkdir(at("many", `r${index}`), { recursive: true });
      await add(`r${index}`, at("many", `r${index}`));
    }
    expect(await count()).toBe(few);
    // Nor when the daemon first lists all of them.
    await t.restart();
    asked.mockClear();
    await find(at("main"));
    expect(asked.mock.calls.length).toBeLessThan(60);
  });

  test.runIf(process.platform !== "win32")(
    "a folder names the repository for operations on one, over both doors, and the reply says which",
    async () => {
      const path = at("main", "packages");
      const socketPath = await socketOf(t.homeFolder);
      const byPost = async (name: string, args: object) => (await post(socketPath, t.ownerKey, name, args)).reply;
      const bySocket = (name: string, args: object) => t.owner.emit("svc", ...name.split("/"), args);
      for (const ask of [bySocket, byPost]) {
        const field = "svc.timeout";
        const changed = [{ repo: "main" }];
        expect(await ask("config/set", { path, [field]: 7 })).toMatchObject({
          result: changed,
          repo: "main",
          errors: [],
        });
        const { revision = 0, ...list } = await ask("config/list", { path, field });
        expect(list).toEqual({ result: { svc: { timeout: 7 } }, repo: "main", errors: [] });
        // A linked worktree of a repository in the home has no values of its own, and a change there is for all work trees.
        const linked = at("linked", "packages");
        for (const [name, args, result] of [
          ["config/list", {}, { svc: { timeout: 7 } }],
          ["config/list", { path: linked, field }, { svc: { timeout: 7 } }],
          ["config/explain", { field }, { value: 7 }],
          ["config/unset", { fields: [field], revision }, changed],
          ["history/list", { field, limit: 1 }, [{ source: "unset" }]],
          ["history/restore", { to: revision }, changed],
        ] as const)
          expect(await ask(name, { path, ...args })).toMatchObject({ result, repo: "main", errors: [] });
        for (const [name, change] of [
          ["config/set", { "svc.timeout": 1 }],
          ["config/unset", { fields: ["svc.timeout"] }],
          ["history/restore", { to: revision }],
        ] as const)
          expect((await ask(name, { path: linked, ...change })).errors).toMatchObject([{ code: 1101, repo: "main" }]);
        expect((await ask("config/list", { path: at("linked"), repo: "main" })).errors).toMatchObject([{ code: 1101 }]);
        for (const name of ["config/list", "config/set"])
          expect((await ask(name, { path: at("elsewhere"), "svc.timeout": 1 })).errors).toMatchObject([{ code: 1102 }]);
      }
    },
  );

  test("a folder that is a work tree no more belongs to the one around it", async () => {
    await rename(at("main", "nested", ".git"), at("main", "nested", "git"));
    expect(await find(at("main", "nested"))).toBe("main");
  });
});
