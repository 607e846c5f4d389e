import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import type { Finding } from "../../../../shared/protocol.ts";
import { type TestDaemon, until } from "../../../helpers/daemon.ts";
import { describeWithNats } from "../../../helpers/nats-server.ts";
import { openServerLine } from "../../../helpers/server-line.ts";
import {
  hasRepositories,
  historyOf,
  makePair,
  makeSharedWorld,
  sees,
  set,
  tellsAway,
  timeoutOf,
} from "../../../helpers/shared-world.ts";

async function named({ owner }: TestDaemon) {
  const { result } = await owner.call("repo/list");
  return result.map(({ id, name, revision }) => [id, name, revision]);
}

describeWithNats("while the shared log is away", () => {
  test("repositories are neither added, renamed, removed nor restored, on one machine or two: each is refused, and nothing of it turns up", async () => {
    await using world = await makePair("shop");
    const { laptop, desk, server } = world;
    await set(laptop, "shop", 41);
    await set(laptop, "shop", 42);
    await sees(desk, "shop", 42);
    await server.kill();
    for (const daemon of [laptop, desk]) {
      await tellsAway(daemon, true);
      const before = await named(daemon);
      const { owner } = daemon;
      const replies = [
        await owner.call("repo/add", { name: "both", id: "both" }),
        await owner.call("repo/update", { repo: "shop", name: "Shop" }),
        await owner.call("history/restore", { repo: "shop", to: 2 }),
        await owner.call("repo/remove", { repo: "shop" }),
        // Others may have changed what is here.
        await owner.call("repo/update", { repo: "shop", name: "shop" }),
        await owner.call("config/set", { repo: "shop", "svc.timeout": 42 }),
      ];
      expect(replies.map(({ errors }) => errors[0]?.code)).toEqual(Array(6).fill(1108));
      expect(await named(daemon)).toEqual(before);
    }
    await server.start();
    for (const daemon of [laptop, desk]) await tellsAway(daemon, false);
    await laptop.addRepository("both");
    await hasRepositories(desk, 2);
    await set(desk, "both", 7);
    await sees(laptop, "both", 7);
    expect(await named(laptop)).toEqual(await named(desk));
    expect(await timeoutOf(laptop, "shop")).toBe(42);
  });

  test("a repository whose addition could not be confirmed turns up with its folder; after a restart without, as the error said", async () => {
    await using world = await makeSharedWorld();
    const { server } = world;
    await using line = await openServerLine(server.port);
    const log = { address: `nats://127.0.0.1:${line.port}/team` };
    await using laptop = await world.start("laptop", undefined, { log });
    const [path, sitePath] = [laptop.homeFolder, dirname(laptop.homeFolder)];
    const addUnconfirmed = async (id: string, path: string) => {
      line.mute();
      server.clock.isHurried = true;
      const { errors } = await laptop.owner.call("repo/add", { name: id, id, path });
      server.clock.isHurried = false;
      expect(errors).toMatchObject([{ code: 1108, details: { outcome: "unknown" } }]);
      expect(errors[0]?.message).toContain(`repoconf repo move ${id} ${path}`);
    };
    await addUnconfirmed("shop", path);
    line.cut();
    await hasRepositories(laptop, 1);
    expect(JSON.parse(await laptop.readRepository("shop"))).toMatchObject({ name: "shop", path });
    expect((await laptop.owner.call("repo/list")).result).toMatchObject([{ id: "shop", path }]);

    await addUnconfirmed("site", sitePath);
    await laptop.daemon.close();
    line.cut();
    await laptop.restart();
    await hasRepositories(laptop, 2);
    expect(JSON.parse(await laptop.readRepository("site"))).toMatchObject({ name: "site" });
    const [, site] = (await laptop.owner.call("repo/list")).result;
    expect(site).not.toHaveProperty("path");
    expect((await laptop.owner.call("repo/update", { repo: "site", path: sitePath })).result).toMatchObject({
      path: sitePath,
    });
  });

  test("files that people put into the folders of one machine or two become one repository on all when it is back", async () => {
    await using world = await makePair("shop");
    const { laptop, desk, server } = world;
    await server.kill();
    for (const daemon of [laptop, desk]) await tellsAway(daemon, true);
    const file = (svc: object) => JSON.stringify({ name: "by hand", config: { svc } });
    await laptop.writeRepository("one", file({ timeout: 41 }));
    await laptop.writeRepository("both", file({ timeout: 42 }));
    await desk.writeRepository("both", file({ provider: "acme" }));
    await laptop.writeRepository("fixed", "{");
    await hasRepositories(laptop, 4);
    await hasRepositories(desk, 2);
    await server.start();
    await hasRepositories(desk, 3);
    await laptop.writeRepository("fixed", file({ timeout: 43 }));
    await hasRepositories(desk, 4);
    for (const [repo, timeout] of [
      ["one", 41],
      ["both", 42],
      ["fixed", 43],
    ] as const)
      for (const daemon of [laptop, desk]) await sees(daemon, repo, timeout);
    for (const daemon of [laptop, desk])
      await until(
        async () => (await daemon.owner.call("config/list", { repo: "both" })).result["svc"]?.["provider"] === "acme",
        "both values",
      );
    await set(desk, "one", 44);
    await sees(laptop, "one", 44);
    expect(await historyOf(laptop, "both")).toEqual(await historyOf(desk, "both"));
  });

  test("two new files of one id with one field that differs: the value that is not used is kept in a file, and told where", async () => {
    await using world = await makePair();
    const { laptop, desk, server } = world;
    await server.kill();
    for (const daemon of [laptop, desk]) await tellsAway(daemon, true);
    const file = (timeout: number) => JSON.stringify({ name: "both", config: { svc: { timeout, provider: "acme" } } });
    await laptop.writeRepository("both", file(41));
    await desk.writeRepository("both", file(42));
    for (const daemon of [laptop, desk]) await hasRepositories(daemon, 1);
    await server.start();
    const foundBy = async ({ owner }: TestDaemon) => (await owner.call("daemon/status")).result.findings ?? [];
    const found = () => Promise.all([laptop, desk].map(foundBy));
    await until(async () => (await found()).flat().length === 1, "the conflict");
    const [[atLaptop], [atDesk]] = (await found()) as [Finding[], Finding[]];
    const used = atDesk === undefined ? 42 : 41;
    for (const daemon of [laptop, desk]) await sees(daemon, "both", used);
    const told = atLaptop ?? atDesk;
    expect(told).toMatchObject({
      repo: "both",
      message: expect.stringMatching(/Both have svc\.timeout, .*set them again/),
    });
    expect(JSON.parse(await readFile(told?.kept ?? "", "utf8"))).toMatchObject({
      config: { svc: { timeout: used === 42 ? 41 : 42 } },
    });
  });
});
