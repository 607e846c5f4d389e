import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeScreen, openScreen, poll, press, reads, type ScreenPage, startScreen } from "../helpers/screen.ts";
import { saveByRename } from "../helpers/shop.ts";

async function openText(window: ScreenPage): Promise<void> {
  await window.choose("shop");
  await window.view("JSON");
  await window.text.waitFor();
}

describeScreen("the file as text", () => {
  test("is saved as a revision by hand; comments stay", async () => {
    await using screen = await startScreen({ repositories: { shop: { "svc.timeout": 30 } } });
    const file = screen.t.repositoryFile("shop");
    const before = await screen.t.readRepository("shop");
    await saveByRename(file, before.replace(`"timeout"`, `// half a minute\n      "timeout"`));
    await using window = await screen.open();
    const { page } = window;
    await openText(window);
    await reads(window.text, "// half a minute");
    await window.typeAfter("timeout", "5, // fixed", "Backspace");
    await page.getByRole("button", { name: "Save file" }).click();
    await reads(window.messages, /Saved the file, but some values are invalid: line \d+, column \d+: /);
    // The trailing comma makes the file invalid, which is reported.
    await page.getByRole("complementary", { name: "Problems with the file" }).waitFor();
    // A comment offers no completions.
    expect(await page.getByRole("listbox").count()).toBe(0);
    await window.text.getByText("fixed").click();
    await press(page, "End");
    for (let count = 0; count < ", // fixed".length; count += 1) await press(page, "Backspace");
    await press(page, "Control+s");
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(35);
    // The earlier message has been replaced.
    await reads(window.messages, /^Saved the file\./);
    const { result } = await screen.t.owner.call("history/list", { repo: "shop" });
    expect(result[0]).toMatchObject({ source: "file" });
    expect(await readFile(file, "utf8")).toContain("// half a minute");
    // A saved text leaves no draft.
    await poll(screen.drafts).toEqual([]);
    await window.view("Fields");
    await poll(() => window.timeout.inputValue()).toBe("35");
  });

  test("hides masked values and values without a schema until they are shown; hides everything if the text is not valid JSON", async () => {
    const token = { type: "string", default: "", "x-masked": true };
    await using screen = await startScreen({
      repositories: { shop: { "svc.timeout": 30, "svc.envvars": [{ name: "KEY", value: "hush-hush" }] } },
      scopes: { deploy: { type: "object", properties: { token } } },
    });
    await screen.set("shop", { "deploy.token": "quiet-please" });
    await using window = await screen.open();
    const { page } = window;
    await openText(window);
    await reads(window.text, `"timeout": 30`);
    const isHidden = async () => !/hush|quiet/.test(await window.text.innerText());
    expect(await isHidden()).toBe(true);
    await page.getByRole("button", { name: "Compare with" }).click();
    for (const side of ["The active values", "The file"]) {
      const text = page.getByRole("textbox", { name: side });
      await reads(text, `"timeout": 30`);
      expect(await text.innerText()).not.toMatch(/hush|quiet/);
    }
    await page.getByRole("button", { name: "Back to the text" }).click();
    // Without the schema, nothing says that the value is masked.
    await rm(join(screen.t.homeFolder, "scopes/deploy.schema.json"));
    // The problem that the page reports moves the text down: an earlier click would hit another line.
    await reads(page.getByRole("complementary", { name: "Problems with the file" }), `There is no scope "deploy"`);
    await reads(window.text, `"timeout": 30`);
    expect(await isHidden()).toBe(true);
    // Text typed next to a hidden value is saved together with it.
    await window.typeAfter("timeout", "5,", "Backspace", "Backspace");
    expect(await isHidden()).toBe(true);
    await press(page, "Control+s");
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(35);
    expect(await screen.stored("shop", "svc.envvars")).toEqual([{ name: "KEY", value: "hush-hush" }]);
    await page.getByRole("button", { name: "Show masked values" }).click();
    await reads(window.text, "hush-hush");
    await reads(window.text, "quiet-please");
    await page.getByRole("button", { name: "Hide masked values" }).click();
    await poll(isHidden).toBe(true);
    // If the text does not parse, nothing is shown, because a value could begin anywhere.
    const file = screen.t.repositoryFile("shop");
    await saveByRename(file, (await readFile(file, "utf8")).replace(`"config": {`, `"config" {`));
    await poll(() => window.text.innerText()).not.toMatch(/timeout|hush|quiet/);
  });

  test("completion offers field names and valid values; an invalid value is marked in place, with the reason", async () => {
    const window = await openScreen({ shop: { "svc.timeout": 30 } });
    const { screen, page } = window;
    await openText(window);
    await window.typeAfter("timeout", `,\n"refresh`);
    const options = page.getByRole("listbox").getByRole("option");
    const offered = async () => (await options.allInnerTexts()).map(text => text.trim());
    await poll(offered).toEqual([`"refresh_anchors"`, `"refresh_day"`, `"refresh_hour"`]);
    // A click immediately after typing a letter works.
    await page.keyboard.type("_");
    await options.first().click();
    await page.keyboard.type(": ");
    await press(page, "Control+Space");
    await poll(offered).toEqual(["true", "false"]);
    await options.first().click();
    await press(page, "Control+s");
    await poll(() => screen.stored("shop", "svc.refresh_anchors")).toBe(true);
    await window.typeAfter("timeout", "-7,", "Backspace", "Backspace", "Backspace");
    await press(page, "Control+Shift+M");
    const found = page.getByRole("listbox", { name: "Diagnostics" });
    await reads(found, "This must be at least 0.");
    await press(page, "Escape");
    await window.typeAfter("timeout", `\n"timeuot`);
    await press(page, "ArrowRight");
    await page.keyboard.type(": 1,");
    await press(page, "Control+Shift+M");
    await reads(found, `There is no field "svc.timeuot"`);
  });

  test("a file that changed in the meantime is never silently overwritten", async () => {
    await using screen = await startScreen({ repositories: { shop: { "svc.timeout": 30 } } });
    const file = screen.t.repositoryFile("shop");
    await using window = await screen.open();
    const { page } = window;
    await openText(window);
    await window.typeAfter("timeout", " // mine");
    await saveByRename(file, (await readFile(file, "utf8")).replace("30", "31 // theirs"));
    const conflict = page.getByRole("region", { name: "The file as text" }).getByRole("alert");
    await reads(conflict, "The file was changed elsewhere while you were editing it.");
    expect(await page.getByRole("button", { name: "Save file" }).isDisabled()).toBe(true);
    await reads(window.text, "// mine");
    // The keyboard shortcut does not overwrite it either.
    await window.text.focus();
    await press(page, "Control+s");
    await reads(window.messages, /changed in the meantime/);
    expect(await readFile(file, "utf8")).toContain("// theirs");
    await conflict.getByRole("button", { name: "Discard my changes" }).click();
    await reads(window.text, "// theirs");
    await conflict.waitFor({ state: "detached" });
    await poll(window.focused).not.toBe("body");
    await window.typeAfter("timeout", " and mine");
    await saveByRename(file, (await readFile(file, "utf8")).replace("31", "32"));
    await conflict.getByRole("button", { name: "Overwrite with mine" }).click();
    await poll(() => readFile(file, "utf8")).toContain("31 // theirs and mine");
  });
});
