import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { entriesIn, maxEntries } from "../../renderer/palette/entries.ts";
import { placeAt } from "../../renderer/state/place.ts";
import { svcSchema } from "../../shared/scopes/svc.ts";
import { describeScreen, dismiss, openScreen, poll, press, reads, startScreen } from "../helpers/screen.ts";

const repositories = { shop: { "svc.timeout": 30 }, store: {} };

function paletteOf(page: Page) {
  const input = page.getByRole("combobox", { name: "Find a place or a command" });
  const options = page.getByRole("listbox", { name: "Places and commands" }).getByRole("option");
  return {
    input,
    options,
    titles: () => options.locator(".palette-title").allInnerTexts(),
    selected: page.getByRole("listbox", { name: "Places and commands" }).getByRole("option", { selected: true }),
    open: async () => {
      await press(page, "Control+k");
      await poll(() => input.and(page.locator(":focus")).count()).toBe(1);
    },
    /** Chooses the first entry for a text. */
    choose: async (text: string) => {
      await press(page, "Control+k");
      await poll(() => input.and(page.locator(":focus")).count()).toBe(1);
      await page.keyboard.type(text);
      await poll(() => options.first().locator(".palette-title").innerText()).toBe(text);
      await press(page, "Enter");
      await input.waitFor({ state: "detached" });
    },
  };
}

