import { open as openFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { type Shop, shopText, startShop } from "../../helpers/shop.ts";
import { TestClock } from "../../helpers/test-clock.ts";
import { renameOver } from "../../helpers/ways-of-saving.ts";

const edited = shopText.replace(`"refresh_day": 2`, `"refresh_day": 3, // by hand\n      "domain": "hand.test"`);

/** A shop in which someone saves `text` while the file of the next set is being written. */
async function startShopEditedInBetween(text: string) {
  const fileSystem = watchFileSystem();
  const shop = await startShop(undefined, { fileSystem });
  fileSystem.before = ({ operation, path }) => {
    if (operation !== "sync" || !path.endsWith("/tmp/shop.json")) return;
    fileSystem.before = () => {};
    renameOver(shop.file, text);
  };
  return shop;
}

test("a hand edit of a field that was just set but is not written to the file yet comes after the set and wins", async () => {
  const text = shopText.replace("30", "45");
  await using shop = await startShopEditedInBetween(text);
  await shop.set({ "svc.timeout": 31 });
  for (const [source, value, previous] of [["set", 31, 30] as const, ["file", 45, 31] as const])
    expect(await shop.t.owner.nextChange()).toMatchObject({
      source,
      changes: { svc: { timeout: { value, previous } } },
    });
  expect(await shop.read()).toBe(text);
});

describe("a hand edit that has not been noticed when a set arrives", () => {
  test("makes a set with an expected revision fail with 1104", async () => {
    await using shop = await startShop();
    renameOver(shop.file, edited);
    const reply = await shop.t.owner.call("config/set", { repo: "shop", revision: 1, "svc.timeout": 31 });
    expect(reply).toMatchObject({ result: [], errors: [{ code: 1104, details: { current: 2 } }] });
    expect(await shop.read()).toBe(edited);
  });

  test("makes a set fail if the edit broke one of its rules", async () => {
    const services = `"services": { "web": { "ready": "true", "image": "web:1" } }`;
    const first = shopText.replace(`"refresh_day": 2`, services);
    await using shop = await startShop(first);
    renameOver(shop.file, first.replace(services, `"services": {}`));
    const { result, errors } = await shop.set({ "svc.default": "web", "svc.timeout": 31 });
    expect(errors).toMatchObject([{ code: 1103, field: "svc.default" }]);
    expect(Object.keys(result[0]?.config["svc"] ?? {})).toEqual(["timeout"]);
    expect(await shop.value("default")).toBe("");
  });

  test("makes a set fail with 1106 if the edit broke the file, which stays byte for byte", async () => {
    const broken = edited.replace("{", "{{");
    await using shop = await startShop();
    renameOver(shop.file, broken);
    expect(await shop.set({ "svc.timeout": 31 })).toMatchObject({ result: [], errors: [{ code: 1106 }] });
    expect(await shop.read()).toBe(broken);
    expect(await shop.value("timeout")).toBe(30);
  });
});

test("a file broken between a set and its write stays byte for byte; the set is served, and written once the file is fixed", async () => {
  const broken = edited.replace("{", "{{");
  await using shop = await startShopEditedInBetween(broken);
  const set = await shop.set({ "svc.timeout": 31 });
  expect(set).toMatchObject({ result: [{ revision: 2, mirrored: false }], errors: [] });
  await until(async () => (await shop.health()).length > 0, "the file to be reported as broken");
  expect(await shop.read()).toBe(broken);
  expect(await shop.value("timeout")).toBe(31);
  renameOver(shop.file, edited);
  await until(async () => (await shop.read()) === edited.replace("30", "31"), "the file to hold both");
  expect(shop.sources()).toEqual(["set", "file"]);
});

describe.concurrent("an edit at the moment when the file is replaced", () => {
  const values = async (shop: Shop) => [
    await shop.value("timeout"),
    await shop.value("refresh_day"),
    await shop.value("domain"),
  ];
  /** How long an editor that had the replaced file open may still write to it. */
  const moment = 1_000;

  test("between the last check and the rename is kept with the set, and none of its values is lost", async () => {
    const fileSystem = watchFileSystem();
    await using shop = await startShop(undefined, { fileSystem });
    let isArmed = true;
    fileSystem.after = ({ operation }) => {
      if (operation !== "readNow" || !isArmed) return;
      isArmed = false;
      renameOver(shop.file, edited);
    };
    expect((await shop.set({ "svc.timeout": 31 })).errors).toEqual([]);
    expect(isArmed).toBe(false);
    await until(async () => (await shop.value("domain")) === "hand.test", "the edit");
    expect(await values(shop)).toEqual([31, 3, "hand.test"]);
    const text = await shop.read();
    for (const part of ['"timeout": 31', '"refresh_day": 3', '"domain": "hand.test"']) expect(text).toContain(part);
    expect(shop.sources()).toEqual(["set", "merge"]);
    expect(await readdir(join(shop.t.homeFolder, "tmp"))).not.toContain(expect.stringMatching(/^shop\.json/));
  });

  test("written to the replaced file, which an editor that writes in place still has open, is kept too", async () => {
    const clock = new TestClock();
    await using shop = await startShop(undefined, { clock });
    await using open = await openFile(shop.file, "r+");
    expect((await shop.set({ "svc.timeout": 31 })).errors).toEqual([]);
    await open.truncate(0);
    await open.writeFile(edited);
    clock.advance(moment);
    await until(async () => (await shop.value("domain")) === "hand.test", "the edit");
    expect(await values(shop)).toEqual([31, 3, "hand.test"]);
    expect(await shop.read()).toContain('"domain": "hand.test"');
  });

  test("that is not JSON is kept in the folder of removed repositories, and health says where", async () => {
    const clock = new TestClock();
    await using shop = await startShop(undefined, { clock });
    await using open = await openFile(shop.file, "r+");
    await shop.set({ "svc.timeout": 31 });
    await open.writeFile("{ broken");
    clock.advance(moment);
    const removed = join(shop.t.homeFolder, "removed");
    await until(async () => (await readdir(removed)).length > 0, "the text");
    const [name = ""] = await readdir(removed);
    expect(await readFile(join(removed, name), "utf8")).toContain("{ broken");
    await until(async () => (await shop.health()).some(({ message }) => message.includes(name)), "the health");
    expect(await shop.value("timeout")).toBe(31);
  });

  test("is waited for only for a moment, after which the old file is deleted", async () => {
    const clock = new TestClock();
    await using shop = await startShop(undefined, { clock });
    await shop.set({ "svc.timeout": 31 });
    const left = async () =>
      (await readdir(join(shop.t.homeFolder, "tmp"))).filter(name => name.startsWith("shop.json"));
    clock.advance(moment - 1);
    expect((await left()).length).toBe(1);
    clock.advance(1);
    await until(async () => (await left()).length === 0, "the old file to be deleted");
  });
});
