import { lstat, mkdir, readdir, readFile, readlink, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../helpers/daemon.ts";
import { placeIn, type Shop, saveByRename, shopText, startShop } from "../helpers/shop.ts";

/** What a person did to the file, and where the daemon should report the error (null: no particular place). */
type Breakage = [
  title: string,
  content: string | Uint8Array,
  place: { readonly line: number; readonly column: number } | null,
];

const svc = `"timeout": 30, // half a minute\n      "refresh_day": 2`;
const conflict = `<<<<<<< HEAD\n"timeout": 31,\n=======\n"timeout": 32,\n>>>>>>> theirs\n`;
const broken = (title: string, text: string, part: string): Breakage => [title, text, placeIn(text, part)];

const breakages: Breakage[] = [
  ["a trailing comma", shopText.replace(": 2\n", ": 2,\n"), { line: 9, column: 5 }],
  ["half a file", shopText.slice(0, 120), { line: 7, column: 6 }],
  ["an empty file", "", { line: 1, column: 1 }],
  ["blank lines only", "\n\n", { line: 3, column: 1 }],
  ["NULs of the old length", new Uint8Array(shopText.length), { line: 1, column: 1 }],
  ["NULs after the text", `${shopText}\0\0\0`, { line: 12, column: 1 }],
  broken("an array at the top level", `\n[${shopText}]`, "["),
  broken("config of the wrong type", shopText.replace(/"config": \{[^}]*\}\s*\}/, `"config": [1]`), "[1]"),
  broken("config null", shopText.replace(/"config": \{[^}]*\}\s*\}/, `"config": null`), "null"),
  broken("a scope of the wrong type", shopText.replace(/"svc": \{[^}]*\}/, `"svc": "none"`), `"none"`),
  broken("merge markers", shopText.replace(svc, `${conflict}${svc}`), "<<<<<<<"),
  broken("a duplicate key", shopText.replace(svc, `${svc},\n      "timeout": 31`), `"timeout": 31`),
  broken("a duplicate config", shopText.replace(`"config"`, `"config": {},\n  "config"`), `"config": {\n    "svc"`),
  broken("__proto__ as a field", shopText.replace(svc, `"__proto__": { "timeout": 1 }`), `"__proto__"`),
  broken("__proto__ as a scope", shopText.replace(`"svc"`, `"__proto__"`), `"__proto__"`),
  ["endless nesting", `{"config":${"[".repeat(100_000)}`, { line: 1, column: 74 }],
  ["more than 4 MiB", `${shopText}${" ".repeat(4 * 1024 * 1024)}`, null],
  ["invalid UTF-8", Buffer.concat([Buffer.from(shopText), Buffer.from([0x2f, 0x2f, 0xff, 0xfe])]), null],
  ["UTF-16", Buffer.from(`\uFEFF${shopText}`, "utf16le"), null],
];

/** The daemon serves the last valid values, writes nothing, and reports the error. */
async function expectBroken(shop: Shop, place: { readonly line: number; readonly column: number } | null) {
  await until(async () => (await shop.health()).length > 0, "health to report it");
  const health = await shop.health();
  const expected = { code: 1106, message: expect.stringContaining("shop.json"), ...place };
  expect(health).toEqual([expected]);
  expect(await shop.value("timeout")).toBe(30);
  expect(await shop.revision()).toBe(1);
  const { result, errors } = await shop.set({ "svc.timeout": 99 });
  expect(result).toEqual([]);
  expect(errors).toMatchObject([{ code: 1106, repo: "shop" }]);
  const logged = shop.t.log.map(line => JSON.parse(line)).find(line => line.msg === health[0]?.message);
  expect(logged).toMatchObject({ repo: "shop", file: shop.file, ...place });
}

async function expectFixed(shop: Shop) {
  await until(async () => (await shop.value("timeout")) === 31, "the fixed value");
  expect(await shop.health()).toEqual([]);
  expect((await shop.set({ "svc.timeout": 32 })).errors).toEqual([]);
  expect(shop.sources()).toEqual(["file", "set"]);
}

