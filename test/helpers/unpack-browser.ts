import { launchBrowser } from "./browser.ts";

/** Runs before the tests: the browser in the npm package unpacks itself at its first start, and two at once would conflict. */
export async function setup(): Promise<void> {
  const browser = await launchBrowser();
  await browser?.close();
}
