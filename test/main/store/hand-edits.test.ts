import { describe, expect, test } from "vitest";
import { until } from "../../helpers/daemon.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { placeIn, saveByRename, shopText, startShop } from "../../helpers/shop.ts";

test("an edit of comments only is applied without a change", async () => {
  await using shop = await startShop();
  const edited = shopText.replace(`"timeout"`, `// the CI machine is slow\n      "timeout"`);
  await saveByRename(shop.file, edited);
  // The daemon has read the edit once it reports the new line of the value.
  const { line } = placeIn(edited, `"timeout"`);
  const explain = () => shop.t.owner.call("config/explain", { repo: "shop", field: "svc.timeout" });
  await until(async () => (await explain()).result.line === line, "the edit to be applied");
  expect(await shop.revision()).toBe(1);
  await shop.set({ "svc.timeout": 46 });
  expect(await shop.t.owner.nextChange()).toMatchObject({ revision: 2, source: "set" });
  expect(await shop.read()).toBe(edited.replace("30", "46"));
});

test("a set of a value that is already stored does not touch the file, however the value is written there", async () => {
  const odd = shopText.replace("30", "3e1");
  await using shop = await startShop(odd);
  expect(await shop.set({ "svc.timeout": 30 })).toMatchObject({ result: [{ revision: 1 }], errors: [] });
  expect(await shop.read()).toBe(odd);
});

describe("a value that its schema rejects", () => {
  const bad = shopText.replace("30", `"soon"`).replace("2\n", "6\n");

  test("is reported with its position, and stays in the file, with the last valid one active, when the rest of the edit takes effect and other fields are set, until the active value is set, which makes no new revision", async () => {
    await using shop = await startShop();
    await saveByRename(shop.file, bad.replace(`"timeout"`, `"services": {},\n      "timeout"`));
    await shop.t.owner.nextChange();
    const { errors } = await shop.set({ "svc.services": { web: { ready: "true", image: "web:1" } } });
    expect(errors).toEqual([]);
    const text = await shop.read();
    expect(text).toContain(`"timeout": "soon", // half a minute`);
    expect(await shop.health()).toMatchObject([{ code: 1103, field: "svc.timeout", ...placeIn(text, `"soon"`) }]);
    expect(await shop.value("refresh_day")).toBe(6);
    expect(await shop.value("timeout")).toBe(30);
    expect(await shop.set({ "svc.timeout": 30 })).toMatchObject({ result: [{ revision: 3 }], errors: [] });
    expect(await shop.read()).toBe(text.replace(`"soon"`, "30"));
    expect(await shop.health()).toEqual([]);
  });
});

test.each([
  ["field", `"timeoute": 31,`, "svc.timeoute", `31`],
  ["scope", `"x": 1 }, "backup": { "at": 3 }, "other": {`, "backup", `{ "at"`],
])("an unknown %s is kept, not used, and reported with its position", async (_kind, members, field, part) => {
  await using shop = await startShop();
  const edited = shopText.replace(`"timeout": 30,`, `"timeout": 40,\n      ${members}`);
  await saveByRename(shop.file, edited);
  expect((await shop.t.owner.nextChange()).changes).toMatchObject({ svc: { timeout: { value: 40 } } });
  expect(await shop.health()).toContainEqual({
    code: 1011,
    field,
    message: expect.stringContaining(`"${field}"`),
    ...placeIn(edited, part),
  });
  await shop.set({ "svc.timeout": 41 });
  expect(await shop.read()).toBe(edited.replace("40", "41"));
});

test("a field that names a service removed by hand has its default until the service is back", async () => {
  const named = `{ "config": { "svc": {
    "services": { "web": { "ready": "true", "image": "web:1" }, "db": { "ready": "true", "image": "db:1" } },
    "default": "web"
  } } }\n`;
  await using shop = await startShop(named);
  const without = named.replace(`"web": { "ready": "true", "image": "web:1" }, `, "");
  await saveByRename(shop.file, without);
  expect((await shop.t.owner.nextChange()).changes["svc"]).toMatchObject({
    default: { value: "", previous: "web", stored: false },
  });
  expect(await shop.health()).toMatchObject([{ code: 1103, field: "svc.default", ...placeIn(without, `"web"`) }]);
  expect(await shop.read()).toBe(without);
  await saveByRename(shop.file, named);
  expect((await shop.t.owner.nextChange()).changes["svc"]).toMatchObject({ default: { value: "web", previous: "" } });
  expect(await shop.health()).toEqual([]);
});

test("a new file named by a valid id becomes a repository, and one with any other name does not", async () => {
  await using shop = await startShop();
  await shop.t.owner.call("config/watch");
  for (const name of ["-bad", "a b", ".hidden", "x".repeat(65)]) await shop.t.writeRepository(name, shopText);
  await shop.t.writeRepository("cellar", shopText.replace("shop", "the cellar"));
  await until(() => shop.t.owner.events.some(([, event]) => event === "added"), "the event");
  const names = async () => (await shop.t.owner.call("repo/list")).result.map(({ id, name }) => [id, name]);
  // On a slow machine, the file is found before its text is written.
  await until(async () => (await names())[0]?.[1] === "the cellar", "the name");
  expect(await names()).toEqual([
    ["cellar", "the cellar"],
    ["shop", "shop"],
  ]);
  expect(await timeoutOf(shop.t, "cellar")).toBe(30);
});
