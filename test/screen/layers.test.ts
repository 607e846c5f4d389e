import { expect, test } from "vitest";
import { git } from "../helpers/git.ts";
import { describeScreen, openShop, poll, reads, shareScreen } from "../helpers/screen.ts";

const openOwnShop = shareScreen();

/** A repository with a shared timeout of 30 and a local one of 5. */
async function openLayered() {
  const window = await openOwnShop({ "svc.timeout": 30 });
  const { repo, screen } = window;
  const { call } = screen.t.owner;
  const set = async (args: object) => expect((await call("config/set", { repo, ...args })).errors).toEqual([]);
  await set({ "svc.timeout": 5, layer: "local" });
  const layers = async (field = "timeout") => {
    const { layers: all } = await call("config/list", { repo, stored: true, layers: true });
    return [all?.shared["svc"]?.[field], all?.local?.["svc"]?.[field]];
  };
  const own = window.field("Timeout");
  const button = (name: string) => own.getByRole("button", { name: `${name}: Timeout` });
  return { ...window, set, layers, own, button, badge: own.getByText("local", { exact: true }) };
}

describeScreen("local values", () => {
  test("a field that a local value overrides says so, and one undo takes back what is done with it", async () => {
    const { page, timeout, layers, badge, button, messages } = await openLayered();
    await badge.waitFor();
    expect(await timeout.inputValue()).toBe("5");
    await button("Use the shared value").click();
    await poll(() => timeout.inputValue()).toBe("30");
    await badge.waitFor({ state: "detached" });
    await page.getByRole("banner").getByRole("button", { name: "Undo" }).click();
    await badge.waitFor();
    expect(await layers()).toEqual([30, 5]);
    await button("Move to shared").click();
    await reads(messages, "svc.timeout: moved to the shared values.");
    await badge.waitFor({ state: "detached" });
    expect(await layers()).toEqual([5, undefined]);
    await page.getByRole("banner").getByRole("button", { name: "Undo" }).click();
    await badge.waitFor();
    expect(await layers()).toEqual([30, 5]);
  });

  test("an edit of a local value stays one, also if that is taken out meanwhile and the page is loaded again", async () => {
    const { screen, page, repo, timeout, layers, badge, own, save } = await openLayered();
    await badge.waitFor();
    await timeout.fill("6");
    await poll(async () => (await screen.drafts()).length).toBe(1);
    expect(await screen.drafts()).toMatchObject([{ field: "svc.timeout", value: 6, layer: "local" }]);
    await page.reload();
    await poll(() => timeout.inputValue()).toBe("6");
    const { call } = screen.t.owner;
    await call("config/unset", { repo, fields: ["svc.timeout"], layer: "local" });
    await own.getByRole("button", { name: "Keep mine" }).click();
    await save();
    expect(await layers()).toEqual([30, 6]);
  });

  test("the history says what counts after a local value was taken out, which is no default", async () => {
    const { screen, repo, view, history } = await openLayered();
    await screen.t.owner.call("config/unset", { repo, fields: ["svc.timeout"], layer: "local" });
    await view("History");
    const entry = history.getByRole("listitem").first();
    await reads(entry, "values taken out");
    await poll(() => entry.getByRole("cell").allInnerTexts()).toEqual(["from\n5 seconds", "to\n30 seconds"]);
  });

  test("a change of both layers is one in the history, and is reverted as one", async () => {
    const { page, view, set, layers, history } = await openLayered();
    await set({ "svc.timeout": 6, "svc.domain": "b.test" });
    await view("History");
    const headings = history.getByRole("heading", { level: 2 });
    await poll(() => headings.allInnerTexts()).toEqual(["Revisions 4 and 5", "Revision 3", "Revision 2", "Revision 1"]);
    const entry = history.getByRole("listitem").first();
    await reads(entry, "svc.domain");
    await entry.getByText("local", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Revert… revisions 4 and 5" }).click();
    const dialog = page.getByRole("dialog", { name: "Revert revisions 4 and 5" });
    await dialog.getByRole("button", { name: "Restore 2 fields" }).click();
    await poll(() => headings.first().innerText()).toBe("Revisions 6 and 7");
    expect(await layers()).toEqual([30, 5]);
  });

  test("with x-step, a linked worktree's field says how much higher it is, until it has a value of its own", async () => {
    const app = {
      type: "object",
      properties: { port: { type: "integer", title: "Port", default: 3000, "x-step": 10 } },
    };
    const window = await openShop({}, { scopes: { app }, clones: { tree: { config: { svc: { timeout: 30 } } } } });
    const { screen, choose } = window;
    const { call } = screen.t.owner;
    const path = (await call("repo/list", { repo: "tree" })).result[0]?.path ?? "";
    await git(path, "init");
    await git(path, "commit", "--allow-empty", "-m", "first");
    await git(path, "worktree", "add", `${path}-linked`);
    const { id, name } = (await call("repo/find", { path: `${path}-linked` })).result;
    await choose(name);
    const port = window.field("Port");
    const badge = port.getByText("+10", { exact: true });
    await badge.waitFor();
    await window.page.getByRole("main").getByRole("link", { name: "tree", exact: true }).waitFor();
    const input = port.getByRole("spinbutton", { name: "Port" });
    expect(await input.inputValue()).toBe("3010");
    expect(await port.getByRole("button", { name: /^Reset/ }).count()).toBe(0);
    await input.fill("3001");
    await window.save();
    await badge.waitFor({ state: "detached" });
    await port.getByText("local", { exact: true }).waitFor();
    const { layers } = await call("config/list", { repo: id, stored: true, layers: true });
    expect(layers?.local?.["app"]).toEqual({ port: 3001 });
  });

  test("of a list that is merged by names, the shared items stay when the local ones move", async () => {
    const { set, layers, field, badge } = await openLayered();
    const item = (name: string) => ({ name, value: "1" });
    await set({ "svc.envvars": [item("A"), item("B")], layer: "shared" });
    await set({ "svc.envvars": [{ name: "B", value: "2" }], layer: "local" });
    await badge.waitFor();
    await field("Environment variables")
      .getByRole("button", { name: /^Move to shared/ })
      .click();
    await poll(() => layers("envvars")).toEqual([[item("A"), { name: "B", value: "2" }], undefined]);
  });
});
