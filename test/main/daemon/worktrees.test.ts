import { cp, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { foreignDisks } from "../../../main/files/foreign-disks.ts";
import { startTestDaemon, type TestClient, type TestDaemon, until } from "../../helpers/daemon.ts";
import { git } from "../../helpers/git.ts";
import { saveByRename } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const textOf = (domain: string, who = "") => {
  const envvars = who === "" ? {} : { envvars: [{ name: "WHO", value: who }] };
  return `${JSON.stringify({ config: { svc: { domain, ...envvars } } })}\n`;
};

describe("a linked worktree of an in-tree repository is one of its own, on its base", () => {
  let t: TestDaemon;
  let above: Awaited<ReturnType<typeof temporaryFolder>>;
  let at: (...names: string[]) => string;
  let tool: TestClient;
  let toolKey: string;

  const fileOf = (...names: string[]) => at(...names, ".repoconf.json");
  const find = async (...names: string[]) => (await t.owner.call("repo/find", { path: at(...names) })).result;
  const domain = async (path: string, client = t.owner) => {
    const { result, errors } = await client.call("config/list", { path, field: "svc.domain" });
    return errors[0]?.code ?? result["svc"]?.["domain"];
  };
  const ids = async (client = t.owner) => (await client.call("repo/list", {})).result.map(({ id }) => id);
  const link = async (name: string, value = name, who?: string) => {
    await git(at("main"), "worktree", "add", at(name));
    await writeFile(fileOf(name), textOf(`${value}.test`, who));
    return at(name);
  };

  beforeEach(async () => {
    above = await temporaryFolder();
    const folder = await realpath(above.path);
    at = (...names) => join(folder, ...names);
    t = await startTestDaemon();
    await mkdir(at("main"));
    await git(at("main"), "init");
    await writeFile(fileOf("main"), textOf("main.test", "main"));
    await git(at("main"), "add", "--all");
    await git(at("main"), "commit", "-m", "first");
    await t.owner.call("repo/add", { id: "main", name: "main", path: at("main") });
    const grants = [{ repos: ["main"], fields: ["svc.*"], right: "write" as const }];
    toolKey = (await t.owner.call("key/create", { name: "tool", grants })).result.key;
    tool = await t.connect(toolKey);
  });
  afterEach(async () => {
    await t[Symbol.asyncDispose]();
    await above[Symbol.asyncDispose]();
  });

  test("served with its own branch's values; a set writes its own file", async () => {
    const linked = await link("linked");
    expect(await domain(linked)).toBe("linked.test");
    expect(await find("linked")).toMatchObject({ name: "main@linked", base: "main", path: linked, inTree: true });
    const before = await readFile(fileOf("main"), "utf8");
    await t.owner.call("config/set", { path: linked, "svc.timeout": 7 });
    expect(JSON.parse(await readFile(fileOf("linked"), "utf8"))).toMatchObject({ config: { svc: { timeout: 7 } } });
    expect(await readFile(fileOf("main"), "utf8")).toBe(before);
    expect([await domain(at("main")), await ids()]).toEqual(["main.test", expect.arrayContaining(["main"])]);
    expect(await t.owner.call("repo/add", { name: "again", path: linked })).toMatchObject({ errors: [{ code: 1111 }] });
    const searched = async (query: string) =>
      (await t.owner.call("config/search", { query })).result.map(({ repo }) => repo).sort();
    expect([await searched("svc.timeout"), await searched("repo:*")]).toEqual([["main"], ["main"]]);
    for (const query of ["svc.timeout worktrees:yes", "worktrees:yes"])
      expect(await searched(query)).toEqual(["main", (await find("linked")).id].sort());
    const { errors } = await t.owner.call("config/search", { query: "worktrees:no" });
    expect(errors).toMatchObject([{ code: 1101, details: { instead: "worktrees:yes" } }]);
    const [scanned] = (await t.owner.call("repo/scan", { path: await link("fresh") })).result;
    expect(scanned).toMatchObject({ path: at("fresh"), repo: "main" });
  });

  test("each has the first number that is free when it is attached", async () => {
    await link("linked");
    const slotOf = async (name: string) => (await find(name)).linked?.slot;
    await link("second");
    expect([await slotOf("linked"), await slotOf("second"), await slotOf("main")]).toEqual([1, 2, undefined]);
    await t.owner.call("repo/remove", { repo: (await find("linked")).id });
    await t.restart();
    await link("third");
    expect([await slotOf("third"), await slotOf("second"), await slotOf("linked")]).toEqual([1, 2, 3]);
  });

  test("its branch may lack the folder that was added: then the nearest one counts that it has", async () => {
    await mkdir(at("main", "packages", "web"), { recursive: true });
    await writeFile(fileOf("main", "packages", "web"), textOf("web.test"));
    await t.owner.call("repo/add", { id: "web", name: "web", path: at("main", "packages", "web") });
    const linked = await link("linked");
    expect(await domain(join(linked, "packages", "web", "src"))).toBe("linked.test");
    await mkdir(join(linked, "packages", "web"), { recursive: true });
    await writeFile(fileOf("linked", "packages", "web"), textOf("linked-web.test"));
    expect(await find("linked", "packages", "web", "src")).toMatchObject({ base: "web", name: "web@linked" });
  });

  test("a key that may read the base attaches it and has the base's rights; no other path is read for it", async () => {
    const linked = await link("main/inside", "inside");
    const { key } = (
      await t.owner.call("key/create", { name: "no", grants: [{ repos: ["x"], fields: ["*"], right: "write" }] })
    ).result;
    const stranger = await t.connect(key);
    await find("main");
    const asked = vi.spyOn(foreignDisks, "ask");
    expect(await domain(linked, stranger)).toBe(1102);
    expect(asked).not.toHaveBeenCalled();
    await mkdir(at("elsewhere"));
    expect(await domain(at("elsewhere"), tool)).toBe(1102);
    for (const [folder] of asked.mock.calls) expect(folder.startsWith(at("main"))).toBe(true);
    expect(await domain(linked, tool)).toBe("inside.test");
    const { errors } = await tool.call("config/set", { path: linked, "svc.timeout": 7 });
    expect([errors, (await ids(tool)).length, await ids(stranger)]).toEqual([[], 2, []]);
    expect(await readFile(fileOf("main"), "utf8")).not.toContain("timeout");
    // Also in the next run, whose index may be gone.
    for (const lose of [false, true]) {
      await t.daemon.close();
      if (lose) await rm(join(t.homeFolder, "index.json"));
      await t.restart();
      tool = await t.connect(toolKey);
      expect([await domain(linked, tool), (await ids(tool)).length]).toEqual(["inside.test", 2]);
    }
  });

  test("what a person has accepted counts in all work trees, and forgetting in one takes it from none", async () => {
    const waiting = async (repo: string) => (await t.owner.call("trust/list", { repo })).result;
    const who = async (path: string) =>
      (await t.owner.call("config/list", { path, field: "svc.envvars" })).result["svc"];
    await link("same", "same", "main");
    await link("other", "other", "theirs");
    const [same, other] = [(await find("same")).id, (await find("other")).id];
    const accept = async (repo: string) => {
      const [{ hash = "" } = {}] = await waiting(repo);
      await t.owner.call("trust/accept", { repo, field: "svc.envvars", hash });
    };
    await accept("main");
    expect([await waiting("main"), await waiting(same), (await waiting(other)).length]).toEqual([[], [], 1]);
    expect(await who(at("same"))).toEqual({ envvars: [{ name: "WHO", value: "main" }] });
    await accept(other);
    await saveByRename(fileOf("main"), textOf("main.test", "theirs"));
    await t.owner.call("file/read", { repo: "main" });
    expect([await waiting("main"), await who(at("main"))]).toEqual([
      [],
      { envvars: [{ name: "WHO", value: "theirs" }] },
    ]);
    await t.owner.call("history/forget", { repo: same, field: "svc.envvars" });
    await t.restart();
    expect([await waiting("main"), await waiting(same), await waiting(other)]).toEqual([[], [], []]);
  });

  test("its own local values count first, then those of its base, which it reads and never writes", async () => {
    const linked = await link("linked");
    const [{ id }, local] = [await find("linked"), (repo: string) => join(t.homeFolder, "local", `${repo}.json`)];
    const set = async (args: object, client = t.owner) => {
      const { result, errors } = await client.call("config/set", { flush: true, ...args });
      expect(errors).toEqual([]);
      return result[0];
    };
    const timeout = async (path = linked) =>
      (await t.owner.call("config/list", { path, field: "svc.timeout" })).result["svc"]?.["timeout"];
    const own = async (repo: string) => JSON.parse(await readFile(local(repo), "utf8")).config.svc;
    await set({ path: linked, "svc.timeout": 7 });
    await set({ repo: "main", "svc.timeout": 5, layer: "local" });
    expect([await timeout(), await timeout(at("main"))]).toEqual([5, 5]);
    expect(await set({ path: linked, "svc.timeout": 8, layer: "shared" })).toMatchObject({
      config: { svc: { timeout: { shadowedBy: "base" } } },
    });
    const { result } = await t.owner.call("config/explain", { path: linked, field: "svc.timeout" });
    const base = { layer: "base", of: "main", file: local("main") };
    expect(result).toMatchObject({ value: 5, ...base, layers: [base, { layer: "shared", value: 8 }] });
    // A shell asks again when the base's local values change.
    const hook = (await t.owner.call("config/hook", { path: linked, shell: "bash" })).result;
    expect(hook).toContain(local("main"));
    const before = await readFile(local("main"), "utf8");
    expect(await set({ path: linked, "svc.timeout": 6 })).toMatchObject({
      config: { svc: { timeout: { value: 6, layer: "local" } } },
    });
    expect([await timeout(), await timeout(at("main")), await own(id)]).toEqual([6, 5, { timeout: 6 }]);
    const { layers } = await t.owner.call("config/list", { repo: id, layers: true });
    const seen = [layers?.shared["svc"]?.["timeout"], layers?.base?.["svc"], layers?.local?.["svc"]];
    expect(seen).toEqual([8, { timeout: 5 }, { timeout: 6 }]);
    // What it takes back or forgets is its own.
    await t.owner.call("history/restore", { repo: id, to: 1 });
    await t.owner.call("history/forget", { repo: id, field: "svc.timeout" });
    expect([await timeout(), await readFile(local("main"), "utf8")]).toEqual([5, before]);
    expect((await t.owner.call("config/list", { repo: "main", revision: 2 })).result["svc"]?.["timeout"]).toBe(5);
    // A list that is merged by names: only what it changes becomes its own.
    const item = (name: string, value: string) => ({ name, value });
    await set({ path: linked, "svc.envvars": [item("A", "1"), item("B", "2")] });
    await set({ repo: "main", "svc.envvars": [item("A", "base"), item("C", "base")], layer: "local" });
    await set({ path: linked, "svc.envvars": [item("A", "base"), item("B", "3"), item("C", "mine")] });
    const lists = (await t.owner.call("config/list", { repo: id, layers: true })).layers;
    const listOf = (one: "shared" | "local") => lists?.[one]?.["svc"]?.["envvars"];
    expect([listOf("shared"), listOf("local")]).toEqual([[item("A", "1"), item("B", "3")], [item("C", "mine")]]);
    await t.owner.call("repo/remove", { repo: id });
    // Without temporary files, one of which may be there for the moment of a write.
    const files = (await readdir(join(t.homeFolder, "local"))).filter(name => !name.endsWith(".tmp"));
    expect(files).toEqual(["main.json"]);
    const removed = await readdir(join(t.homeFolder, "removed"));
    expect(removed.filter(name => name.startsWith(`${id}.local.`))).toHaveLength(1);
    expect([await timeout(at("main")), await timeout()]).toEqual([5, 5]);
    expect((await t.owner.call("config/list", { path: linked, layers: true })).layers).not.toHaveProperty("local");
  });

  test("a change of the base's local values is the next revision of each worktree whose values count", async () => {
    const folders = [await link("one"), await link("two")];
    const worktrees = [(await find("one")).id, (await find("two")).id];
    await t.owner.call("config/set", { path: folders[1], "svc.timeout": 9, layer: "local" });
    const revisions = async () => {
      const { result } = await t.owner.call("repo/list", {});
      return worktrees.map(id => result.find(one => one.id === id)?.revision ?? 0);
    };
    for (const [restarts, value] of [5, 6].entries()) {
      if (restarts > 0) await t.restart();
      const before = await revisions();
      const client = await t.connect();
      for (const [index, repo] of worktrees.entries())
        await client.call("config/watch", { repo, since: before[index] ?? 0 });
      await client.call("config/set", { repo: "main", "svc.timeout": value, layer: "local" });
      const previous = restarts > 0 ? 5 : 900;
      const changed = {
        revision: (before[0] ?? 0) + 1,
        changes: { svc: { timeout: { value, previous, stored: true } } },
      };
      const told = (repo: string) => client.events.filter(([, , one]) => "repo" in one && one.repo === repo);
      await until(() => told(worktrees[0] ?? "").length > 0, "the event");
      expect(told(worktrees[0] ?? "")).toMatchObject([["config", "changed", changed]]);
      // The other one has a local value of its own, which still counts.
      expect(told(worktrees[1] ?? "")).toEqual([]);
      expect(await revisions()).toEqual(before.map(revision => revision + 1));
      const late = await t.connect();
      await late.call("config/watch", { repo: worktrees[0] ?? "", since: before[0] ?? 0 });
      await until(() => late.events.length > 0, "the catch-up");
      expect(late.events).toMatchObject([["config", "changed", changed]]);
    }
    const { result } = await t.owner.call("history/list", { repo: worktrees[0] ?? "" });
    expect(result.slice(0, 2)).toMatchObject([{ layer: "base" }, { layer: "base" }]);
  });

  test("moved with git, and detached when git lists it no more", async () => {
    await link("linked");
    const { id } = await find("linked");
    await git(at("main"), "worktree", "move", at("linked"), at("moved"));
    expect(await find("moved")).toMatchObject({ id, path: at("moved") });
    // Without a request from inside too.
    await git(at("main"), "worktree", "move", at("moved"), at("again"));
    const pathOf = async () => (await t.owner.call("repo/list", { repo: id })).result[0]?.path;
    await until(async () => (await pathOf()) === at("again"), "the move");
    // While the base cannot be seen, as if its disk were not mounted, nothing is concluded.
    await rename(at("main"), at("away"));
    await rename(at("again"), at("gone"));
    await until(async () => (await t.owner.call("repo/list", { repo: id })).result[0]?.health.length === 1, "the loss");
    await t.restart();
    expect(await ids()).toContain(id);
    await rename(at("away"), at("main"));
    await git(at("main"), "worktree", "prune");
    await t.restart();
    await until(async () => !(await ids()).includes(id), "the detachment");
    // Made again under the same name, it is a new one.
    await git(at("main"), "worktree", "add", at("linked"), "linked");
    expect((await find("linked")).id).not.toBe(id);
    await t.owner.call("repo/remove", { repo: "main" });
    expect(await ids()).toEqual([]);
  });

  test("ten worktrees with sets at once while branches are switched keep their own values", async () => {
    const names = Array.from({ length: 10 }, (_, index) => `w${index}`);
    for (const name of names) await link(name);
    await Promise.all(
      names.map(async (name, index) => {
        await t.owner.call("config/set", { path: at(name), "svc.timeout": index });
        await git(at(name), "add", "--all");
        await git(at(name), "commit", "-m", name);
        await git(at(name), "checkout", "-b", `other-${name}`);
        await t.owner.call("config/set", { path: at(name), "svc.timeout": 100 + index });
        await git(at(name), "commit", "-a", "-m", "more");
        await git(at(name), "checkout", name);
      }),
    );
    for (const [index, name] of names.entries()) {
      expect(JSON.parse(await readFile(fileOf(name), "utf8")).config.svc).toEqual({
        domain: `${name}.test`,
        timeout: index,
      });
      expect(await git(at(name), "status", "--porcelain")).toBe("");
      const timeout = async () => (await t.owner.call("config/list", { path: at(name), field: "svc.timeout" })).result;
      await until(async () => (await timeout())["svc"]?.["timeout"] === index, `the value of ${name}`);
    }
  });

  test("a moved in-tree repository is recognized by its mark and not added again; a copy beside it is another one", async () => {
    await rename(at("main"), at("main-2"));
    const { errors } = await t.owner.call("repo/find", { path: at("main-2") });
    expect(errors).toMatchObject([{ code: 1102, repo: "main" }]);
    expect(errors[0]?.message).toContain(`repoconf repo move main ${at("main-2")}`);
    const add = (path: string, id?: string) =>
      t.owner.call("repo/add", { name: "x", path, ...(id !== undefined && { id }) });
    expect((await add(at("main-2"))).errors).toMatchObject([{ code: 1111, repo: "main" }]);
    await t.owner.call("repo/update", { repo: "main", path: at("main-2") });
    expect(await domain(at("main-2"))).toBe("main.test");
    await cp(at("main-2"), at("copy"), { recursive: true });
    expect((await t.owner.call("repo/find", { path: at("copy") })).errors).toEqual([
      expect.objectContaining({ code: 1102, message: expect.stringContaining("is in no repository") }),
    ]);
    expect((await add(at("copy"))).errors).toEqual([]);
    expect((await add(at("copy"))).errors).toMatchObject([{ code: 1111 }]);
  });
});