const fixed = shopText.replace("30", "31");

describe.concurrent("R5 a broken hand edit does no harm: the last valid values stay active, set gets 1106, the file stays byte for byte, and fixing it helps, after", () => {
  test.each(breakages)("%s", async (_title, content, place) => {
    await using shop = await startShop();
    await writeFile(shop.file, content);
    await expectBroken(shop, place);
    expect(Buffer.compare(await readFile(shop.file), Buffer.from(content))).toBe(0);
    await saveByRename(shop.file, fixed);
    await expectFixed(shop);
  });

  test("the file was deleted, which does not remove the repository", async () => {
    await using shop = await startShop();
    await unlink(shop.file);
    await expectBroken(shop, null);
    expect(await readdir(dirname(shop.file))).toEqual([]);
    await writeFile(shop.file, fixed);
    await expectFixed(shop);
  });

  test("the file was replaced by a folder", async () => {
    await using shop = await startShop();
    await unlink(shop.file);
    await mkdir(shop.file);
    await expectBroken(shop, null);
    expect((await lstat(shop.file)).isDirectory()).toBe(true);
    await rm(shop.file, { recursive: true });
    await writeFile(shop.file, fixed);
    await expectFixed(shop);
  });

  test.skipIf(process.platform === "win32").each([
    ["valid values", true],
    ["nothing", false],
  ])("the file was replaced by a symbolic link to %s", async (_target, exists) => {
    await using shop = await startShop();
    const target = join(shop.t.homeFolder, "elsewhere.json");
    const elsewhere = shopText.replace("30", "66");
    if (exists) await writeFile(target, elsewhere);
    await unlink(shop.file);
    await symlink(target, shop.file);
    await expectBroken(shop, null);
    expect(await readlink(shop.file)).toBe(target);
    if (exists) expect(await readFile(target, "utf8")).toBe(elsewhere);
    await saveByRename(shop.file, fixed);
    await expectFixed(shop);
  });
});

test("R5 health reports the newest of several breakages", async () => {
  await using shop = await startShop();
  await writeFile(shop.file, "{ 1");
  await until(async () => (await shop.health())[0]?.column === 3, "the first error");
  await writeFile(shop.file, "{\n2");
  await until(async () => (await shop.health())[0]?.line === 2, "the second error");
  await unlink(shop.file);
  await until(async () => /missing/.test((await shop.health())[0]?.message ?? ""), "the third error");
  await mkdir(shop.file);
  await until(async () => /folder|regular/.test((await shop.health())[0]?.message ?? ""), "the fourth error");
  expect(await shop.value("timeout")).toBe(30);
});

test("R5 an empty file in place of a folder is reported as an empty file", async () => {
  await using shop = await startShop();
  await unlink(shop.file);
  await mkdir(shop.file);
  await until(async () => (await shop.health()).length > 0, "the folder to be reported");
  await rm(shop.file, { recursive: true });
  await writeFile(shop.file, "");
  await until(async () => (await shop.health())[0]?.line === 1, "the empty file to be reported");
});

test("R5 a BOM does not break a file", async () => {
  await using shop = await startShop();
  await writeFile(shop.file, `\uFEFF${fixed}`);
  expect(await shop.t.owner.nextChange()).toMatchObject({
    source: "file",
    changes: { svc: { timeout: { value: 31 } } },
  });
  expect(await shop.health()).toEqual([]);
});

test("R5 a broken file without known valid values: list gives 1106, and its neighbour is served", async () => {
  await using shop = await startShop(`{ "config": `);
  const { result, errors } = await shop.t.owner.call("config/list", { repo: "shop" });
  expect(result).toEqual({});
  expect(errors).toMatchObject([{ code: 1106, repo: "shop" }]);
  await shop.t.addRepository("neighbour");
  const reply = await shop.t.owner.call("config/set", { repo: ["shop", "neighbour"], "svc.timeout": 5 });
  expect(reply.result.map(({ repo }) => repo)).toEqual(["neighbour"]);
  expect(reply.errors).toMatchObject([{ code: 1106, repo: "shop" }]);
});
