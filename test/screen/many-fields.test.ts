import { expect, test } from "vitest";
import { describeScreen, openShop, poll, reads } from "../helpers/screen.ts";

const names = Array.from({ length: 400 }, (_, at) => `n${at}`);
const properties = Object.fromEntries(
  names.map(name => [name, { type: "integer", title: `Number ${name}`, default: 0 }]),
);

describeScreen("hundreds of fields", () => {
  test("have their titles in the page, their controls once they are near, by a link or by the filter too, and keep them", async () => {
    const scopes = { wide: { type: "object", properties } };
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
    // Out of sight, its text is in the page and not rendered.
    await field("Number n399").scrollIntoViewIfNeeded();
    await reads(field("Number n399"), "edited");
    await poll(() => control("n399").inputValue()).toBe("8");
    await save();
    expect(await screen.stored("shop", "wide")).toEqual({ n399: 8, n200: 9, n300: 10 });
  });
});
