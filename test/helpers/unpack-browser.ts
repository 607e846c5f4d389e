import { launchBrowser } from "./browser.ts";

/** Before the tests: the browser inside the npm package unpacks itself when it is first started, and two at once would clash. */
export async function setup(): Promise<void> {
  const browser = await launchBrowser();
  await browser?.close();
}
