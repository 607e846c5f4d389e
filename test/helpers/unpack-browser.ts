import { browserPath } from "./browser.ts";

/** Runs before the tests: the browser in the npm package unpacks itself when it is asked for, and two at once would conflict. */
export async function setup(): Promise<void> {
  await browserPath();
}
