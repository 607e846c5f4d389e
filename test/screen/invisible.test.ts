import { expect, test } from "vitest";
import { invisibleIn, partsToSee, withoutInvisible } from "../../renderer/parts/invisible.ts";
import { describeScreen, poll, reads, shareScreen } from "../helpers/screen.ts";

test.each([
  ["a\u200bb", ["U+200B"], "ab"],
  ["\ufeffkey\u00a0=\u00a01", ["U+FEFF", "U+00A0"], "key = 1"],
  ["ok\u202etxt.exe", ["U+202E"], "oktxt.exe"],
  ["a\u00adb\u3164c\u2800\u0007", ["U+00AD", "U+3164", "U+2800", "U+0007"], "abc"],
  ["a\u200db", ["U+200D"], "ab"],
  ["tag\u{e0041}", ["U+E0041"], "tag"],
  ["two\nlines\tand\r\n a tab", [], "two\nlines\tand\r\n a tab"],
  ["👩‍💻 ❤️ 1️⃣ می‌خواهم 東京\u3000都", [], "👩‍💻 ❤️ 1️⃣ می‌خواهم 東京\u3000都"],
])("of %j, nobody sees %j", (text, unseen, without) => {
  expect(invisibleIn(text)).toEqual(unseen);
  expect(withoutInvisible(text)).toBe(without);
});

test.each([
  ["a\u200bb", "a[U+200B]b"],
  ["key ", "key[space]"],
  [" key", "[space]key"],
  ["one\r\ntwo \t\nthree", "one[CR]\ntwo[space][tab]\nthree"],
  ["plain text", "plain text"],
  ["", ""],
])("a review shows %j as %s", (text, shown) => {
  const parts = partsToSee(text);
  expect(parts.map(part => (part.code === undefined ? part.text : `[${part.code}]`)).join("")).toBe(shown);
  expect(parts.map(part => part.text).join("")).toBe(text);
});

const text = { type: "string" };
const named = { type: "object", default: {} };
const properties = {
  token: { type: "string", title: "Token", default: "", "x-masked": true },
  hosts: { ...named, title: "Hosts", additionalProperties: text },
  rooms: { ...named, title: "Rooms", properties: { a: text }, patternProperties: { "": text } },
};

describeScreen("characters that nobody sees", () => {
  const openShared = shareScreen({ scopes: { app: { properties } } });

  test("are named at the control and in the review, and removed by a button", async () => {
    const { provider, field, review, save, stored, page } = await openShared();
    await provider.fill("aws\u200b ");
    await reads(field("Provider"), "Has characters that nobody sees: U+200B.");
    const dialog = await review();
    await reads(dialog, "awsU+200Bspace");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Remove them from Provider" }).click();
    await poll(() => provider.inputValue()).toBe("aws ");
    await save();
    expect(await stored("svc.provider")).toBe("aws ");
  });

  test.each(["hosts", "rooms"])("are named in the names of entries, as is an empty one: %s", async name => {
    const { field, expand, review, page } = await openShared({ [`app.${name}`]: { "": "a", "web\u200b ": "b" } });
    const title = name === "hosts" ? "Hosts" : "Rooms";
    await reads(field(title), "2 entries: (no name), web[U+200B][space]");
    await expand(title);
    const inBox = (label: string) => field(title).getByRole("textbox", { name: label, exact: true });
    expect(await inBox(`${title}: web[U+200B][space]`).inputValue()).toBe("b");
    await inBox(`${title}: (no name)`).fill("c");
    await reads(await review(), `app.${name}[""]`);
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    const added = inBox(`Name of the new entry in ${title}`);
    await added.fill("__proto__");
    await reads(field(title), "No entry can be called __proto__.");
    await added.fill("db\u00a0one");
    await field(title).getByRole("button", { name: "Remove them" }).click();
    await poll(() => added.inputValue()).toBe("db one");
  });

  test("are named in a secret that was just pasted, and not in a stored one that is covered", async () => {
    const { field, save } = await openShared({ "app.token": "old\u200b" });
    const token = field("Token").getByRole("textbox");
    expect(await field("Token").innerText()).not.toContain("U+200B");
    await token.fill("new\u00a0");
    await reads(field("Token"), "U+00A0");
    await field("Token").getByRole("button", { name: "Remove them from Token" }).click();
    await poll(() => token.inputValue()).toBe("new ");
    await save();
  });
});
