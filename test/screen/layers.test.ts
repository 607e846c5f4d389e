import { expect, test } from "vitest";
import { describeScreen, openShop, poll, reads } from "../helpers/screen.ts";

/** A repository with a shared timeout of 30 and a local one of 5. */
async function openLayered() {
  const window = await openShop({ "svc.timeout": 30 });
  const { call } = window.screen.t.owner;
  const set = async (args: object) => expect((await call("config/set", { repo: "shop", ...args })).errors).toEqual([]);
  await set({ "svc.timeout": 5, layer: "local" });
  const layers = async () => {
    const { layers: all } = await call("config/list", { repo: "shop", stored: true, layers: true });
    return [all?.shared["svc"]?.["timeout"], all?.local?.["svc"]?.["timeout"]];
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
    await page.getByRole("button", { name: "Undo" }).click();
    await badge.waitFor();
    expect(await layers()).toEqual([30, 5]);
    await button("Move to shared").click();
    await reads(messages, "svc.timeout: moved to the shared values.");
    await badge.waitFor({ state: "detached" });
    expect(await layers()).toEqual([5, undefined]);
    await page.getByRole("button", { name: "Undo" }).click();
    await badge.waitFor();
    expect(await layers()).toEqual([30, 5]);
  });

  test("an edit of a local value stays one, also if that is taken out meanwhile and the page is loaded again", async () => {
    const { screen, page, timeout, layers, badge, own, save } = await openLayered();
    await badge.waitFor();
    await timeout.fill("6");
    await poll(async () => (await screen.drafts()).length).toBe(1);
    expect(await screen.drafts()).toMatchObject([{ field: "svc.timeout", value: 6, layer: "local" }]);
    await page.reload();
    await poll(() => timeout.inputValue()).toBe("6");
    const { call } = screen.t.owner;
    await call("config/unset", { repo: "shop", fields: ["svc.timeout"], layer: "local" });
    await own.getByRole("button", { name: "Keep mine" }).click();
    await save();
    expect(await layers()).toEqual([30, 6]);
  });

  test("of a list that is merged by names, the shared items stay when the local ones move", async () => {
    const { screen, set, field, badge } = await openLayered();
    const item = (name: string) => ({ name, value: "1" });
    await set({ "svc.envvars": [item("A"), item("B")], layer: "shared" });
    await set({ "svc.envvars": [{ name: "B", value: "2" }], layer: "local" });
    await badge.waitFor();
    await field("Environment variables")
      .getByRole("button", { name: /^Move to shared/ })
      .click();
    const shared = async () => {
      const { layers } = await screen.t.owner.call("config/list", { repo: "shop", stored: true, layers: true });
      return [layers?.shared["svc"]?.["envvars"], layers?.local?.["svc"]?.["envvars"]];
    };
    await poll(shared).toEqual([[item("A"), { name: "B", value: "2" }], undefined]);
  });
});
