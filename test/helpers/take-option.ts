import type { Locator } from "playwright-core";

/** Takes an option of a choice. */
export async function takeOption(choice: Locator, option: string | RegExp): Promise<void> {
  await choice.click();
  await choice.page().getByRole("option", { name: option, exact: true }).click();
}
