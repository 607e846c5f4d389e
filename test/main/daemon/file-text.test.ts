import { lstat, mkdir, readdir, readFile, readlink, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { breakFile, halfAFile, untilHealth } from "../../helpers/broken-file.ts";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { type Shop, shopText, startShop } from "../../helpers/shop.ts";
import { startWorkTree, treeText } from "../../helpers/work-tree.ts";

const removedFiles = (t: TestDaemon) => readdir(join(t.homeFolder, "removed"));

async function write(shop: Shop, text: string, expected: string | null = shopText) {
  return shop.t.owner.call("file/write", { repo: "shop", text, expected });
}

test("file/read returns the file's path and its current text on disk, including comments; null if it is missing or is not text", async () => {
  await using shop = await startShop();
  const read = async () => (await shop.t.owner.call("file/read", { repo: "shop" })).result;
  expect(await read()).toEqual({ file: shop.file, text: shopText });
  await writeFile(shop.file, `${shopText}// the end\n`);
  expect(await read()).toEqual({ file: shop.file, text: `${shopText}// the end\n` });
  await writeFile(shop.file, halfAFile);
  expect(await read()).toEqual({ file: shop.file, text: halfAFile });
  await writeFile(shop.file, Buffer.from([0x7b, 0xff, 0xfe]));
  expect((await read()).text).toBeNull();
  await unlink(shop.file);
  expect((await read()).text).toBeNull();
});

describe("file/write", () => {
  test("writes the text byte for byte, like a hand edit: one revision with source file, active with the reply and after a restart", async () => {
    await using shop = await startShop();
    const text = shopText.replace(`"timeout": 30, //`, `"timeout": 31,   /* was 30 */ //`);
    expect(await write(shop, text)).toEqual({ result: {}, errors: [] });
    expect(await shop.value("timeout")).toBe(31);
    expect(await shop.read()).toBe(text);
    expect(await shop.t.owner.nextChange()).toMatchObject({
      revision: 2,
      actor: "file",
      source: "file",
      changes: { svc: { timeout: { value: 31, previous: 30 } } },
    });
    expect((await shop.set({ "svc.refresh_day": 3 })).errors).toEqual([]);
    expect(await shop.read()).toBe(text.replace(`"refresh_day": 2`, `"refresh_day": 3`));
    await shop.t.restart();
    expect([await shop.value("timeout"), await shop.revision()]).toEqual([31, 3]);
  });

  test("gets 1104 if the file was changed in the meantime, by hand, by a set or by another write, and leaves it unchanged", async () => {
    await using shop = await startShop();
    const edited = shopText.replace("30", "31");
    await writeFile(shop.file, edited);
    const refused = { result: null, errors: [{ code: 1104, repo: "shop" }] };
    expect(await write(shop, "{}")).toMatchObject(refused);
    expect(await shop.read()).toBe(edited);
    await shop.set({ "svc.timeout": 32 });
    expect(await write(shop, "{}", edited)).toMatchObject(refused);
    expect(await shop.read()).toBe(edited.replace("31", "32"));
    expect(await write(shop, "{}", null)).toMatchObject(refused);
    expect(await shop.value("timeout")).toBe(32);
    const texts = [33, 34].map(timeout => shopText.replace("30", `${timeout}`));
    const before = await shop.read();
    const replies = await Promise.all(texts.map(text => write(shop, text, before)));
    expect(replies.map(({ errors }) => errors.map(({ code }) => code))).toEqual([[], [1104]]);
    expect(await shop.read()).toBe(texts[0]);
  });

  test("saves a broken text as it is; the last valid values stay active, and the health says where the problem is", async () => {
    await using shop = await startShop();
    const broken = shopText.replace(`"refresh_day": 2`, `"refresh_day" 3`);
    expect((await write(shop, broken)).errors).toEqual([]);
    expect(await shop.read()).toBe(broken);
    expect(await shop.value("refresh_day")).toBe(2);
    expect(await shop.health()).toMatchObject([{ code: 1106, line: 8, column: expect.any(Number) }]);
    const fixed = shopText.replace(`"refresh_day": 2`, `"refresh_day": 3`);
    expect((await write(shop, fixed, broken)).errors).toEqual([]);
    expect(await shop.health()).toEqual([]);
    expect(await shop.value("refresh_day")).toBe(3);
    expect(shop.sources()).toEqual(["file"]);
  });

  test("recreates a missing file if none was expected, but a file that is not text is not missing", async () => {
    await using shop = await startShop();
    await unlink(shop.file);
    await untilHealth(shop.t, "shop", health => health.length > 0);
    expect(await write(shop, shopText)).toMatchObject({ errors: [{ code: 1104 }] });
    expect((await write(shop, shopText, null)).errors).toEqual([]);
    expect(await shop.health()).toEqual([]);
    const bytes = Buffer.from([0x7b, 0xff, 0xfe]);
    await writeFile(shop.file, bytes);
    expect(await write(shop, "{}", null)).toMatchObject({ result: null, errors: [{ code: 1104 }] });
    expect((await readFile(shop.file)).equals(bytes)).toBe(true);
  });

  test("writes into the work tree of an in-tree repository, even if it had no file", async () => {
    await using site = await startWorkTree(null);
    const { t, file } = site;
    expect((await t.owner.call("file/read", { repo: "site" })).result).toEqual({ file, text: null });
    const created = await t.owner.call("file/write", { repo: "site", text: treeText, expected: null });
    expect(created.errors).toEqual([]);
    expect(await readFile(file, "utf8")).toBe(treeText);
    expect(await site.value("timeout")).toBe(30);
    const text = treeText.replace("30", "31");
    expect((await t.owner.call("file/write", { repo: "site", text, expected: treeText })).errors).toEqual([]);
    expect(await readFile(file, "utf8")).toBe(text);
    expect(await site.value("timeout")).toBe(31);
    // The replaced file is kept briefly, in case another program is still writing to it.
    await until(async () => (await readdir(join(file, ".."))).length === 1, "the other files to go");
  });

  test("does not bring back a repository that is removed at the same time", async () => {
    await using t = await startTestDaemon({ repositories: ["shop"] });
    const text = await t.readRepository("shop");
    const writes = Array.from({ length: 20 }, () => t.owner.call("file/write", { repo: "shop", text, expected: text }));
    const removed = t.owner.call("repo/remove", { repo: "shop" });
    const later = Array.from({ length: 20 }, () => t.owner.call("file/write", { repo: "shop", text, expected: text }));
    const restores = Array.from({ length: 5 }, () => t.owner.call("file/restore", { repo: "shop" }));
    expect((await removed).errors).toEqual([]);
    const replies = await Promise.all([...writes, ...later, ...restores]);
    for (const { errors } of replies) expect(errors.every(({ code }) => code === 1102)).toBe(true);
    expect(await readdir(join(t.homeFolder, "repos"))).toEqual([]);
    expect((await t.owner.call("repo/list")).result).toEqual([]);
  });
});

describe("file/restore", () => {
  test("rewrites a broken file from the active values, and keeps the old one in removed/", async () => {
    await using shop = await startShop();
    await breakFile(shop.t, "shop");
    const { result, errors } = await shop.t.owner.call("file/restore", { repo: "shop" });
    expect(errors).toEqual([]);
    const [kept = ""] = await removedFiles(shop.t);
    expect(kept).toMatch(/^shop\.broken\.\d{4}-.+\.json$/);
    expect(result).toEqual({ movedTo: join(shop.t.homeFolder, "removed", kept) });
    expect(await readFile(join(shop.t.homeFolder, "removed", kept), "utf8")).toBe(halfAFile);
    expect((await lstat(join(shop.t.homeFolder, "removed", kept))).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await shop.read())).toEqual({
      $schema: "../repository.schema.json",
      name: "shop",
      config: { svc: { timeout: 30, refresh_day: 2 } },
    });
    expect(await shop.health()).toEqual([]);
    expect(await shop.revision()).toBe(1);
    expect((await shop.set({ "svc.timeout": 31 })).errors).toEqual([]);
  });

  test("removes what is invalid, and keeps the file that contained it", async () => {
    await using shop = await startShop();
    const text = shopText.replace("30", `"long", "nonsense": 1`);
    await write(shop, text);
    expect(await shop.value("timeout")).toBe(30);
    expect(await shop.health()).toMatchObject([{ code: 1103, field: "svc.timeout", line: 7 }, { code: 1011 }]);
    const { result } = await shop.t.owner.call("file/restore", { repo: "shop" });
    expect(await readFile(result.movedTo ?? "", "utf8")).toBe(text);
    expect(await shop.health()).toEqual([]);
    expect(JSON.parse(await shop.read()).config).toEqual({ svc: { timeout: 30, refresh_day: 2 } });
  });

  test.each([
    [1, []],
    [3, []],
    [Number.POSITIVE_INFINITY, [{ code: 1108 }]],
  ])("keeps what another program saves during the copy, %d times", async (times, refused) => {
    const fileSystem = watchFileSystem();
    await using shop = await startShop(shopText, { fileSystem });
    await breakFile(shop.t, "shop");
    let saved = 0;
    fileSystem.before = async ({ operation, path }) => {
      // The copy is written but not yet synced.
      if (operation !== "sync" || !path.includes("/removed/") || saved === times) return;
      await writeFile(shop.file, `${halfAFile} ${++saved}`);
    };
    const { result, errors } = await shop.t.owner.call("file/restore", { repo: "shop" });
    expect(errors).toMatchObject(refused);
    expect(await readFile(result?.movedTo ?? shop.file, "utf8")).toBe(`${halfAFile} ${saved}`);
    expect(await removedFiles(shop.t)).toHaveLength(errors.length === 0 ? 1 : 0);
    expect(await shop.value("timeout")).toBe(30);
  });

  test("writes only config to an in-tree file, and keeps the old file byte for byte", async () => {
    await using site = await startWorkTree();
    const bytes = Buffer.from([0x7b, 0xff, 0xfe]);
    await writeFile(site.file, bytes);
    await untilHealth(site.t, "site", health => health.length > 0);
    const { result, errors } = await site.t.owner.call("file/restore", { repo: "site" });
    expect(errors).toEqual([]);
    expect((await readFile(result.movedTo ?? "")).equals(bytes)).toBe(true);
    expect(JSON.parse(await readFile(site.file, "utf8"))).toEqual({ config: { svc: { timeout: 30 } } });
    expect(await site.value("timeout")).toBe(30);
  });

  test.each(["while the daemon runs", "after a restart"])(
    "rewrites a broken pointer, and the values stay in the work tree: %s",
    async when => {
      await using site = await startWorkTree();
      const pointer = JSON.parse(await site.t.readRepository("site"));
      await breakFile(site.t, "site");
      if (when === "after a restart") await site.t.restart();
      const { result, errors } = await site.t.owner.call("file/restore", { repo: "site" });
      expect(errors).toEqual([]);
      expect(await readFile(result.movedTo ?? "", "utf8")).toBe(halfAFile);
      expect(JSON.parse(await site.t.readRepository("site"))).toEqual(pointer);
      expect(await readFile(site.file, "utf8")).toBe(treeText);
      expect(await site.value("timeout")).toBe(30);
      expect((await site.t.owner.call("repo/list")).result).toMatchObject([{ inTree: true, health: [] }]);
    },
  );

  test("gets 1106 if no valid values are known, and 1108 if a folder is in the file's place, and changes and keeps nothing", async () => {
    await using site = await startWorkTree(treeText, { files: { "repos/odd.json": halfAFile } });
    await rm(site.file);
    await mkdir(site.file);
    await untilHealth(site.t, "site", health => health.length > 0);
    for (const [repo, code] of [["odd", 1106] as const, ["site", 1108] as const])
      expect(await site.t.owner.call("file/restore", { repo })).toMatchObject({
        result: null,
        errors: [{ code, repo }],
      });
    expect(await site.t.readRepository("odd")).toBe(halfAFile);
    expect((await lstat(site.file)).isDirectory()).toBe(true);
    expect(await removedFiles(site.t)).toEqual([]);
    expect(await site.value("timeout")).toBe(30);
  });
});

