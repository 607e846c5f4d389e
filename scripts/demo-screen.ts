/** The screen on the demo home, as the pictures of the documents show it: for `npm run pictures`, and for the test that they are current. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { connect } from "../main/client/client.ts";
import { createDaemon } from "../main/daemon/daemon.ts";
import { fillDemoHome } from "./demo-home.ts";

export interface Picture {
  readonly name: string;
  /** The URL's hash, as in renderer/state/place.ts. */
  readonly address: string;
  /** Prepares the page, and waits until it shows what the screenshot needs. */
  readonly ready: (page: Page) => Promise<void>;
}

export const pictures: readonly Picture[] = [
  {
    name: "start",
    address: "#/",
    ready: async page => {
      await heading(page, 1, "Needs attention");
      await page.getByText("Reading…").waitFor({ state: "detached" });
    },
  },
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

const project = join(import.meta.dirname, "..");

/** The names of the pictures that a document shows, each as its light version. */
export async function picturesInDocuments(): Promise<string[]> {
  const documents = ["README.md", ...(await readdir(join(project, "docs"))).map(name => join("docs", name))];
  const texts = documents.filter(name => name.endsWith(".md")).map(name => readFile(join(project, name), "utf8"));
  const all = (await Promise.all(texts)).join("\n");
  return [
    ...new Set([...all.matchAll(/\]\((?:docs\/)?pictures\/([\w-]+)-light\.png\)/g)].map(([, name = ""]) => name)),
  ];
}

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

/** Fills this empty folder with the demo home, and starts a daemon on it that serves the built screen. */
export async function startDemo(home: string) {
  await fillDemoHome(home);
  const daemon = await createDaemon({
    home,
    version: "0.1.0",
    port: 0,
    logger: pino({ level: "silent" }),
    screenFolder: join(project, "dist/screen"),
  });
  const client = await connect({ home });
  await client.run("key/create", { name: "ci", grants: [{ repos: "*", fields: ["svc.*"], right: "read" }] });
  await client.run("key/create", {
    name: "deploy tool",
    grants: [{ repos: ["webshop"], fields: ["svc.timeout", "svc.proxy_*"], right: "write" }],
  });
  return {
    /** Shows a picture's page in a context of its own, which has no session, storage or cache. */
    show: async ({ address, ready }: Picture, browser: Browser, options: BrowserContextOptions): Promise<Page> => {
      const context = await browser.newContext(options);
      // The daemon keeps what a page before has typed.
      const drafts = await client.run("draft/list", {});
      await client.run("draft/set", {
        removed: drafts.map(draft =>
          "field" in draft ? { repo: draft.repo, field: draft.field } : { repo: draft.repo },
        ),
      });
      // Otherwise the sessions of earlier pictures would appear in the list of sessions.
      for (const { id, kind } of await client.run("key/list", {}))
        if (kind === "session") await client.run("key/revoke", { id });
      const page = await context.newPage();
      await page.goto(daemon.createLink(60_000));
      await page.getByText("Connected").waitFor();
      await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
      await ready(page);
      return page;
    },
    close: async () => {
      client.close();
      await daemon.close();
    },
  };
}

/** What a page says: its texts, controls and their values, without what differs between moments and machines. */
export async function whatItSays(page: Page, home: string): Promise<string> {
  const text = await page.locator("body").ariaSnapshot();
  return `${text
    .replaceAll(home, "HOME")
    .replace(/\bjust now\b|\b\d+ (second|minute)s? ago\b/g, "WHEN")
    .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, "TIME")}\n`;
}
