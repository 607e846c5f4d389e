import { expect, test } from "vitest";
import { describeScreen, openShop, poll, reads } from "../helpers/screen.ts";

const named = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`n${at}`, { type: "integer", title: `Number n${at}`, default: 0 }]),
  );

describeScreen("fields in great numbers", () => {
  test("have their titles in the page, their controls once they are near, by a link or by the filter too, and keep them in use", async () => {
    const scopes = { wide: { type: "object", properties: named(400) } };
    const { page, field, goTo, save, screen } = await openShop({ "wide.n399": 7 }, { scopes });
    const control = (name: string) => field(`Number ${name}`).getByRole("spinbutton");
    await poll(() => field("Number n399").count()).toBe(1);
    expect(await control("n399").count()).toBe(0);
    await field("Number n399").scrollIntoViewIfNeeded();
    await control("n399").fill("8");
    expect(await control("n200").count()).toBe(0);
    await goTo("#/repo/shop/wide.n200");
    await control("n200").fill("9");
    await page.getByRole("searchbox", { name: "Filter fields" }).fill("n300");
    await control("n300").fill("10");
    await page.getByRole("button", { name: "Show all fields" }).click();
    await field("Number n399").scrollIntoViewIfNeeded();
    await reads(field("Number n399"), "edited");
    await poll(() => control("n399").inputValue()).toBe("8");
    await save();
    expect(await screen.stored("shop", "wide")).toEqual({ n399: 8, n200: 9, n300: 10 });
  });

  test("never have more controls in the page than are near and in use, wherever one scrolls, and lose none of their places", async () => {
    const secret = { type: "string", title: "Secret", default: "", "x-masked": true };
    const scopes = { wide: { type: "object", properties: { secret, ...named(2_000) } } };
    const { page, field } = await openShop({ "wide.secret": "hidden" }, { scopes });
    const row = (at: number) => page.locator(`[id="field-wide.n${at}"]`);
    const rows = page.locator('[id^="field-wide"]');
    const controls = () => rows.locator("input").count();
    await poll(() => rows.count()).toBe(2_001);
    await field("Secret").getByRole("button", { name: "Show values" }).click();
    // What lost its controls gets them again, at the same place.
    for (const at of [...Array.from({ length: 13 }, (_, step) => step * 150), 1_000]) {
      await row(at).scrollIntoViewIfNeeded();
      await row(at).locator("input").focus();
    }
    await poll(controls).toBeLessThan(300);
    expect(await rows.count()).toBe(2_001);
    expect(await field("Secret").getByRole("button", { name: "Hide values" }).count()).toBe(1);
    await page.getByRole("searchbox", { name: "Filter fields" }).fill("n19");
    await poll(() => rows.count()).toBe(111);
    await page.getByRole("button", { name: "Show all fields" }).click();
    await poll(controls).toBeLessThan(300);
  });
});
