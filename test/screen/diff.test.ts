import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { describeScreen, dismiss, openShop, poll, press, reads, shareScreen } from "../helpers/screen.ts";

const services = { web: { ready: "true", image: "node:24" }, db: { ready: "pg_isready", image: "postgres:17" } };
const image = (name: "web" | "db", to: string) => ({ ...services, [name]: { ...services[name], image: to } });

/** Waits for a line, as a screen reader announces it. */
const line = (place: Locator, said: string) => place.getByRole("row", { name: said, exact: true }).waitFor();

const openOwnShop = shareScreen();

describeScreen("diffs and merges", () => {
  test("a diff lists each change in a nested value by its path: in the review, the history and before a restore", async () => {
    const later = {
      "svc.services": { ...image("web", "node:25"), cache: { ready: "true", image: "redis:8" } },
      "svc.proxy_aliases": ["b.test", "c.test"],
      "svc.refresh_day": 5,
    };
    const window = await openOwnShop([{ "svc.services": services, "svc.proxy_aliases": ["a.test", "b.test"] }, later]);
    const { page } = window;
    const paths = (place: Locator) => place.getByRole("table").first().getByRole("rowheader").allInnerTexts();
    const changed = [
      "svc.services.web.image",
      "svc.services.cache.ready",
      "svc.services.cache.image",
      "svc.proxy_aliases[0]",
      "svc.proxy_aliases[1]",
      "svc.refresh_day",
    ];
    await window.expand("Services");
    await window.view("History");
    const entry = window.history.getByRole("listitem").first();
    await poll(() => paths(entry)).toEqual(changed);
    await line(entry, "svc.services.web.image from node:24 to node:25");
    await line(entry, "svc.services.cache.image from not set to redis:8");
    await line(entry, "svc.proxy_aliases[0] from a.test to removed");
    await line(entry, "svc.proxy_aliases[1] from not set to c.test");
    await line(entry, "svc.refresh_day from Sunday to Friday");

    await page.getByRole("button", { name: "Restore… revision 2" }).click();
    const restore = page.getByRole("dialog", { name: "Restore revision 2" });
    await restore.getByRole("row", { name: "svc.services.web.image from node:25 to node:24" }).waitFor();
    await line(restore, "svc.services.cache.image from redis:8 to removed");
    // One button per field, however many lines it has.
    await poll(() => restore.getByRole("button", { name: /^Exclude/ }).allInnerTexts()).toHaveLength(3);
    await press(page, "Escape");

    await window.view("Fields");
    await window.expand("Services");
    await page.getByRole("textbox", { name: "Services: db: Image" }).fill("postgres:18");
    const review = await window.review();
    await poll(() => paths(review)).toEqual(["svc.services.db.image"]);
    await line(review, "svc.services.db.image from postgres:17 to postgres:18 Discard svc.services");
  });

  test("a diff says whether masked values changed, and shows each one separately until the dialog is closed", async () => {
    const variables = (token: string) => [
      { name: "TOKEN", value: token },
      { name: "PATH", value: "secret-path" },
    ];
    const later = [...variables("secret-new"), { name: "MORE", value: "secret-more" }];
    const { page, view } = await openOwnShop([{ "svc.envvars": variables("secret-old") }, { "svc.envvars": later }]);
    await view("History");
    const open = async () => {
      await page.getByRole("button", { name: "Restore… revision 2" }).click();
      return page.getByRole("dialog", { name: "Restore revision 2" });
    };
    const dialog = await open();
    const token = dialog.getByRole("row", { name: /svc\.envvars\.TOKEN\.value/ });
    await line(
      dialog,
      "svc.envvars.TOKEN.value from •••• Show svc.envvars.TOKEN.value before to •••• Show svc.envvars.TOKEN.value after changed Exclude svc.envvars",
    );
    await line(dialog, "svc.envvars.MORE.value from •••• Show svc.envvars.MORE.value before to removed");
    // Unchanged entries are not listed.
    expect(await dialog.getByRole("row", { name: /PATH/ }).count()).toBe(0);
    const show = dialog.getByRole("button", { name: "Show svc.envvars.TOKEN.value after" });
    await show.press("Enter");
    await reads(token, /••••.*secret-old Hide/s);
    expect(await page.locator("body").innerText()).not.toMatch(/secret-(new|more|path)/);
    await dialog.getByRole("button", { name: "Hide svc.envvars.TOKEN.value after" }).press("Enter");
    await show.press("Enter");
    await reads(token, "secret-old");
    await dismiss(dialog);
    await reads((await open()).getByRole("row", { name: /TOKEN\.value/ }), /••••.*••••/s);
    expect(await page.locator("body").innerText()).not.toContain("secret");
  });

  test("a diff with very many changes, shows the first ones and says how many more there are", async () => {
    const aliases = (count: number) => Array.from({ length: count }, (_, at) => `${at}.test`);
    const store = { "svc.proxy_aliases": aliases(9_000), "svc.timeout": 30 };
    const window = await openShop({ "svc.proxy_aliases": aliases(57) }, { others: { store } });
    const entry = window.history.getByRole("listitem").first();
    await window.view("History");
    await reads(entry, "and 37 more");
    expect(await entry.getByRole("rowheader").count()).toBe(20);
    await window.choose("store");
    await window.view("History");
    await reads(entry, "and more than 1,000 more");
    // Each field has at least one line.
    await line(entry, "svc.timeout from 900 seconds to 30 seconds");
  });

  test("a change elsewhere to a field that is being edited in another part of it is merged into the edit without asking, with a note, and both are saved", async () => {
    const window = await openOwnShop({ "svc.services": services });
    const { page } = window;
    await window.expand("Services");
    const own = page.getByRole("textbox", { name: "Services: web: Image" });
    await own.fill("node:25");
    await window.set({ "svc.services": image("db", "postgres:18") });
    const field = window.field("Services");
    const merged = "Changed in the meantime by you in another place. Your edit has both changes.";
    await reads(field.getByRole("status"), merged);
    expect(await field.getByRole("alert").count()).toBe(0);
    await poll(() => page.getByRole("textbox", { name: "Services: db: Image" }).inputValue()).toBe("postgres:18");
    // The focus stays, so typing can continue.
    expect(await window.focused()).toContain("Services: web: Image");
    await page.keyboard.type(".1");
    expect(await own.inputValue()).toBe("node:25.1");
    await reads(field.getByRole("status"), "Your edit has both changes.");
    const review = await window.review();
    // Compared with the value stored now, only this edit's change remains.
    await poll(() => review.getByRole("rowheader").allInnerTexts()).toEqual(["svc.services.web.image"]);
    await press(page, "Escape");
    await window.save();
    expect(await window.stored("svc.services")).toEqual({
      web: { ready: "true", image: "node:25.1" },
      db: { ready: "pg_isready", image: "postgres:18" },
    });
  });

  test("a change elsewhere to a field that is being edited is merged even if nothing was stored before", async () => {
    const { page, expand, set, field, save, stored } = await openOwnShop();
    await expand("Services");
    await page.getByRole("textbox", { name: "Name of the new entry in Services" }).fill("web");
    await press(page, "Enter");
    await page.getByRole("textbox", { name: "Services: web: Image" }).fill("node:25");
    await set({ "svc.services": { db: services.db } });
    await field("Services").getByRole("status").waitFor();
    await save();
    expect(await stored("svc.services")).toEqual({ db: services.db, web: { ready: "", image: "node:25" } });
  });

  test("a change elsewhere to a field that is being edited is merged even while the edit is being saved, with a message", async () => {
    const window = await openShop({ "svc.services": services }, { page: { hold: ["config/set"] } });
    const { screen, page, requests, expand, startSaving, messages } = window;
    await expand("Services");
    await page.getByRole("textbox", { name: "Services: web: Image" }).fill("node:25");
    await startSaving();
    await requests.untilHeld();
    await screen.set("shop", { "svc.services": image("db", "postgres:18") });
    requests.release();
    await requests.untilHeld();
    requests.release();
    await poll(() => screen.stored("shop", "svc.services")).toEqual({
      web: { ready: "true", image: "node:25" },
      db: { ready: "pg_isready", image: "postgres:18" },
    });
    await reads(messages, "svc.services: changed elsewhere in the meantime; both changes were saved.");
  });
});
