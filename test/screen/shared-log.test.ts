import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import { startTestDaemon } from "../helpers/daemon.ts";
import { askServers, describeWithNats, startNatsServer } from "../helpers/nats-server.ts";
import { describeScreen, poll, reads, startScreen } from "../helpers/screen.ts";
import { messagesOf } from "../helpers/stream-messages.ts";

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
      const command = "repoconf log copy --to ADDRESS";
      await problems.getByRole("button", { name: `Copy the command: ${command}` }).click();
      await reads(window.messages, `Copied: ${command}`);
    });

    test("says what to do where the log is on too few servers, another machine was first with a scope, or this machine has diverged from the log", async () => {
      await using server = await startNatsServer();
      const address = `${server.url}/team`;
      // The stream exists before the screen's daemon, which wants it on more servers than there are.
      await using desk = await startTestDaemon({ files: { "settings.json": { log: { address, machine: "desk" } } } });
      const log = { address, machine: "laptop", replicas: 3 };
      await using screen = await startScreen({ repositories: { shop: {} }, log });
      const writeScope = (homeFolder: string, title: string) => {
        const schema = { type: "object", title, description: "A scope.", properties: {} };
        return writeFile(join(homeFolder, "scopes/own.schema.json"), JSON.stringify(schema));
      };
      await screen.t.restart(async () => {
        await writeScope(screen.t.homeFolder, "Laptop");
        await writeScope(desk.homeFolder, "Desk");
        await poll(() => messagesOf({ server })).toContain("Desk");
      });
      await using window = await screen.open();
      const { page } = window;
      await page.getByRole("banner").getByRole("link", { name: "2 problems" }).click();
      const problems = page.getByRole("region", { name: "Problems of the daemon" });
      const told = (text: string) => problems.getByRole("listitem").filter({ hasText: text });
      await reads(
        told("is stored on 1 of the 3 servers"),
        'Set "replicas" under "log" in settings.json to 3 and restart',
      );
      const scope = told("Another machine changed");
      await reads(
        scope,
        /own\.schema\.json first, and its version is used\.\s+Yours is in .*to use it, edit the file again\./,
      );
      await writeScope(screen.t.homeFolder, "Laptop, again");
      await poll(() => scope.count()).toBe(0);
      await askServers([`127.0.0.1:${server.port}`], async ({ streams }) => {
        await streams.delete("team");
        await streams.add({ name: "team", subjects: ["repoconf.team"] });
      });
      await reads(problems, "is not the one that this home uses: it was deleted and created again.");
      await reads(problems, "The last known values are served, and changes are refused.");
      await problems.getByRole("button", { name: "Copy the command: repoconf log rejoin" }).click();
      await reads(window.messages, "Copied: repoconf log rejoin");
    });
  });
});
