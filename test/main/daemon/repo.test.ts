import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startTestDaemon } from "../../helpers/daemon.ts";

const t = await startTestDaemon();
const trees = await mkdtemp(join(tmpdir(), "repoconf-trees-"));
afterAll(async () => {
  await t[Symbol.asyncDispose]();
  await rm(trees, { recursive: true, force: true });
});

async function tree(name: string): Promise<string> {
  const folder = join(trees, name);
  await mkdir(folder, { recursive: true });
  return folder;
}

describe("repo/add", () => {
  test("returns the entry, with a new id of 24 hexadecimal digits, and writes a readable file", async () => {
    const { result, errors } = await t.owner.call("repo/add", { name: "Über die Brücke" });
    expect(errors).toEqual([]);
    expect(result).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      name: "Über die Brücke",
      inTree: false,
      revision: 1,
      modified: 0,
      health: [],
    });
    expect(JSON.parse(await t.readRepository(result.id))).toEqual({
      $schema: "../repository.schema.json",
      name: "Über die Brücke",
      config: {},
    });
  });

  test("accepts an id and a path, and resolves the path", async () => {
    await tree("resolved");
    const { result } = await t.owner.call("repo/add", { name: "a", id: "Mine-1_x", path: `${trees}/x/../resolved/` });
    expect(result).toMatchObject({ id: "Mine-1_x", path: join(trees, "resolved"), inTree: false });
    expect(JSON.parse(await t.readRepository("Mine-1_x"))).toMatchObject({ path: join(trees, "resolved") });
  });

  test("a folder that does not exist, or is a file, is neither added nor moved to", async () => {
    const repo = await t.addRepository();
    const file = join(await tree("with-a-file"), "file");
    await writeFile(file, "");
    const none = join(trees, "none");
    for (const [path, message] of [
      [none, `The folder ${none} does not exist.`],
      [file, `${file} is not a folder.`],
    ]) {
      expect((await t.owner.call("repo/add", { name: "a", path })).errors).toMatchObject([{ code: 1101, message }]);
      expect((await t.owner.call("repo/update", { repo, path })).errors).toMatchObject([{ code: 1101, message }]);
    }
  });

  test("in-tree keeps a pointer in the home, and the values and nothing else in the work tree", async () => {
    const path = await tree("in-tree");
    const { result } = await t.owner.call("repo/add", { name: "in-tree", path, inTree: true });
    expect(result).toMatchObject({ path, inTree: true, health: [] });
    expect(await readdir(path)).toEqual([]);
    await t.owner.call("config/set", { repo: result.id, "svc.timeout": 5 });
    expect(JSON.parse(await readFile(join(path, ".repoconf.json"), "utf8"))).toEqual({
      config: { svc: { timeout: 5 } },
    });
    expect(JSON.parse(await t.readRepository(result.id))).toEqual({ name: "in-tree", path, inTree: true });
  });

  test("without inTree, a folder is in-tree if it has the file, even an invalid one; false keeps the values in the home", async () => {
    const path = await tree("clone");
    await writeFile(join(path, ".repoconf.json"), '{ "config": { "svc": { "timeout": 41 } } }');
    const home = await t.owner.call("repo/add", { name: "home", path, inTree: false });
    expect(home).toMatchObject({ result: { inTree: false, modified: 0 }, errors: [] });
    await t.owner.call("repo/remove", { repo: home.result.id });
    for (const more of [{}, { inTree: null }]) {
      const { result, errors } = await t.owner.call("repo/add", { name: "clone", path, ...more });
      expect({ result, errors }).toMatchObject({ result: { inTree: true, modified: 1, health: [] }, errors: [] });
      const list = await t.owner.call("config/list", { repo: result.id, field: "svc.timeout" });
      expect(list.result).toEqual({ svc: { timeout: 41 } });
      await t.owner.call("repo/remove", { repo: result.id });
    }
    await writeFile(join(path, ".repoconf.json"), "{ oops");
    const broken = await t.owner.call("repo/add", { name: "broken", path });
    expect(broken).toMatchObject({ result: { inTree: true, health: [{ code: 1106 }] }, errors: [] });
    // Its programs get no defaults instead of the values that cannot be read.
    expect(await t.owner.call("config/list", { repo: broken.result.id })).toMatchObject({ errors: [{ code: 1106 }] });
    expect((await t.owner.call("repo/add", { name: "plain", path: await tree("plain") })).result.inTree).toBe(false);
  });

  test.each([
    ["a link", (path: string) => symlink("/dev/null", path), "a symbolic link"],
    ["a link to nothing", (path: string) => symlink("/no/such/file", path), "a symbolic link"],
    ["a folder", (path: string) => mkdir(path), "a folder"],
  ])("without inTree, %s in the place of the file gives 1101, and nothing is added", async (title, make, what) => {
    const path = await tree(`unusable-${title}`.replaceAll(" ", "-"));
    await rm(join(path, ".repoconf.json"), { recursive: true, force: true });
    await make(join(path, ".repoconf.json"));
    const before = (await t.owner.call("repo/list", { limit: 1000 })).result.length;
    expect(await t.owner.call("repo/add", { name: "n", path })).toMatchObject({
      result: null,
      errors: [{ code: 1101, message: expect.stringContaining(`is ${what}`) }],
    });
    expect((await t.owner.call("repo/list", { limit: 1000 })).result).toHaveLength(before);
    expect((await t.owner.call("repo/add", { name: "n", path, inTree: false })).errors).toEqual([]);
  });

  test("an id in use gives 1111, also in another case, which a file system may not distinguish, and so does a path, also through a link", async () => {
    const path = await tree("claimed");
    const link = join(trees, "link-to-claimed");
    await symlink(path, link);
    expect((await t.owner.call("repo/add", { name: "first", id: "In-use", path, inTree: true })).errors).toEqual([]);
    for (const args of [
      ...["In-use", "in-USE"].map(id => ({ id })),
      ...[path, link].flatMap(taken => [true, false].map(inTree => ({ id: "other", path: taken, inTree }))),
    ])
      expect(await t.owner.call("repo/add", { name: "second", ...args })).toMatchObject({
        result: null,
        errors: [{ code: 1111, name: "Already Exists", ...("path" in args && { repo: "In-use" }) }],
      });
  });

  test("exactly one of many concurrent adds with the same id wins", async () => {
    const adds = Array.from({ length: 10 }, () => t.owner.call("repo/add", { name: "n", id: "contested" }));
    const codes = (await Promise.all(adds)).map(({ errors }) => errors[0]?.code ?? 0).sort();
    expect(codes).toEqual([0, ...Array(9).fill(1111)]);
  });
});