describeScreen("the palette and the keys", () => {
  test("the palette finds fields, also by the names of repository and field, and goes there; lists recent places first", async () => {
    const { page, focused, choose, hash } = await openScreen(repositories);
    const palette = paletteOf(page);
    await choose("shop");
    await palette.choose("Timeout");
    await poll(focused).toBe("spinbutton Timeout");
    await poll(hash).toBe("#/repo/shop/svc.timeout");
    // While the focus is in a text field.
    await palette.open();
    await page.keyboard.type("store refr day");
    await reads(palette.selected, "store · svc.refresh_day");
    await press(page, "Enter");
    await poll(hash).toBe("#/repo/store/svc.refresh_day");
    await poll(focused).toMatch(/^button .*Refresh day$/);
    await palette.open();
    await reads(palette.selected, /shop\s+svc\.timeout/);
    expect(await palette.selected.innerText()).toMatch(/Recent/);
    await press(page, "Enter");
    await poll(focused).toBe("spinbutton Timeout");
    await palette.open();
    await page.keyboard.type("store");
    await reads(palette.selected, "Repository");
    await press(page, "Enter");
    await poll(hash).toBe("#/repo/store");
    await poll(focused).toMatch(/^main/);
  });

  test("the palette returns the focus when closed; arrow keys choose, and the last entry searches", async () => {
    const { page, focused, choose, timeout, row } = await openScreen(repositories);
    const palette = paletteOf(page);
    await choose("shop");
    await timeout.focus();
    await palette.open();
    await dismiss(palette.input);
    await poll(focused).toBe("spinbutton Timeout");
    await palette.open();
    await page.keyboard.type("proxy");
    await poll(palette.titles).toContain("Proxy URL");
    const [first, second] = await palette.titles();
    await press(page, "ArrowDown");
    await reads(palette.selected, second ?? "");
    expect(await palette.input.getAttribute("aria-activedescendant")).toBe(await palette.selected.getAttribute("id"));
    await press(page, "ArrowUp");
    await reads(palette.selected, first ?? "");
    await press(page, "ArrowUp");
    await reads(palette.selected, "Search for “proxy”");
    await press(page, "Enter");
    await poll(() => page.getByRole("searchbox", { name: /^Search/ }).inputValue()).toBe("proxy");
    await poll(focused).toMatch(/^input Search repositories/);
    await row("Proxy URL").first().waitFor();
  });

  test("the palette lists every action that applies, and each one does what it says", async () => {
    const { screen, page, focused, row, hash, choose, timeout } = await openScreen(repositories);
    const palette = paletteOf(page);
    const dialog = (name: string) => page.getByRole("dialog", { name });
    const close = async (name: string) => {
      await dialog(name).waitFor();
      await dismiss(dialog(name));
    };
    const stored = () => screen.stored("shop", "svc.timeout");
    await row("shop").waitFor();
    await palette.open();
    await poll(palette.titles).toEqual([
      "Undo the last edit or save",
      "Redo the last undo",
      "Search repositories, fields and values",
      "Add a repository",
      "Start page",
      "Matrix",
      "Activity",
      "Keys",
      "Sessions",
      "Create a key",
      "Next part of the screen",
      "Previous part of the screen",
      "Show keyboard shortcuts",
      "Sign out",
    ]);
    await press(page, "Escape");
    await palette.choose("Add a repository");
    await close("Add a repository");
    await palette.choose("Show keyboard shortcuts");
    await close("Keys");
    for (const [title, address, place] of [
      ["Search repositories, fields and values", "#/", /^input Search repositories/],
      ["Next part of the screen", "#/", /^button Add a repository/],
      ["Previous part of the screen", "#/", /^input Search repositories/],
      ["Sessions", "#/sessions", /^main/],
      // The focus goes to the key's name, the first input.
      ["Create a key", "#/keys/new", /^input/],
      ["Keys", "#/keys", /^main/],
      ["Start page", "#/", /^main/],
    ] as const) {
      await palette.choose(title);
      await poll(hash).toBe(address);
      await poll(focused).toMatch(place);
    }

    await choose("shop");
    for (const [title, view] of [
      ["Next view of the repository", "/history"],
      ["Previous view of the repository", ""],
      ["JSON of shop", "/json"],
    ]) {
      await palette.choose(title ?? "");
      await poll(hash).toBe(`#/repo/shop${view}`);
    }
    await palette.choose("Filter fields");
    await poll(focused).toBe("input Filter fields");
    await timeout.fill("40");
    await palette.choose("Discard all edits");
    await poll(() => timeout.inputValue()).toBe("30");
    await timeout.fill("50");
    await palette.choose("Review edits");
    await close("Review edits");
    await palette.choose("Save edits");
    await poll(stored).toBe(50);
    await palette.choose("Undo the last edit or save");
    await poll(stored).toBe(30);
    await palette.choose("Redo the last undo");
    await poll(stored).toBe(50);
    await palette.choose("Sign out");
    await reads(page.getByRole("alert"), "This session has ended.");
  });

  test("keyboard shortcuts are all listed by ?, except while typing text, and the palette shows the same ones", async () => {
    const { page, focused, choose, provider } = await openScreen(repositories);
    const palette = paletteOf(page);
    await choose("shop");
    await provider.fill("");
    await page.keyboard.type("who?");
    expect(await provider.inputValue()).toBe("who?");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await palette.open();
    const shortcuts = await palette.options.evaluateAll(options =>
      options.flatMap(option => {
        const keys = option.querySelector("kbd")?.textContent;
        return keys ? [[option.querySelector(".palette-title")?.textContent ?? "", keys]] : [];
      }),
    );
    await dismiss(palette.input);
    await page.getByRole("link", { name: "History" }).focus();
    await press(page, "?");
    const dialog = page.getByRole("dialog", { name: "Keys" });
    await dialog.waitFor();
    const listed = await dialog
      .locator("section:not(:last-child) dl > div")
      .evaluateAll(lines =>
        lines.map(line => [line.querySelector("dt")?.textContent, line.querySelector("kbd")?.textContent]),
      );
    expect(listed).toHaveLength(13);
    expect(listed.toSorted()).toEqual([...shortcuts, ["Find a place or a command", "Ctrl K"]].toSorted());
    await dismiss(dialog);
    await poll(focused).toBe("a History");
  });

  test("F6 cycles through the parts of the screen and returns to the original element", async () => {
    const window = await openScreen(repositories, { page: { width: 1440, height: 900 } });
    const { page, focused, choose, provider, timeout, inspector } = window;
    await choose("shop");
    await provider.fill("here");
    await timeout.focus();
    await inspector.getByRole("link").waitFor();
    const round = ["spinbutton Timeout", /^(a|button) /, "button Discard all", "a Repoconf", /^treeitem shop/] as const;
    for (const key of ["F6", "Shift+F6"])
      for (const expected of key === "F6" ? round : [round[0], ...round.slice(1).toReversed()]) {
        await poll(focused).toMatch(expected);
        await press(page, key);
      }
    await poll(focused).toBe("spinbutton Timeout");
    // A part restores the focus to the element that had it.
    await page.getByRole("link", { name: "Sessions" }).focus();
    await press(page, "F6", "Shift+F6");
    await poll(focused).toBe("a Sessions");
    // In a narrow window the repositories are hidden, so F6 skips them.
    await page.setViewportSize({ width: 600, height: 900 });
    await press(page, "F6");
    await poll(focused).toBe("spinbutton Timeout");
  });

  test("Ctrl Enter opens the review from any control, and the focus returns there", async () => {
    const { page, focused, choose, timeout, field } = await openScreen(repositories);
    const review = page.getByRole("dialog", { name: "Review edits" });
    await choose("shop");
    await timeout.focus();
    await press(page, "Control+Enter");
    expect(await review.count()).toBe(0);
    await timeout.fill("77");
    await press(page, "Control+Enter");
    await review.getByRole("row", { name: /svc\.timeout/ }).waitFor();
    await dismiss(review);
    await poll(focused).toBe("spinbutton Timeout");
    // Enter opens a select; Ctrl Enter does not.
    const choice = field("Refresh day").getByRole("button", { name: /^\w+ Refresh day$/ });
    await choice.focus();
    await press(page, "Control+Enter");
    await review.waitFor();
    await dismiss(review);
    await poll(focused).toMatch(/Refresh day$/);
    expect(await page.getByRole("option").count()).toBe(0);
  });

  test("keyboard shortcuts do nothing behind a dialog", async () => {
    const { screen, page, focused, choose, provider, save, timeout, hash } = await openScreen(repositories);
    await choose("shop");
    await provider.fill("here");
    await save();
    await timeout.fill("77");
    const add = page.getByRole("dialog", { name: "Add a repository" });
    await page.getByRole("banner").getByRole("button", { name: "Add a repository" }).click();
    await add.getByRole("button", { name: "Cancel" }).focus();
    const before = await page.getByRole("main").innerText();
    for (const key of ["Control+k", "?", "/", "F6", "Shift+F6", "Control+s", "Control+z", "Alt+PageDown"]) {
      await press(page, key);
      expect(await page.getByRole("dialog").count()).toBe(1);
      await poll(focused).toBe("button Cancel");
    }
    // This may press the focused button, as Enter does.
    await press(page, "Control+Enter");
    expect(await page.getByRole("dialog", { name: "Review edits" }).count()).toBe(0);
    await dismiss(add);
    await poll(focused).toBe("button Add a repository");
    await poll(hash).toBe("#/repo/shop/svc.timeout");
    expect(await page.getByRole("main").innerText()).toBe(before);
    expect(await screen.stored("shop", "svc.timeout")).toBe(30);
    expect(await screen.stored("shop", "svc.provider")).toBe("here");
  });

  test("keyboard shortcuts use the Mac's keys on a Mac", async () => {
    await using screen = await startScreen({ repositories });
    const initialScript = `Object.defineProperty(navigator, "userAgent", { get: () => "Macintosh; Intel Mac OS X" });`;
    await using window = await screen.open({ initialScript });
    const { page } = window;
    const palette = paletteOf(page);
    await reads(page.getByRole("button", { name: /^Commands/ }), "⌘ K");
    await press(page, "Meta+k");
    await palette.input.waitFor();
    await reads(palette.options.filter({ hasText: "Redo" }), "⌘ Shift Z");
  });

  test("the header shows all its items, or has them in its menu, however wide the window is", async () => {
    const { page, focused } = await openScreen(repositories);
    const header = page.getByRole("banner");
    await header.getByText("Connected").waitFor();
    for (const width of [1_440, 1_250, 900, 600]) {
      await page.setViewportSize({ width, height: 800 });
      // All at once: a part may go while the header follows the window.
      const cutOff = () =>
        header.locator("a:visible, button:visible, p").evaluateAll((parts, edge) => {
          const isCutOff = (part: (typeof parts)[number]) => {
            const { left, right } = part.getBoundingClientRect();
            return left < 0 || right > edge || part.scrollWidth > part.clientWidth;
          };
          return parts.filter(isCutOff).map(part => part.textContent);
        }, width);
      await poll(cutOff).toEqual([]);
      const more = header.getByRole("button", { name: "More" });
      if ((await more.count()) === 0) {
        await header.getByRole("button", { name: "Sign out" }).waitFor();
        continue;
      }
      await more.press("Enter");
      const items = ["Undo", "Redo", "Add a repository", "Sign out"];
      await poll(() => page.getByRole("menuitem").locator(".menu-text").allInnerTexts()).toEqual(items);
      await page.getByRole("menuitem", { name: "Add a repository" }).press("Enter");
      await page.getByRole("dialog", { name: "Add a repository" }).waitFor();
      await dismiss(page.getByRole("dialog"));
      await poll(focused).toBe("button More");
      await header.getByRole("button", { name: /^Commands/ }).click();
      await paletteOf(page).input.waitFor();
      await dismiss(paletteOf(page).input);
    }
  });
});

test("the palette's list stays short with 10,000 repositories, and still finds any field of any of them", () => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({
    id: `r${index}`,
    name: `service-${index}`,
    path: `/src/service-${index}`,
    inTree: false,
    health: [],
    modified: 0,
    revision: 1,
  }));
  const find = entriesIn(
    { repositories: many, scopes: [{ scope: "svc", schema: svcSchema }], place: placeAt("#/repo/r5"), recent: [] },
    [],
  );
  for (const query of ["", "s", "service", "service 9", "e"])
    expect(find(query).length).toBeLessThanOrEqual(maxEntries);
  expect(find("service").at(-1)?.target).toEqual({ query: "service" });
  expect(find("service-9999 timeout")[0]?.target).toEqual({ place: placeAt("#/repo/r9999/svc.timeout") });
  expect(find("timeout")[0]?.target).toEqual({ place: placeAt("#/repo/r5/svc.timeout") });
});
