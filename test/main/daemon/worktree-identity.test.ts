import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../helpers/daemon.ts";
import { git } from "../../helpers/git.ts";
import { startWithWorktrees, treeTextOf } from "../../helpers/linked-worktrees.ts";

/*
 * A folder is nobody by its path alone (docs/worktrees.md): another one may be there by now. Local values, trust and grants are for the
 * folder that git's own files name.
 */

test.each([false, true])(
  "a stranger's folder in the place of a removed linked worktree has nothing of it (the daemon was away: %s)",
  async wasAway => {
    await using w = await startWithWorktrees();
    const { t, at } = w;
    const id = await w.link("linked", "main");
    await w.setLocal("linked", 7);
    expect(await w.values("linked")).toEqual(["linked.test", 7]);
    if (wasAway) await t.daemon.close();
    await rm(at("linked"), { recursive: true });
    // With a value that the base trusts.
    await w.makeClone("linked", treeTextOf("stranger.test", "main"));
    if (wasAway) await t.restart();
    const text = await readFile(at("linked", ".repoconf.json"), "utf8");
    for (const client of [await w.tool(), t.owner]) {
      const set = () => client.call("config/set", { path: at("linked"), "svc.timeout": 8 });
      expect([await w.values("linked", client), (await set()).errors]).toMatchObject([1102, [{ code: 1102 }]]);
      expect((await client.call("repo/find", { path: at("linked") })).errors).toMatchObject([{ code: 1102 }]);
    }
    expect((await t.owner.call("config/hook", { path: at("linked"), shell: "bash" })).result).not.toContain("WHO");
    // Nor is its file read or written under the worktree's id.
    expect((await t.owner.call("config/set", { repo: id, "svc.timeout": 8, layer: "shared" })).errors).toMatchObject([
      { code: 1106 },
    ]);
    const [entry] = (await t.owner.call("repo/list", { repo: id })).result;
    expect(entry?.health).toMatchObject([{ code: 1106, noFolder: true }]);
    expect([await readFile(at("linked", ".repoconf.json"), "utf8"), await readdir(at("linked", ".git"))]).toEqual([
      text,
      expect.not.arrayContaining([expect.stringContaining("repoconf")]),
    ]);
    const [found] = (await t.owner.call("repo/scan", { path: at("linked") })).result;
    expect(found).toEqual({ path: at("linked"), name: "linked" });
    // Git still lists the worktree, so it is not detached. The folder can be added as what it is.
    expect((await t.owner.call("repo/add", { id: "stranger", name: "stranger", path: at("linked") })).errors).toEqual(
      [],
    );
    expect([await w.ids(), await w.values("linked")]).toEqual([
      [id, "main", "stranger"].sort(),
      ["stranger.test", 900],
    ]);
    await rm(at("linked"), { recursive: true });
    await git(at("main"), "worktree", "prune");
    await t.restart();
    await until(async () => !(await w.ids()).includes(id), "the detachment");
    expect(await readdir(join(t.homeFolder, "removed"))).toContainEqual(expect.stringContaining(`${id}.local.`));
  },
);

test.each([false, true])(
  "a stranger's clone in the place of a main work tree is nobody until a person says that it is the one (the daemon was away: %s)",
  async wasAway => {
    await using w = await startWithWorktrees();
    const { t, at } = w;
    await w.setLocal("main", 7);
    expect(await w.values("main")).toEqual(["main.test", 7]);
    if (wasAway) await t.daemon.close();
    await rename(at("main"), at("away"));
    await w.makeClone("main", treeTextOf("stranger.test", "main"));
    if (wasAway) await t.restart();
    const text = await readFile(at("main", ".repoconf.json"), "utf8");
    await git(at("main"), "worktree", "add", at("theirs"));
    for (const client of [await w.tool(), t.owner])
      for (const name of ["theirs", "main"]) expect([name, await w.values(name, client)]).toEqual([name, 1102]);
    expect(await w.ids()).toEqual(["main"]);
    const { errors } = await t.owner.call("repo/find", { path: at("main") });
    expect(errors).toMatchObject([{ repo: "main", message: expect.stringContaining(`repo move main ${at("main")}`) }]);
    expect((await t.owner.call("repo/add", { id: "x", name: "x", path: at("main") })).errors).toMatchObject([
      { code: 1111, message: expect.stringContaining(`repo move main ${at("main")}`) },
    ]);
    expect((await t.owner.call("config/set", { repo: "main", "svc.domain": "x.test" })).errors).toMatchObject([
      { code: 1106 },
    ]);
    expect(await readFile(at("main", ".repoconf.json"), "utf8")).toBe(text);
    // Where it has moved to, it is recognized.
    expect((await t.owner.call("repo/find", { path: at("away") })).errors).toMatchObject([
      { repo: "main", message: expect.stringContaining(`repo move main ${at("away")}`) },
    ]);
    await t.owner.call("repo/update", { repo: "main", path: at("main") });
    expect(await w.values("main")).toEqual(["stranger.test", 7]);
    await t.restart();
    expect(await w.values("main")).toEqual(["stranger.test", 7]);
  },
);

