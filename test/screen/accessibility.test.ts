import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { breakFile } from "../helpers/broken-file.ts";
import { describeScreen, openPage, type PageOptions, type ScreenPage, startScreen } from "../helpers/screen.ts";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
  }[];
}

/** What axe finds on the page as it is now. It comes through the browser's own tools, so the page's policy stays as it is. */
async function findings({ page }: ScreenPage): Promise<readonly string[]> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResults>("axe.run(document, { resultTypes: ['violations'] })");
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target.join(" ")}: ${failureSummary}`),
  );
}

const repositories = {
  shop: {
    "svc.timeout": 30,
    "svc.services": { web: { ready: "true", image: "node:24" } },
    "svc.envvars": [{ name: "TOKEN", value: "hunter2" }],
    "svc.proxy_aliases": ["www.test"],
  },
  broken: {},
};

describeScreen("axe", () => {
  for (const colorScheme of ["light", "dark"] as const) {
    const options: PageOptions = { colorScheme };

    test(`finds nothing without a session, nor on a page without a repository (${colorScheme})`, async () => {
      await using screen = await startScreen();
      await using visitor = await openPage(`http://${screen.t.screenHost}`, options);
      await visitor.page.getByRole("heading", { level: 1 }).waitFor();
      expect(await findings(visitor)).toEqual([]);
      await using window = await screen.open(options);
      await window.page.getByRole("heading", { name: "No repository yet" }).waitFor();
      expect(await findings(window)).toEqual([]);
    });

    test(`finds nothing on the overview, the fields, the history and the text (${colorScheme})`, async () => {
      await using screen = await startScreen({ repositories });
      await screen.t.owner.call("config/set", { repo: "shop", "svc.domain": "shop.test", reason: "a reason" });
      await breakFile(screen.t, "broken");
      await using window = await screen.open(options);
      const { page } = window;
      await page.getByRole("heading", { name: "Files with problems" }).waitFor();
      expect(await findings(window)).toEqual([]);
      await page.getByRole("searchbox", { name: /^Search/ }).fill("@modified");
      await window.row("Timeout").waitFor();
      await window.choose("shop");
      await page.getByRole("spinbutton", { name: "Timeout" }).fill("-1");
      await page.getByRole("textbox", { name: "Provider" }).fill("mine");
      await screen.set("shop", { "svc.provider": "theirs" });
      await window.field("Provider").getByRole("button", { name: "Keep mine" }).waitFor();
      expect(await findings(window)).toEqual([]);
      await window.view("History");
      await page.getByRole("heading", { level: 2, name: "Revision 3" }).waitFor();
      expect(await findings(window)).toEqual([]);
      await window.view("JSON");
      await page.getByRole("textbox", { name: "Text of the file" }).waitFor();
      expect(await findings(window)).toEqual([]);
      await page.getByRole("searchbox", { name: /^Search/ }).fill("");
      await window.choose("broken");
      await page.getByRole("complementary", { name: "What is wrong with the file" }).waitFor();
      await page.getByRole("textbox", { name: "Text of the file" }).waitFor();
      await page.getByRole("button", { name: "Compare with the values in service" }).click();
      await page.getByRole("textbox", { name: "The values in service" }).waitFor();
      expect(await findings(window)).toEqual([]);
    });

    test(`finds nothing in the dialogs and lists (${colorScheme})`, async () => {
      await using screen = await startScreen({ repositories });
      await screen.set("shop", { "svc.timeout": 31 });
      await using window = await screen.open(options);
      const { page } = window;
      const look = async (title: string) => {
        await page.getByRole("dialog", { name: title }).waitFor();
        expect(await findings(window)).toEqual([]);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      };
      await page.getByRole("banner").getByRole("button", { name: "Add a repository" }).click();
      await look("Add a repository");
      await window.choose("shop");
      await window
        .field("Refresh day")
        .getByRole("button", { name: /Refresh day$/ })
        .click();
      await page.getByRole("option", { name: "Friday" }).waitFor();
      expect(await findings(window)).toEqual([]);
      await page.getByRole("option", { name: "Friday" }).click();
      await page.getByRole("button", { name: "Review" }).click();
      await page.getByRole("row", { name: /refresh_day/ }).waitFor();
      await look("Review the edits");
      await page.getByRole("button", { name: "Discard all" }).click();
      await window.view("History");
      await page.getByRole("button", { name: "Restore… revision 2" }).click();
      await page
        .getByRole("row", { name: /svc\.timeout/ })
        .last()
        .waitFor();
      await look("Restore revision 2");
      await page.getByRole("button", { name: "Compare revision 2" }).click();
      await page.getByRole("button", { name: "Compare revision 3" }).click();
      await look("Revision 2 and revision 3");
    });
  }
});
