import { existsSync } from "node:fs";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { patience } from "./patience.ts";

/** How many times slower than usual pages run: a test that assumes instead of waiting fails then. */
const slowPages = Number(process.env["TEST_SLOW_PAGES"] ?? 1);

/** Chromium switches for a test machine, instead of the package's, which disable what the origin tests rely on. */
const switches = ["--no-sandbox", "--no-zygote", "--disable-gpu"];
const installed = [
  "/usr/bin/google-chrome",
  "/usr/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** Launches a real Chromium: the one inside the npm package on Linux, else the installed Chrome. Undefined if there is none; throws if it does not start. */
export async function launchBrowser(more: readonly string[] = []): Promise<Browser | undefined> {
  const executablePath = await browserPath();
  if (executablePath === undefined) return undefined;
  const { chromium } = await import("playwright-core");
  return chromium.launch({ executablePath, args: [...switches, ...more], headless: true, timeout: patience });
}

/** A context of its own for pages, which wait for everything as long as a busy machine needs. */
export async function openContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(patience);
  if (slowPages > 1) context.on("page", page => throttle(page).catch(() => {}));
  return context;
}

/** Fails only for a page that has closed already. */
async function throttle(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: slowPages });
}

/** Where the browser is: the one of the npm package is unpacked by the first call. */
export async function browserPath(): Promise<string | undefined> {
  if (process.platform === "linux" && process.arch === "x64") {
    const { default: packaged } = await import("@sparticuz/chromium");
    return packaged.executablePath();
  }
  return installed.find(path => existsSync(path));
}
