/**
 * Measures how fast the screen is with 10,000 repositories, using the browser's long task entries. Run it by hand on the built screen:
 *
 *   npm run build && node test/bench/screen.ts [REPOSITORIES]
 *
 * The goals: rows within 300 ms of the script's start, and no task over 50 ms while typing in the search and scrolling. It fails if the
 * page does not show what is measured.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Locator, Page } from "playwright-core";
import { launchBrowser, openContext } from "../helpers/browser.ts";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const count = Number(process.argv[2] ?? 10_000);
const screenFolder = join(import.meta.dirname, "../../dist/screen");

interface LongTask {
  readonly start: number;
  readonly duration: number;
}

/** Records long tasks and the time when the first row was painted. */
const observer = `
  window.longTasks = [];
  new PerformanceObserver(list => {
    for (const { startTime, duration } of list.getEntries()) longTasks.push({ start: startTime, duration });
  }).observe({ type: "longtask", buffered: true });
  const seen = new MutationObserver(() => {
    if (document.querySelector("[role=treeitem]") === null) return;
    seen.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => { window.firstRows = performance.now(); }));
  });
  seen.observe(document, { subtree: true, childList: true });
`;

await using home = await temporaryFolder();
await mkdir(join(home.path, "repos"));
for (let index = 0; index < count; index += 1) {
  const name = `repository ${String(index).padStart(5, "0")}`;
  const config = index % 3 === 0 ? { svc: { timeout: index, domain: `n${index}.test` } } : {};
  await writeFile(join(home.path, "repos", `r${index}.json`), JSON.stringify({ name, config }));
}
await using t = await startTestDaemon({ home: home.path, screenFolder });
// Answered once the daemon has read all files, which only happens when a home has no index.
await t.owner.call("repo/list", { limit: 1 });
t.owner.socket.close();
const browser = await launchBrowser();
if (browser === undefined) throw new Error("there is no browser");
try {
  const context = await openContext(browser, { viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const failures: string[] = [];
  page.on("pageerror", ({ message }) => failures.push(message));
  await page.addInitScript(observer);
  await untilIdle();
  await page.goto(t.daemon.createLink(60_000));
  await page.getByRole("treeitem").first().waitFor();
  // Poll, because the page's Content Security Policy forbids the eval that Playwright's waitForFunction needs.
  while (!(await page.evaluate<boolean>("window.firstRows !== undefined"))) await delay(20);
  const start = await page.evaluate<number>(
    "performance.getEntriesByType('resource').find(({ name }) => name.endsWith('.js')).responseEnd",
  );
  const first = await page.evaluate<number>("window.firstRows");
  print(`${count} repositories`);
  print(`first rows painted ${(first - start).toFixed(0)} ms after the script's start`);
  await report(page, "from the start to the first rows", 0);

  await measure(page, "typing in the search", async () => {
    const search = page.getByRole("searchbox", { name: /^Search/ });
    const find = async (query: string, found: RegExp) => {
      await search.fill("");
      await search.pressSequentially(query, { delay: 60 });
      await page.getByRole("treeitem", { name: found }).first().waitFor();
      await delay(500);
    };
    await find("repository 0012 ", /^repository \d*0012/);
    await isGone(page.getByRole("treeitem"), /^repository 00001/);
    await find("timeout", /^Timeout/);
    await find("@modified", /^Domain/);
    await search.fill("");
    await page.getByRole("treeitem", { name: /^repository 00000/ }).waitFor();
    await delay(500);
  });
  await measure(page, "scrolling", async () => {
    await page.getByRole("tree").hover();
    for (let step = 0; step < 100; step += 1) {
      await page.mouse.wheel(0, 1_500);
      await delay(16);
    }
    await isGone(page.getByRole("treeitem"), /^repository 00001/);
  });
  await measure(page, "arrows, End and Home", async () => {
    await page.getByRole("treeitem").first().focus();
    for (const key of ["End", "ArrowUp", "ArrowUp", "Home", ...Array<string>(40).fill("ArrowDown")]) {
      await page.keyboard.press(key);
    }
    // The fortieth after the first.
    await page
      .getByRole("treeitem", { name: /^repository 00040/ })
      .and(page.locator(":focus"))
      .waitFor();
  });
  await measure(page, "opening a repository", async () => {
    await page.getByRole("treeitem").first().click();
    await page.getByRole("spinbutton", { name: "Timeout" }).waitFor();
    await page.keyboard.press("ArrowRight");
    await delay(500);
  });
  await measure(page, "typing in a field", async () => {
    const provider = page.getByRole("textbox", { name: "Provider" });
    await provider.pressSequentially("somebody", { delay: 60 });
    await until(async () => (await provider.inputValue()) === "somebody", "what was typed");
    await delay(300);
  });
  await measure(page, "opening the matrix of all", async () => {
    await page.evaluate("location.hash = '#/matrix'");
    await page.getByRole("gridcell", { name: /^0 seconds/ }).waitFor();
    await delay(1_000);
  });
  await measure(page, "scrolling the matrix", async () => {
    await page.getByRole("grid").hover();
    for (let step = 0; step < 100; step += 1) {
      await page.mouse.wheel(step % 10 === 0 ? 300 : 0, 1_500);
      await delay(16);
    }
    await isGone(page.getByRole("rowheader"), /^repository 00001/);
  });
  if (failures.length > 0) throw new Error(`errors in the page: ${failures.join("; ")}`);
} finally {
  await browser.close();
}

/** Waits until this process is idle: the startup of daemon and browser must not be measured, because people have them running. */
async function untilIdle(): Promise<void> {
  await delay(2_000);
  for (let busy = true; busy; ) {
    const before = process.cpuUsage();
    await delay(1_000);
    const { user, system } = process.cpuUsage(before);
    busy = user + system > 20_000;
  }
}

/** Waits until such elements are shown, but not the one with this text. (The first one is always in the page: it can have the focus.) */
function isGone(locator: Locator, text: RegExp): Promise<void> {
  return until(async () => {
    const texts = await locator.allInnerTexts();
    return texts.length > 0 && !texts.some(one => text.test(one));
  }, `${text} to be gone`);
}

async function measure(page: Page, what: string, work: () => Promise<void>): Promise<void> {
  const from = await page.evaluate<number>("performance.now()");
  await work();
  await report(page, what, from);
}

async function report(page: Page, what: string, from: number): Promise<void> {
  const tasks = (await page.evaluate<readonly LongTask[]>("window.longTasks")).filter(({ start }) => start >= from);
  const times = tasks.map(({ duration }) => duration.toFixed(0)).join(", ");
  print(`${what}: ${tasks.length === 0 ? "no task over 50 ms" : `tasks of ${times} ms`}`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
