import { expect, test } from "vitest";
import { describeScreen, openScreen, openShop, poll, reads } from "../helpers/screen.ts";

describeScreen("a daemon that does not answer", () => {
  test("is told in the header until it answers", async () => {
    const { page, requests } = await openScreen({ shop: {} }, { page: { hold: ["daemon/status"] } });
    // The page asks for it before it shows anything.
    await requests.untilHeld();
    requests.release();
    const connection = page.getByRole("banner").getByRole("status");
    await reads(connection, "Connected");
    await requests.untilHeld();
    await reads(connection, /The daemon does not answer for \d+ s/);
    requests.release();
    await reads(connection, "Connected");
  });

  test("leaves a save unknown, and the page says so, and what became of it", async () => {
    const { provider, startSaving, requests, messages, edits, screen } = await openShop(
      {},
      { page: { hold: ["config/set"] } },
    );
    await provider.fill("here");
    await startSaving();
    await requests.untilHeld();
    await reads(messages, "it is not known whether this was saved");
    expect(await messages.innerText()).not.toContain("Nothing was saved");
    requests.release();
    await reads(messages, "The edit was saved, although the daemon's answer did not come.");
    await edits.waitFor({ state: "detached" });
    await poll(() => screen.stored("shop", "svc.provider")).toBe("here");
  });
});
