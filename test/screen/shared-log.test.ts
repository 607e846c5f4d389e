import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import { startTestDaemon } from "../helpers/daemon.ts";
import { describeWithNats, startNatsServer } from "../helpers/nats-server.ts";
import { describeScreen, poll, reads, startScreen } from "../helpers/screen.ts";

describeScreen("the screen", () => {
  describeWithNats("with a log shared between machines", () => {
    test("names the machine next to the actor in the history and the activity, and shows on every page that the log is away until it is back, and what to run", async () => {
      await using server = await startNatsServer();
      const address = `${server.url}/team`;
      await using screen = await startScreen({ repositories: { shop: {} }, log: { address, machine: "laptop" } });
      const files = { "settings.json": { log: { address, machine: "desk" } } };
      await using desk = await startTestDaemon({ files });
      await screen.set("shop", { "svc.timeout": 41 });
      await poll(() => desk.owner.call("repo/list").then(({ result }) => result[0]?.revision)).toBe(2);
      await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 42, reason: "slow disks" });
      await poll(() => screen.stored("shop", "svc.timeout")).toBe(42);
      await using window = await screen.open();
      const { page } = window;
      await window.choose("shop");
      await window.view("History");
      const entries = window.history.getByRole("listitem");
      await reads(entries.first(), "by owner on desk");
      // The owner of another machine may be somebody else.
      await reads(entries.nth(1), "by you on laptop");
      await window.goTo("#/activity");
      const changes = page.getByRole("list", { name: "Changes" }).locator("> li");
      await reads(changes.first(), "by owner on desk");
      await reads(changes.nth(1), "by you on laptop");
      await window.goTo("#/repo/shop");
      await window.timeout.fill("43");
      await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 44 });
      await reads(window.field("Timeout"), "Changed in the meantime by owner on desk, where you changed it too.");
      await window.field("Timeout").getByRole("button", { name: "Take theirs" }).click();
      await server.kill();
      await page.getByRole("banner").getByRole("link", { name: "1 problem" }).click();
      const problems = page.getByRole("region", { name: "Problems of the daemon" });
      await reads(problems.getByRole("listitem"), "The shared log team at");
      await server.start();
      await poll(() => problems.count()).toBe(0);
      await server.kill();
      await rm(join(server.folder, "data"), { recursive: true });
      await server.start();
      await page.context().grantPermissions(["clipboard-write"]);
      const command = "repoconf log copy --to ADDRESS";
      await problems.getByRole("button", { name: `Copy the command: ${command}` }).click();
      await reads(window.messages, `Copied: ${command}`);
    });
  });
});
