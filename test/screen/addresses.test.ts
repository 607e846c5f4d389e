import { describe, expect, test } from "vitest";
import { addressOf, placeAt } from "../../renderer/state/place.ts";
import { describeScreen, openScreen, poll, reads } from "../helpers/screen.ts";
import { takeOption } from "../helpers/take-option.ts";

describeScreen("every place has an address", () => {
  test("Back, Forward and a reload restore the place", async () => {
    const window = await openScreen({ shop: { "svc.timeout": 30 }, store: {} });
    const { page, row, hash, choose, view, text, history } = window;
    const title = (name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
    await row("shop").waitFor();
    // The link's code has been removed.
    await poll(hash).toBe("#/");
    await poll(() => page.title()).toBe("Repoconf");
    await choose("shop");
    await poll(hash).toBe("#/repo/shop");
    await poll(() => page.title()).toBe("shop · Repoconf");
    await view("History");
    await poll(hash).toBe("#/repo/shop/history");
    await poll(() => page.title()).toBe("History · shop · Repoconf");
    // Another repository shows the same view.
    await choose("store");
    await poll(hash).toBe("#/repo/store/history");
    await view("JSON");
    await text.waitFor();
    await poll(hash).toBe("#/repo/store/json");
    await page.goBack();
    await page.goBack();
    await title("shop");
    await page.getByRole("heading", { level: 2, name: "Revision 2" }).waitFor();
    await page.goForward();
    await title("store");
    await page.reload();
    await title("store");
    await history.waitFor();
    await poll(hash).toBe("#/repo/store/history");
  });

  test("a field's address shows the field, and its history has its own address", async () => {
    const window = await openScreen({ shop: [{ "svc.timeout": 30 }, { "svc.provider": "here" }] });
    const { page, row, goTo, field, inspector, hash, history } = window;
    await row("shop").waitFor();
    await goTo("#/repo/shop/svc.refresh_day");
    await field("Refresh day").and(page.locator("[aria-current='true']")).waitFor();
    await reads(inspector, "Refresh day");
    await field("Timeout").getByRole("spinbutton").focus();
    await poll(hash).toBe("#/repo/shop/svc.timeout");
    await inspector.getByRole("link", { name: "All changes of svc.timeout" }).click();
    await poll(hash).toBe("#/repo/shop/history?field=svc.timeout");
    const entries = history.getByRole("heading", { level: 2 });
    await poll(() => entries.allInnerTexts()).toEqual(["Revision 2"]);
    await takeOption(history.getByRole("button", { name: /Field$/ }), "svc.provider");
    await poll(() => entries.allInnerTexts()).toEqual(["Revision 3"]);
    await poll(hash).toBe("#/repo/shop/history?field=svc.provider");
    await page.goBack();
    await poll(() => entries.allInnerTexts()).toEqual(["Revision 2"]);
  });

  test("an unknown address says so, and shows what is added there later; a new link in an open tab keeps the place", async () => {
    const window = await openScreen({ shop: {} });
    const { screen, page } = window;
    const main = page.getByRole("main");
    await window.row("shop").waitFor();
    await window.goTo("#/repo/none");
    await reads(main, "There is no repository none");
    await screen.t.owner.call("repo/add", { id: "none", name: "none" });
    await window.timeout.waitFor();
    await screen.t.owner.call("repo/remove", { repo: "none" });
    await reads(main, "There is no repository none");
    await window.goTo("#/somewhere/%E0%A4%A");
    await reads(main, "There is no page at");
    await main.getByRole("link", { name: "Go to the start page" }).click();
    await page.getByRole("heading", { level: 1, name: "Needs attention" }).waitFor();
    await window.choose("shop");
    await window.view("History");
    await window.history.waitFor();
    const { hash } = new URL(screen.t.daemon.createLink(60_000));
    await window.goTo(hash);
    await poll(window.hash).toBe("#/repo/shop/history");
    await window.history.waitFor();
  });
});

describe("addresses", () => {
  test.each([
    "#/",
    "#/repo/shop",
    "#/repo/shop/svc.timeout",
    "#/repo/shop/ui.size.width",
    "#/repo/shop/svc.*",
    "#/repo/shop/history",
    "#/repo/shop/history?field=svc.timeout",
    "#/repo/shop/json",
    "#/matrix",
    "#/matrix?q=field%3Asvc.proxy_https%3Doff%20%22a%26b%3F%2B%22",
    "#/activity",
    "#/activity?q=since%3A24h%20%22a%3Fb%22",
    "#/compare",
    "#/compare/shop",
    "#/compare//shop",
    "#/compare/shop/web_2",
    "#/compare/shop@12/shop:file",
    "#/compare/default/:default",
    "#/keys",
    "#/keys/new",
    "#/sessions",
  ])("%s is the address of its place", address => {
    expect(placeAt(address).page).not.toBe("unknown");
    expect(addressOf(placeAt(address))).toBe(address);
  });

  test.each([
    ..."#/matrix/all #/activity/all #/keys/old #/keys/new/more #/sessions/all #/repo".split(" "),
    ..."#/repo/shop/timeout #/repo/shop/json/more #/rep #/repo/shop/history?field=x".split(" "),
    ..."#/compare/shop@/store #/compare/shop@0/store #/compare/shop:text/store".split(" "),
    ..."#/compare/:defaults #/compare/shop/store/more".split(" "),
  ])("%s is unknown", address => expect(placeAt(address).page).toBe("unknown"));
});
