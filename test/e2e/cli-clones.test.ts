import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeCommandHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { describeWithNats } from "../helpers/nats-server.ts";
import { makeSharedWorld } from "../helpers/shared-world.ts";

describeWithNats("clones on the command line", () => {
  test("repo add says that the shared log already has the repository, and commands in the folder find it", async () => {
    await using world = await makeSharedWorld();
    await using laptop = await world.start("laptop");
    await using desk = await makeCommandHome();
    await mkdir(desk.homeFolder);
    const log = { address: world.address, machine: "desk" };
    await writeFile(join(desk.homeFolder, "settings.json"), JSON.stringify({ log }));
    const there = join(world.home("laptop"), "shop");
    const here = join(desk.workFolder, "my-shop");
    for (const folder of [there, here]) {
      await mkdir(join(folder, ".git"), { recursive: true });
      const url = "https://somebody:s3cr3t@example.org/acme/shop.git";
      await writeFile(join(folder, ".git/config"), `[remote "origin"]\n\turl = ${url}\n`);
    }
    await laptop.owner.call("repo/add", { name: "shop", id: "shop", path: there });
    await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 41 });
    await until(async () => (await desk.succeed(["repo", "list", "--json"])).includes('"shop"'), "the repository");
    expect(await desk.succeed(["repo", "add"], { folder: here })).toBe(
      `${here} is a clone of shop (shop), which the shared log already has. It is now that repository's folder on this machine.\n`,
    );
    await until(async () => (await desk.succeed(["get", "svc.timeout"], { folder: here })) === "41\n", "the value");
  });
});
