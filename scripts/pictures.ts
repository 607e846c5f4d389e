/**
 * Takes screenshots of the screen with the demo home, for the documents: `npm run pictures`, or `npm run pictures -- FOLDER` to write
 * them into another folder. Those of small windows are only for review and are not committed.
 */
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pino } from "pino";
import type { Page } from "playwright-core";
import { connect } from "../main/client/client.ts";
import { createDaemon } from "../main/daemon/daemon.ts";
import { launchBrowser } from "../test/helpers/browser.ts";
import { fillDemoHome } from "./demo-home.ts";

const project = join(import.meta.dirname, "..");
const [target] = process.argv.slice(2);
const folder = target === undefined ? join(project, "docs/pictures") : resolve(target);
const sizes = [
  { width: 1440, height: 900 },
  { width: 900, height: 700 },
  { width: 600, height: 900 },
];

interface Picture {
  readonly name: string;
  /** The URL's hash, as in renderer/state/place.ts. */
  readonly address: string;
  /** Prepares the page, and waits until it shows what the screenshot needs. */
  readonly ready: (page: Page) => Promise<void>;
}

const pictures: readonly Picture[] = [
  { name: "start", address: "#/", ready: page => heading(page, 1, "Needs attention") },
  { name: "fields", address: "#/repo/webshop/svc.timeout", ready: showTimeout },
  { name: "edits", address: "#/repo/webshop", ready: review },
  { name: "history", address: "#/repo/webshop/history", ready: page => heading(page, 2, "Revision 2") },
  { name: "json", address: "#/repo/webshop/json", ready: page => page.getByLabel("Text of the file").waitFor() },
  { name: "broken", address: "#/repo/old-blog", ready: page => page.getByLabel("Problems with the file").waitFor() },
  {
    name: "matrix",
    address: "#/matrix?q=field:proxy",
    ready: page => page.getByRole("gridcell", { name: /^on/ }).first().waitFor(),
  },
  { name: "activity", address: "#/activity", ready: page => page.getByRole("list", { name: "Changes" }).waitFor() },
  { name: "compare", address: "#/compare/webshop/:default", ready: page => page.getByRole("table").waitFor() },
  {
    name: "keys",
    address: "#/keys",
    ready: page => page.getByRole("button", { name: "Revoke… deploy tool" }).waitFor(),
  },
  { name: "new-key", address: "#/keys/new", ready: page => heading(page, 1, "Create a key") },
  { name: "sessions", address: "#/sessions", ready: page => heading(page, 1, "Sessions") },
];

function heading(page: Page, level: number, name: string): Promise<void> {
  return page.getByRole("heading", { level, name }).waitFor();
}

async function showTimeout(page: Page): Promise<void> {
  await page.getByRole("spinbutton", { name: "Timeout" }).waitFor();
  const details = page.getByRole("button", { name: "Details: Timeout" });
  if (await details.isVisible()) await details.click();
  await page
    .getByRole("button", { name: /^Revert revision/ })
    .first()
    .waitFor();
}

async function review(page: Page): Promise<void> {
  await page.getByRole("spinbutton", { name: "Timeout" }).fill("90");
  await page.getByRole("textbox", { name: "Provider" }).fill("elsewhere");
  await page.getByRole("button", { name: "Review" }).click();
  await page.getByRole("dialog").waitFor();
}

// The path is visible in the screenshots, so it has to be the same each time.
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
const client = await connect({ home });
await client.run("key/create", { name: "ci", grants: [{ repos: "*", fields: ["svc.*"], right: "read" }] });
await client.run("key/create", {
  name: "deploy tool",
  grants: [{ repos: ["webshop"], fields: ["svc.timeout", "svc.proxy_*"], right: "write" }],
});
/** Otherwise the sessions of earlier screenshots would appear in the list of sessions. */
async function endSessions(): Promise<void> {
  for (const { id, kind } of await client.run("key/list", {}))
    if (kind === "session") await client.run("key/revoke", { id });
}

await using browser = await launchBrowser();
if (browser === undefined) throw new Error("there is no Chromium to take pictures with");
await mkdir(folder, { recursive: true });
for (const viewport of sizes) {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const { name, address, ready } of pictures) {
      // A new context has no session, storage or cache.
      const context = await browser.newContext({ viewport, colorScheme });
      await endSessions();
      const page = await context.newPage();
      await page.goto(daemon.createLink(60_000));
      await page.getByText("Connected").waitFor();
      await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
      await ready(page);
      // Wait for events from the daemon and for fonts.
      await page.waitForLoadState("networkidle");
      const suffix = viewport.width === 1440 ? "" : `-${viewport.width}`;
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}${suffix}.png`) });
      // The daemon keeps drafts, so discard them before the next page opens.
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      if (name === "edits") {
        await page.getByRole("button", { name: "Discard all" }).click();
        // Wait until the daemon has discarded them too.
        await page.waitForTimeout(1_000);
      }
      await context.close();
    }
  }
}
client.close();
await daemon.close();
await rm(home, { recursive: true, force: true });
process.exit(0);