test("the file in a work tree is read and written, or the pointer to it while that is broken, which a write fixes", async () => {
  await using site = await startWorkTree();
  const read = async () => (await site.t.owner.call("file/read", { repo: "site" })).result;
  expect(await read()).toEqual({ file: site.file, text: treeText });
  const pointer = await site.t.readRepository("site");
  await breakFile(site.t, "site");
  expect(await read()).toEqual({ file: site.t.repositoryFile("site"), text: halfAFile });
  const fix = { repo: "site", text: pointer, expected: halfAFile };
  expect((await site.t.owner.call("file/write", fix)).errors).toEqual([]);
  expect(await read()).toEqual({ file: site.file, text: treeText });
});

test("a link in place of the file in a work tree is not followed: its target is neither read nor written; a restore keeps the link", async () => {
  await using site = await startWorkTree();
  const call = site.t.owner.call;
  const outside = join(site.t.homeFolder, "outside.json");
  await writeFile(outside, "somebody's secret");
  await unlink(site.file);
  await symlink(outside, site.file);
  await untilHealth(site.t, "site", health => health.length > 0);
  expect((await call("file/read", { repo: "site" })).result.text).toBeNull();
  for (const expected of [null, treeText, "somebody's secret"])
    expect(await call("file/write", { repo: "site", text: "{}", expected })).toMatchObject({
      errors: [{ code: 1104 }],
    });
  const { result, errors } = await call("file/restore", { repo: "site" });
  expect(errors).toEqual([]);
  expect(await readlink(result.movedTo ?? "")).toBe(outside);
  expect(await readFile(outside, "utf8")).toBe("somebody's secret");
  expect((await lstat(site.file)).isFile()).toBe(true);
  expect(await site.value("timeout")).toBe(30);
});

test.each([
  ["file/read", {}],
  ["file/write", { text: "{}", expected: null }],
  ["file/restore", {}],
] as const)("%s gets 1006 without repo, and 1102 for an unknown one", async (name, args) => {
  await using t = await startTestDaemon();
  for (const repo of [undefined, null, ""]) {
    const reply = await t.owner.call(name, { ...args, ...(repo !== undefined && { repo }) });
    expect(reply).toMatchObject({ result: null, errors: [{ code: 1006 }] });
  }
  for (const repo of ["nowhere", "../keys", "__proto__"])
    expect(await t.owner.call(name, { ...args, repo })).toMatchObject({ result: null, errors: [{ code: 1102 }] });
});