describe("repo/update", () => {
  test("changes the name, the path or both, returns the entry, and leaves values and revision alone", async () => {
    const repo = await t.addRepository();
    await t.owner.call("config/set", { repo, "svc.timeout": 5 });
    const named = await t.owner.call("repo/update", { repo, name: "renamed" });
    expect(named).toMatchObject({ result: { id: repo, name: "renamed", revision: 2, modified: 1 }, errors: [] });
    expect(named.result).not.toHaveProperty("path");
    await tree("moved");
    const moved = await t.owner.call("repo/update", { repo, path: `${trees}/moved/` });
    expect(moved.result).toMatchObject({ name: "renamed", path: join(trees, "moved"), revision: 2 });
    expect(JSON.parse(await t.readRepository(repo))).toMatchObject({
      name: "renamed",
      path: join(trees, "moved"),
      config: { svc: { timeout: 5 } },
    });
  });

  test("an in-tree repository with a new path claims that one, and no longer the old one", async () => {
    const [from, to] = [await tree("from"), await tree("to")];
    const { result } = await t.owner.call("repo/add", { name: "moving", path: from, inTree: true });
    await t.owner.call("repo/update", { repo: result.id, path: to });
    const claimed = await t.owner.call("repo/add", { name: "other", path: to, inTree: true });
    const other = await t.owner.call("repo/add", { name: "other", path: from, inTree: true });
    const taken = await t.owner.call("repo/update", { repo: other.result.id, path: to });
    expect(other.errors).toEqual([]);
    for (const { errors } of [claimed, taken]) expect(errors).toMatchObject([{ code: 1111 }]);
  });

  test("no, an empty or an unknown repo is refused, as by repo/remove, and neither name nor path", async () => {
    const repo = await t.addRepository();
    for (const [operation, args, code] of [
      ["repo/update", { name: "n" }, 1006],
      ["repo/update", { repo: "", name: "n" }, 1006],
      ["repo/update", { repo: "nowhere", name: "n" }, 1102],
      ["repo/update", { repo }, 1101],
      ["repo/remove", {}, 1006],
      ["repo/remove", { repo: null }, 1006],
      ["repo/remove", { repo: "nowhere" }, 1102],
    ] as const)
      expect(await t.owner.call(operation, args)).toMatchObject({ result: null, errors: [{ code }] });
  });
});

describe("repo/remove", () => {
  test("moves the file aside unchanged, and the repository is gone", async () => {
    const repo = await t.addRepository();
    await t.owner.call("config/set", { repo, "svc.timeout": 5 });
    const text = await t.readRepository(repo);
    const { result, errors } = await t.owner.call("repo/remove", { repo });
    expect(errors).toEqual([]);
    expect(await readFile(result.movedTo ?? "", "utf8")).toBe(text);
    await expect(t.readRepository(repo)).rejects.toThrow("ENOENT");
    expect(await t.owner.call("config/list", { repo })).toMatchObject({ result: {}, errors: [{ code: 1102 }] });
    expect(await t.owner.call("config/set", { repo, "svc.timeout": 6 })).toMatchObject({ errors: [{ code: 1007 }] });
    const list = await t.owner.call("repo/list", { limit: 1000 });
    expect(list.result.map(({ id }) => id)).not.toContain(repo);
  });
});

describe("repo/list", () => {
  test("limit and after page through all repositories by id, 100 by default, with next as long as there are more", async () => {
    await using own = await startTestDaemon();
    const ids = Array.from({ length: 101 }, (_, index) => `r${String(index).padStart(3, "0")}`);
    await Promise.all(ids.toReversed().map(id => own.addRepository(id)));
    const first = await own.owner.call("repo/list");
    expect(first.result.map(({ id }) => id)).toEqual(ids.slice(0, 100));
    const rest = await own.owner.call("repo/list", { after: first.next });
    expect(rest.result.map(({ id }) => id)).toEqual(ids.slice(100));
    expect(rest).not.toHaveProperty("next");
    const exact = await own.owner.call("repo/list", { limit: 101 });
    expect(exact.result).toHaveLength(101);
    expect(exact).not.toHaveProperty("next");
    const page = await own.owner.call("repo/list", { limit: 2, after: "r004x" });
    expect(page).toMatchObject({ result: [{ id: "r005" }, { id: "r006" }], next: "r006" });
    expect((await own.owner.call("repo/list", { after: "r100" })).result).toEqual([]);
  });
});
