import { expect, test } from "vitest";
import { describeScreen, poll, reads, shareScreen } from "../helpers/screen.ts";

const few = (title: string) => ({ type: "integer", title, default: 0, maximum: 10 });
const properties = Object.fromEntries(["one", "two", "three"].map(name => [name, few(`Number ${name}`)]));

describeScreen("what the page says of a save", () => {
  const openShared = shareScreen({ scopes: { app: { properties } } });

  test("is what was saved where, with an undo until it is not the last save any more", async () => {
    const { timeout, provider, save, messages, repo, stored } = await openShared({ "svc.timeout": 5 });
    await timeout.fill("6");
    await provider.fill("here");
    await save();
    const saved = `Saved 2 fields in ${repo}.`;
    await reads(messages, saved);
    await messages.getByRole("button", { name: "Undo" }).click();
    await poll(() => stored("svc")).toEqual({ timeout: 5 });
    await messages.getByText(saved).waitFor({ state: "detached" });
  });

  test("ends when the cause does: a refusal, once the edit is another", async () => {
    const { timeout, startSaving, messages } = await openShared();
    await timeout.fill("-1");
    await startSaving();
    await reads(messages, "Nothing was saved.");
    await timeout.fill("-2");
    await messages.getByText("Nothing was saved.").waitFor({ state: "detached" });
  });

  test("Next and Previous go round the invalid edits, each problem is there once", async () => {
    const { page, field, edits, focused, startSaving } = await openShared();
    for (const name of ["one", "three"]) await field(`Number ${name}`).getByRole("spinbutton").fill("11");
    const go = (to: string) => edits.getByRole("button", { name: `${to} invalid edit` }).click();
    await go("Next");
    await poll(focused).toBe("spinbutton Number one");
    await go("Previous");
    await poll(focused).toBe("spinbutton Number three");
    await startSaving();
    await reads(page.getByRole("log", { name: "Messages" }), "Nothing was saved.");
    expect(await field("Number one").getByRole("alert").allInnerTexts()).toHaveLength(1);
    for (const name of ["one", "three"])
      await page.getByRole("button", { name: `Discard the edit: Number ${name}` }).click();
  });
});
