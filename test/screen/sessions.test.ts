import { expect, test } from "vitest";
import { describeScreen, poll, press, reads, type ScreenPage, startScreen } from "../helpers/screen.ts";

const rows = ({ page }: ScreenPage) => page.getByRole("table").locator("tbody").getByRole("row");

async function showSessions(window: ScreenPage): Promise<void> {
  await window.row("shop").waitFor();
  await window.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Sessions" }).click();
  await rows(window).first().waitFor();
}

describeScreen("sessions", () => {
  test("are listed, with this window's own marked; ending one disconnects it, and every window shows that", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    await screen.t.owner.call("key/create", { name: "ci", grants: [] });
    // An event announces new and ended sessions: this window never polls.
    await using window = await screen.open({ initialScript: "window.setInterval = () => 0;" });
    await showSessions(window);
    await poll(() => rows(window).count()).toBe(1);
    await reads(rows(window), /^Browser this window/);
    await using other = await screen.open();
    await showSessions(other);
    await poll(() => rows(window).count()).toBe(2);
    await poll(() => rows(other).count()).toBe(2);
    await reads(rows(window).last(), /^Browser\s+just now/);
    await window.page.getByRole("button", { name: "End…" }).click();
    const dialog = window.page.getByRole("dialog", { name: "End this session?" });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await rows(window).count()).toBe(2);
    await window.page.getByRole("button", { name: "End…" }).click();
    await dialog.getByRole("button", { name: "End session" }).click();
    await reads(other.page.getByRole("alert"), "This session has ended.");
    await other.page.getByText("repoconf ui", { exact: true }).waitFor();
    await poll(() => rows(window).count()).toBe(1);
    const { result } = await screen.t.owner.call("key/list");
    expect(result.filter(({ kind }) => kind === "session").map(({ connections }) => connections)).toEqual([1]);
  });

  test("end all others in one step; then this one by signing out", async () => {
    await using screen = await startScreen({ repositories: { shop: {} } });
    for (const label of ["desktop", "browser"]) await screen.t.owner.call("session/create", { label });
    await using window = await screen.open();
    await showSessions(window);
    await poll(() => rows(window).count()).toBe(3);
    await window.page.getByRole("button", { name: "End all others…" }).focus();
    await press(window.page, "Enter");
    await window.page.getByRole("dialog", { name: "End 2 sessions?" }).waitFor();
    await window.page.getByRole("button", { name: "End sessions" }).focus();
    await press(window.page, "Enter");
    await poll(() => rows(window).count()).toBe(1);
    await rows(window).getByRole("button", { name: "Sign out" }).click();
    await reads(window.page.getByRole("alert"), "This session has ended.");
    await poll(async () => (await screen.t.owner.call("key/list")).result).toEqual([]);
  });
});
