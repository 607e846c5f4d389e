import { existsSync } from "node:fs";
import type { Browser } from "playwright-core";

/** Chromium switches for a test machine, instead of the package's, which disable what the origin tests rely on. */
const switches = ["--no-sandbox", "--no-zygote", "--disable-gpu"];
const installed = [
  "/usr/bin/google-chrome",
  "/usr/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** Launches a real Chromium: the one inside the npm package on Linux, else the installed Chrome. Undefined if there is none. */
export async function launchBrowser(more: readonly string[] = []): Promise<Browser | undefined> {
  const executablePath = await browserPath();
  if (executablePath === undefined) return undefined;
  const { chromium } = await import("playwright-core");
  return chromium.launch({ executablePath, args: [...switches, ...more], headless: true });
}

async function browserPath(): Promise<string | undefined> {
  if (process.platform === "linux" && process.arch === "x64") {
    const { default: packaged } = await import("@sparticuz/chromium");
    return packaged.executablePath();
  }
  return installed.find(path => existsSync(path));
}
