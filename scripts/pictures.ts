/**
 * Pictures of the screen with the demo home, for the documents: `npm run pictures`, or into a folder of your own with
 * `npm run pictures -- FOLDER`. Those of a small window are to look at and not to keep.
 */
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pino } from "pino";
import type { Page } from "playwright-core";
import { createDaemon } from "../main/daemon/daemon.ts";
import { launchBrowser } from "../test/helpers/browser.ts";
import { fillDemoHome } from "./demo-home.ts";

const project = join(import.meta.dirname, "..");
const [asked] = process.argv.slice(2);
const folder = asked === undefined ? join(project, "docs/pictures") : resolve(asked);
const sizes = [
  { width: 1440, height: 900 },
  { width: 900, height: 700 },
];

const pages: readonly (readonly [name: string, visit: (page: Page) => Promise<void>])[] = [
  ["overview", page => page.getByRole("heading", { name: "Choose a repository" }).waitFor()],
  ["fields", openWebshop],
  ["edits", review],
  ["history", page => openView(page, "History", () => page.getByRole("heading", { name: "Revision 2" }).waitFor())],
  ["json", page => openView(page, "JSON", () => page.getByRole("textbox", { name: "Text of the file" }).waitFor())],
  ["broken", openBroken],
];

async function openWebshop(page: Page): Promise<void> {
  await page.getByRole("treeitem", { name: "webshop" }).click();
  await page.getByRole("treeitem", { name: "webshop" }).press("ArrowRight");
  await page.getByRole("heading", { name: "Services" }).waitFor();
}

async function openView(page: Page, view: string, ready: () => Promise<void>): Promise<void> {
  await openWebshop(page);
  await page.getByRole("navigation", { name: "Views" }).getByRole("button", { name: view }).click();
  await ready();
}

async function review(page: Page): Promise<void> {
  await openWebshop(page);
  await page.getByRole("spinbutton", { name: "Timeout" }).fill("90");
  await page.getByRole("spinbutton", { name: "Refresh hour" }).fill("5");
  await page.getByRole("button", { name: "Review" }).click();
  await page.getByRole("dialog").waitFor();
}

async function openBroken(page: Page): Promise<void> {
  await page.getByRole("treeitem", { name: "old blog" }).click();
  await page.getByRole("complementary", { name: "What is wrong with the file" }).waitFor();
}

// Its path is in the pictures, and should be the same each time.
const home = join(tmpdir(), "repoconf-demo");
await rm(home, { recursive: true, force: true });
await mkdir(home);
await fillDemoHome(home);
const logger = pino({ level: "silent" });
const daemon = await createDaemon({
  home,
  version: "0.1.0",
  port: 0,
  logger,
  screenFolder: join(project, "dist/screen"),
});
await using browser = await launchBrowser();
if (browser === undefined) throw new Error("there is no Chromium to take pictures with");
await mkdir(folder, { recursive: true });
for (const viewport of sizes) {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [name, visit] of pages) {
      const page = await browser.newPage({ viewport, colorScheme });
      await page.goto(daemon.createLink(60_000));
      await visit(page);
      // What the daemon tells meanwhile, and fonts.
      await page.waitForLoadState("networkidle");
      const suffix = viewport.width === 1440 ? "" : `-${viewport.width}`;
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}${suffix}.png`) });
      await page.close({ runBeforeUnload: false });
    }
  }
}
await daemon.close();
await rm(home, { recursive: true, force: true });
process.exit(0);