test("the entry of a linked worktree cannot be moved to a folder that is not that worktree", async () => {
  await using w = await startWithWorktrees();
  const { t, at } = w;
  const [id, other] = [await w.link("linked"), await w.link("other")];
  await w.makeClone("stranger", treeTextOf("stranger.test"));
  await git(at("main"), "worktree", "add", at("fresh"));
  const move = async (name: string, repo = id) => {
    const { errors } = await t.owner.call("repo/update", { repo, path: at(name) });
    return errors[0]?.code;
  };
  for (const name of ["stranger", "other", "fresh", "main"]) expect([name, await move(name)]).toEqual([name, 1101]);
  await git(at("main"), "worktree", "move", at("linked"), at("moved"));
  expect([await move("moved"), await w.values("moved")]).toEqual([undefined, ["linked.test", 900]]);
  expect([await move("moved", other), (await w.find("other")).id]).toEqual([1101, other]);
});

test.each([false, true])(
  "worktrees that change places keep their local values, by git's name of each (the daemon was away: %s)",
  async wasAway => {
    await using w = await startWithWorktrees();
    const { t, at } = w;
    const ids = { one: await w.link("one"), two: await w.link("two") };
    await w.setLocal("one", 1);
    await w.setLocal("two", 2);
    const swaps = {
      git: async () => {
        const move = (from: string, to: string) => git(at("main"), "worktree", "move", at(from), at(to));
        await move("one", "three");
        await move("two", "one");
        await move("three", "two");
      },
      hand: async () => {
        await rename(at("one"), at("three"));
        await rename(at("two"), at("one"));
        await rename(at("three"), at("two"));
        await git(at("main"), "worktree", "repair", at("one"), at("two"));
      },
    };
    for (const [index, swap] of [swaps.git, swaps.hand].entries()) {
      if (wasAway) await t.daemon.close();
      await swap();
      if (wasAway) await t.restart();
      const [first, second] = index === 0 ? (["two", "one"] as const) : (["one", "two"] as const);
      const tool = await w.tool();
      for (const client of index === 0 ? [tool, t.owner] : [t.owner, tool]) {
        expect(await w.values(first, client)).toEqual(["one.test", 1]);
        expect(await w.values(second, client)).toEqual(["two.test", 2]);
      }
      expect(await w.find(first)).toMatchObject({ id: ids.one, path: at(first), linked: { name: "one", slot: 1 } });
      expect(await w.find(second)).toMatchObject({ id: ids.two, path: at(second), linked: { name: "two", slot: 2 } });
    }
  },
);

test.each(["by its path", "by its id", "in a restart"])(
  "a worktree that is removed and made again at once, under its name, in its place, is a new one (noticed %s)",
  async how => {
    await using w = await startWithWorktrees();
    const { t, at } = w;
    const id = await w.link("linked");
    await w.setLocal("linked", 7);
    if (how === "in a restart") await t.daemon.close();
    await git(at("main"), "worktree", "remove", "--force", at("linked"));
    await git(at("main"), "worktree", "add", at("linked"), "linked");
    await writeFile(at("linked", ".repoconf.json"), treeTextOf("again.test"));
    if (how === "in a restart") await t.restart();
    if (how === "by its id") {
      await t.owner.call("file/read", { repo: id });
      await until(async () => !(await w.ids()).includes(id), "the detachment");
    }
    expect(await w.values("linked", await w.tool())).toEqual(["again.test", 900]);
    const { id: next, linked } = await w.find("linked");
    expect([next === id, linked?.slot, await w.ids()]).toEqual([false, 1, ["main", next].sort()]);
    expect(await readdir(join(t.homeFolder, "removed"))).toContainEqual(expect.stringContaining(`${id}.local.`));
    expect(await readdir(join(t.homeFolder, "local"))).toEqual([]);
  },
);
