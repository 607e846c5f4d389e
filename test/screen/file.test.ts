import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { replaceFile } from "../helpers/broken-file.ts";
import { describeScreen, openScreen, poll, press, reads, type ScreenPage, startScreen } from "../helpers/screen.ts";

const editorName = "Text of the file";

/** Moves the cursor to the end of the line that contains this text. */
async function toEndOfLine({ page }: ScreenPage, text: string): Promise<void> {
  await page.getByRole("textbox", { name: editorName }).getByText(text).click();
  await press(page, "End");
}

async function openText(window: ScreenPage): Promise<void> {
  await window.choose("shop");
  await window.view("JSON");
  await window.page.getByRole("textbox", { name: editorName }).waitFor();
}

describeScreen("the file as text", () => {
  test("is saved as a revision by hand; comments stay", async () => {
    await using screen = await startScreen({ repositories: { shop: { "svc.timeout": 30 } } });
    const file = screen.t.repositoryFile("shop");
    await replaceFile(
      file,
      (await screen.t.readRepository("shop")).replace(`"timeout"`, `// half a minute\n      "timeout"`),
    );
    await using window = await screen.open();
    const { page } = window;
    await openText(window);
    const editor = page.getByRole("textbox", { name: editorName });
    await reads(editor, "// half a minute");
    await editor.getByText(`"timeout"`).click();
    await press(page, "End", "Backspace");
    await page.keyboard.type("5, // fixed");
    await page.getByRole("button", { name: "Save file" }).click();
    await reads(window.messages, /Saved the file, but some values are invalid: line \d+, column \d+: /);
    // The trailing comma makes the file invalid, which is reported.
    await page.getByRole("complementary", { name: "Problems with the file" }).waitFor();
    // A comment offers no completions.
    expect(await page.getByRole("listbox").count()).toBe(0);
    await editor.getByText("fixed").click();
    await press(page, "End");
    for (let count = 0; count < ", // fixed".length; count += 1) await press(page, "Backspace");
    await press(page, "Control+s");
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(35);
    // The earlier message has been replaced.
    await reads(window.messages, /^Saved the file\./);
    const { result } = await screen.t.owner.call("history/list", { repo: "shop" });
    expect(result[0]).toMatchObject({ source: "file" });
    expect(await readFile(file, "utf8")).toContain("// half a minute");
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
    const editor = page.getByRole("textbox", { name: editorName });
    await reads(editor, `"timeout": 30`);
    const isHidden = async () => !/hush|quiet/.test(await editor.innerText());
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
    await reads(editor, `"timeout": 30`);
    expect(await isHidden()).toBe(true);
    // Text typed next to a hidden value is saved together with it.
    await toEndOfLine(window, `"timeout"`);
    await press(page, "Backspace", "Backspace");
    await page.keyboard.type("5,");
    expect(await isHidden()).toBe(true);
    await press(page, "Control+s");
    await poll(() => screen.stored("shop", "svc.timeout")).toBe(35);
    expect(await screen.stored("shop", "svc.envvars")).toEqual([{ name: "KEY", value: "hush-hush" }]);
    await page.getByRole("button", { name: "Show masked values" }).click();
    await reads(editor, "hush-hush");
    await reads(editor, "quiet-please");
    await page.getByRole("button", { name: "Hide masked values" }).click();
    await poll(isHidden).toBe(true);
    // If the text does not parse, nothing is shown, because a value could begin anywhere.
    const file = screen.t.repositoryFile("shop");
    await replaceFile(file, (await readFile(file, "utf8")).replace(`"config": {`, `"config" {`));
    await poll(() => editor.innerText()).not.toMatch(/timeout|hush|quiet/);
  });

  test("completion offers field names and valid values; an invalid value is marked in place, with the reason", async () => {
    await using window = await openScreen({ shop: { "svc.timeout": 30 } });
    const { screen, page } = window;
    await openText(window);
    await toEndOfLine(window, `"timeout"`);
    await page.keyboard.type(`,\n"refresh`);
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
    await toEndOfLine(window, `"timeout"`);
    await press(page, "Backspace", "Backspace", "Backspace");
    await page.keyboard.type("-7,");
    await press(page, "Control+Shift+M");
    const found = page.getByRole("listbox", { name: "Diagnostics" });
    await reads(found, "This must be at least 0.");
    await press(page, "Escape");
    await toEndOfLine(window, `"timeout"`);
    await page.keyboard.type(`\n"timeuot`);
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
    const editor = page.getByRole("textbox", { name: editorName });
    await toEndOfLine(window, `"timeout"`);
    await page.keyboard.type(" // mine");
    await replaceFile(file, (await readFile(file, "utf8")).replace("30", "31 // theirs"));
    const conflict = page.getByRole("region", { name: "The file as text" }).getByRole("alert");
    await reads(conflict, "The file was changed elsewhere while you were editing it.");
    expect(await page.getByRole("button", { name: "Save file" }).isDisabled()).toBe(true);
    await reads(editor, "// mine");
    // The keyboard shortcut does not overwrite it either.
    await editor.focus();
    await press(page, "Control+s");
    await reads(window.messages, /changed in the meantime/);
    expect(await readFile(file, "utf8")).toContain("// theirs");
    await conflict.getByRole("button", { name: "Discard my changes" }).click();
    await reads(editor, "// theirs");
    await conflict.waitFor({ state: "detached" });
    await poll(window.focused).not.toBe("body");
    await toEndOfLine(window, `"timeout"`);
    await page.keyboard.type(" and mine");
    await replaceFile(file, (await readFile(file, "utf8")).replace("31", "32"));
    await conflict.getByRole("button", { name: "Overwrite with mine" }).click();
    await poll(() => readFile(file, "utf8")).toContain("31 // theirs and mine");
  });
});
