import { expect, test } from "vitest";
import { describeScreen, inPage, isCovered, poll, press, reads, shareScreen } from "../helpers/screen.ts";

const title = "Environment variables";

describeScreen("environment variables", () => {
  const openShared = shareScreen();

  async function openPasting(shop: Parameters<typeof openShared>[0]) {
    const window = await openShared(shop);
    const copy = (text: string) => window.page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
    await window.expand(title);
    return { ...window, copy, variables: window.field(title) };
  }

  test("a text that is no env file says in which line, and is no name; Cancel changes nothing", async () => {
    const { page, copy, variables, edits } = await openPasting({ "svc.envvars": [{ name: "ONE", value: "1" }] });
    await copy("what is this\nKEY=hush");
    await variables.getByRole("textbox", { name: `${title}, entry 1: Name` }).focus();
    await press(page, "ControlOrMeta+v");
    await reads(variables.getByRole("alert"), "Line 1 is not in the form NAME=value");
    await variables.getByRole("button", { name: "Cancel" }).click();
    await variables.getByRole("button", { name: /^Paste a .env/ }).click();
    const text = variables.getByRole("textbox", { name: /^Text of the .env/ });
    await text.fill('A=1\nB="open\n');
    expect(await isCovered(text)).toBe(true);
    await reads(variables.getByRole("alert"), "Line 2 is not in the form NAME=value");
    expect(await variables.getByRole("button", { name: "Add", exact: true }).getAttribute("aria-disabled")).toBe(
      "true",
    );
    await variables.getByRole("button", { name: "Cancel" }).click();
    expect(await edits.count()).toBe(0);
  });

  test("Enter adds a row, each value is shown and copied by itself, and the row after a removed one stays hidden", async () => {
    const { page, variables, focused, stored, save } = await openPasting({
      "svc.envvars": [
        { name: "ONE", value: "shown" },
        { name: "TWO", value: "hush" },
      ],
    });
    await variables.getByRole("textbox", { name: `${title}, entry 2: Value` }).focus();
    await press(page, "Enter");
    await poll(focused).toBe(`textarea ${title}, entry 3: Name`);
    await page.keyboard.type("THREE");
    await press(page, "Tab");
    await page.keyboard.type("third");
    await variables.getByRole("button", { name: "Show the value of ONE" }).click();
    const value = (entry: number) => variables.getByRole("textbox", { name: `${title}, entry ${entry}: Value` });
    expect(await value(1).inputValue()).toBe("shown");
    expect(await inPage(page)).not.toContain("hush");
    await variables.getByRole("button", { name: "Copy the value of TWO" }).click();
    await poll(() => page.evaluate<string>("navigator.clipboard.readText()")).toBe("hush");
    await variables.getByRole("button", { name: `Remove entry 1 of ${title}` }).click();
    await poll(() => value(1).inputValue()).toBe("");
    expect(await inPage(page)).not.toContain("hush");
    await save();
    expect(await stored("svc.envvars")).toEqual([
      { name: "TWO", value: "hush" },
      { name: "THREE", value: "third" },
    ]);
  });

  test("a value that is shown by itself stays the only one, whatever others make of the list", async () => {
    const [one, two] = [
      { name: "ONE", value: "shown" },
      { name: "TWO", value: "hush" },
    ];
    const { page, variables, set } = await openPasting({ "svc.envvars": [one, two] });
    const value = (entry: number) => variables.getByRole("textbox", { name: `${title}, entry ${entry}: Value` });
    await variables.getByRole("button", { name: "Show the value of ONE" }).click();
    await set({ "svc.envvars": [two, one] });
    await poll(() => value(2).inputValue()).toBe("shown");
    expect(await inPage(page)).not.toContain("hush");
    await set({ "svc.envvars": [two] });
    await poll(() => value(2).count()).toBe(0);
    expect(await inPage(page)).not.toContain("hush");
  });
});
