import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { amount } from "../helpers/promise.ts";
import { countActions, describeScreen, openScreen, openShop, poll, press, reads } from "../helpers/screen.ts";

const page = { initialScript: countActions };

interface Actions {
  readonly clicks: number;
  readonly keys: number;
}

/** What a person does from here on, until the returned function is called. A text that is inserted is no key. */
async function count(page: Page): Promise<() => Promise<Actions>> {
  const read = () => page.evaluate<Actions>("actions");
  const before = await read();
  return async () => {
    const { clicks, keys } = await read();
    return { clicks: clicks - before.clicks, keys: keys - before.keys };
  };
}

describeScreen("how much a person does to", () => {
  test("paste ten environment variables and save them, after a preview of what is new and what changes: three keys", async () => {
    const [third, own] = [
      { name: "KEY_3", value: "old" },
      { name: "OWN", value: "1" },
    ];
    const window = await openShop({ "svc.envvars": [third, own] }, { page });
    const { edits, field, focused, screen } = window;
    const lines = Array.from({ length: 10 }, (_, at) => `export KEY_${at}="value ${at}" # note`).join("\n");
    await window.page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(lines)})`);
    await window.expand("Environment variables");
    const counted = await count(window.page);
    await press(window.page, "ControlOrMeta+v");
    const variables = field("Environment variables");
    await reads(variables, "New: KEY_0, KEY_1, KEY_2, KEY_4, KEY_5, KEY_6, KEY_7, KEY_8, KEY_9");
    await reads(variables, "Changed: KEY_3");
    expect(await edits.count()).toBe(0);
    await poll(focused).toBe("button Add 9 and change 1 variable");
    await press(window.page, "Enter");
    await reads(edits, "1 edit");
    await press(window.page, "ControlOrMeta+s");
    await edits.waitFor({ state: "detached" });
    expect(await counted()).toEqual({ clicks: 0, keys: 3 });
    const all = (await screen.stored("shop", "svc.envvars")) as readonly object[];
    expect(all.slice(0, 3)).toEqual([{ ...third, value: "value 3" }, own, { name: "KEY_0", value: "value 0" }]);
    expect(all).toHaveLength(11);
  });

  test("rename a service that the default service names: three clicks and the name; one undo takes both edits back", async () => {
    const services = { web: { ready: "true", image: "node:24" }, db: { ready: "true", image: "postgres:17" } };
    const named = { "svc.services": services, "svc.default": "web", "svc.application": "db" };
    const window = await openShop(named, { page });
    const { edits, field, focused, messages, screen } = window;
    const counted = await count(window.page);
    await window.expand("Services");
    const rename = async (from: string, to: string) => {
      await field("Services")
        .getByRole("button", { name: `Rename ${from}` })
        .click();
      await poll(focused).toBe(`input New name for ${from}`);
      await press(window.page, "ControlOrMeta+a");
      await window.page.keyboard.insertText(to);
    };
    await rename("web", "site");
    await press(window.page, "Enter");
    await window.save();
    expect((await counted()).clicks).toBe(3);
    const { web, db } = services;
    const svc = { services: { site: web, db }, default: "site", application: "db" };
    expect(await screen.stored("shop", "svc")).toEqual(svc);
    await rename("site", "front");
    await press(window.page, "Enter");
    await reads(messages, "svc.default named site, and names front now.");
    await reads(edits, "2 edits, not saved");
    await press(window.page, "ControlOrMeta+z");
    await reads(messages, "2 edits were taken back.");
    await edits.waitFor({ state: "detached" });
  });

  test("find and correct three invalid edits of fifteen: three keys and the values", async () => {
    const few = { type: "integer", default: 0, maximum: 10 };
    const names = Array.from({ length: 14 }, (_, at) => `n${at}`);
    const properties = {
      ...Object.fromEntries(names.map(name => [name, { ...few, title: `Number ${name}` }])),
      list: { type: "array", title: "List", items: few, default: [] },
    };
    const scopes = { app: { type: "object", properties } };
    const window = await openShop({ "app.list": [1] }, { scopes, page });
    const { edits, field, focused, screen } = window;
    const wrong = ["n3", "n11"];
    for (const name of names)
      await field(`Number ${name}`)
        .getByRole("spinbutton")
        .fill(wrong.includes(name) ? "12" : "3");
    await window.expand("List");
    await field("List").getByRole("spinbutton", { name: "List, entry 1" }).fill("99");
    await reads(edits, "3 of 15 edits are invalid");
    const counted = await count(window.page);
    for (const name of ["Number n3", "Number n11", "List, entry 1"]) {
      await press(window.page, "F8");
      await poll(focused).toBe(`spinbutton ${name}`);
      await window.page.keyboard.insertText("7");
    }
    await poll(() => edits.innerText()).not.toContain("invalid");
    expect(await counted()).toEqual({ clicks: 0, keys: 3 });
    await window.save();
    const saved = names.map(name => [name, wrong.includes(name) ? 7 : 3]);
    expect(await screen.stored("shop", "app")).toEqual({ ...Object.fromEntries(saved), list: [7] });
  });

  /** A page in which this many repositories are about to get a timeout of 45. */
  async function editAll(many: number) {
    const files = Array.from({ length: many }, (_, at) => `r${String(at).padStart(3, "0")}`);
    const window = await openScreen({}, { files, page: { ...page, hold: ["config/set"] } });
    await window.row("r000").waitFor();
    await window.goTo("#/matrix?q=field:svc.timeout");
    const counted = await count(window.page);
    await window.page.getByRole("columnheader").filter({ hasText: "svc.timeout" }).click();
    await window.page.getByRole("spinbutton", { name: "Timeout" }).fill("45");
    await press(window.page, "Enter");
    await reads(window.edits, `${many} edits in ${many} repositories, not saved`);
    const changed = async () =>
      (await window.screen.t.owner.call("config/search", { query: "field:svc.timeout=45", limit: 1_000 })).result
        .length;
    return { ...window, counted, changed };
  }

  test("change 500 repositories: sees how far it is before the first is saved, and cancels between two of them", async () => {
    const { edits, messages, requests, counted, changed, ...window } = await editAll(500);
    await press(window.page, "ControlOrMeta+z");
    await reads(messages, "500 edits were taken back.");
    await messages.getByRole("button", { name: "Bring back" }).click();
    await reads(edits, "500 edits in 500 repositories, not saved");
    await edits.getByRole("button", { name: "Save", exact: true }).click();
    await requests.untilHeld();
    await reads(edits, "Saving 1 of 500…");
    for (const saving of [2, 3]) {
      requests.release();
      await reads(edits, `Saving ${saving} of 500…`);
      await requests.untilHeld();
    }
    await edits.getByRole("button", { name: "Cancel the save" }).click();
    await reads(edits, "Cancelling…");
    requests.releaseAll();
    await reads(messages, "Saved 3 fields in r000, r001, and r002. Cancelled: 497 edits are not saved.");
    expect(requests.asked("config/set")).toBe(3);
    expect(await changed()).toBe(3);
    await messages.getByRole("button", { name: "Undo" }).click();
    await reads(messages, "3 fields: undone.");
    expect(await changed()).toBe(0);
    await reads(edits, "497 edits in 497 repositories, not saved");
    expect(await counted()).toEqual({ clicks: 5, keys: 2 });
  });

  test("change all of many repositories, and undo that as one: two clicks and two keys", async () => {
    const many = amount(60, 500);
    const { messages, requests, counted, changed, ...window } = await editAll(many);
    requests.releaseAll();
    await press(window.page, "ControlOrMeta+s");
    await reads(messages, `Saved ${many} fields in ${many} repositories.`);
    expect(await changed()).toBe(many);
    await messages.getByRole("button", { name: "Undo" }).click();
    await reads(messages, `${many} fields: undone.`);
    expect(await changed()).toBe(0);
    expect(await counted()).toEqual({ clicks: 2, keys: 2 });
  });
});
