import { copyFile, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type TestDaemon, until } from "../../../helpers/daemon.ts";
import { describeWithNats } from "../../../helpers/nats-server.ts";
import {
  hasRepositories,
  historyOf,
  makePair,
  makeSharedWorld,
  sees,
  set,
  shorten,
  tellsAway,
  timeoutOf,
} from "../../../helpers/shared-world.ts";

/** The path of the newest file of `shop` in `removed/`, once there is one. */
async function removedFile({ homeFolder }: TestDaemon): Promise<string> {
  let name: string | undefined;
  await until(async () => {
    name = (await readdir(join(homeFolder, "removed"))).sort().at(-1);
    return name !== undefined;
  }, "the removed file");
  return join(homeFolder, "removed", name ?? "");
}

const putBack = async (t: TestDaemon, from: string) => rename(from, t.repositoryFile("shop"));

/** Two machines with a repository `shop` that has a history and was removed on the desk. */
async function makeRemoved() {
  const world = await makePair("shop", "site");
  const { laptop, desk } = world;
  await set(laptop, "shop", 41);
  await laptop.owner.call("config/set", { repo: "shop", "svc.provider": "acme" });
  await set(laptop, "shop", 42);
  await sees(desk, "shop", 42);
  await hasRepositories(desk, 2);
  const before = await historyOf(laptop);
  const place = join(laptop.homeFolder, "log", "stream.json");
  await copyFile(place, `${place}.before`);
  const { result } = await desk.owner.call("repo/remove", { repo: "shop" });
  await hasRepositories(laptop, 1);
  /** As if the laptop had been killed before it stored that it had read the removal. */
  const forgetRemoval = () => rename(`${place}.before`, place);
  return { ...world, before, forgetRemoval, onLaptop: await removedFile(laptop), onDesk: result.movedTo ?? "" };
}

type RemovedWorld = Awaited<ReturnType<typeof makeRemoved>>;

/** Both have the same repository, and it is shared: each sees what the other sets. */
async function areOne(laptop: TestDaemon, desk: TestDaemon): Promise<void> {
  for (const daemon of [laptop, desk]) await hasRepositories(daemon, 2);
  await until(async () => (await timeoutOf(laptop, "shop")) === (await timeoutOf(desk, "shop")), "the same value");
  await set(laptop, "shop", 51);
  await sees(desk, "shop", 51);
  await set(desk, "shop", 52);
  await sees(laptop, "shop", 52);
  expect(await historyOf(laptop)).toEqual(await historyOf(desk));
  for (const daemon of [laptop, desk]) {
    expect((await daemon.owner.call("daemon/status")).result.problems ?? []).toEqual([]);
    expect(JSON.parse(await daemon.readRepository("shop")).config.svc.timeout).toBe(52);
  }
}

describeWithNats("the file of a removed repository that a person puts back", () => {
  test("is a repository on every machine again, with its values, its history, and what a person changed in it", async () => {
    await using world = await makeRemoved();
    const { laptop, desk, before, onLaptop } = world;
    await putBack(laptop, onLaptop);
    await hasRepositories(desk, 2);
    await sees(desk, "shop", 42);
    expect(await historyOf(desk)).toMatchObject([{ revision: 5, machine: "laptop", changes: {} }, ...before]);
    await areOne(laptop, desk);
    expect(JSON.parse(await desk.readRepository("shop")).config.svc).toEqual({ timeout: 52, provider: "acme" });

    expect((await laptop.owner.call("repo/remove", { repo: "shop" })).errors).toEqual([]);
    await hasRepositories(desk, 1);
    await laptop.writeRepository(
      "shop",
      JSON.stringify({ name: "Shop", config: { svc: { timeout: 43, nothing: 1 } } }),
    );
    await sees(desk, "shop", 43);
    await areOne(laptop, desk);
    for (const daemon of [laptop, desk])
      expect(JSON.parse(await daemon.readRepository("shop")).config.svc).toEqual({ timeout: 52, nothing: 1 });
  });

  test.each([
    ["", async () => {}],
    [", and the daemon reads the removal again", ({ forgetRemoval }: RemovedWorld) => forgetRemoval()],
    [
      ", and the log has begun anew meanwhile",
      async ({ forgetRemoval, desk }: RemovedWorld) => {
        await forgetRemoval();
        await shorten(desk, "site");
      },
    ],
  ])("while its daemon does not run is one too%s", async (_what, meanwhile) => {
    await using world = await makeRemoved();
    const { laptop, desk, onLaptop } = world;
    await laptop.daemon.close();
    await meanwhile(world);
    await putBack(laptop, onLaptop);
    await laptop.restart();
    await areOne(laptop, desk);
  });

  test("stays a repository of both machines after a restart", async () => {
    await using world = await makeRemoved();
    const { laptop, desk, onLaptop } = world;
    await putBack(laptop, onLaptop);
    await hasRepositories(desk, 2);
    for (const daemon of [laptop, desk]) await daemon.restart();
    await areOne(laptop, desk);
    const revisions = (await historyOf(desk)).map(({ revision }) => revision);
    expect(revisions).toEqual([7, 6, 5, 4, 3, 2, 1]);
  });

  test("has a whole history on a machine that joins later, also after a restart of that", async () => {
    await using world = await makeSharedWorld();
    await using laptop = await world.start("laptop");
    await laptop.addRepository("shop");
    await set(laptop, "shop", 41);
    await set(laptop, "shop", 42);
    const { result } = await laptop.owner.call("repo/remove", { repo: "shop" });
    await copyFile(result.movedTo ?? "", laptop.repositoryFile("shop"));
    await until(async () => (await historyOf(laptop)).length === 4, "the repository to be back");
    await using joining = await world.start("tablet");
    for (let starts = 0; starts < 2; starts++) {
      await sees(joining, "shop", 42);
      expect(await historyOf(joining)).toEqual(await historyOf(laptop));
      expect((await joining.owner.call("daemon/status")).result.findings).toEqual([]);
      await joining.restart();
    }
  });

  test("while the log is away and its daemon restarts is shared when it is back", async () => {
    await using world = await makeRemoved();
    const { laptop, desk, server, onLaptop } = world;
    await server.kill();
    await tellsAway(laptop, true);
    await putBack(laptop, onLaptop);
    await hasRepositories(laptop, 2);
    for (let restarts = 0; restarts < 2; restarts++) await laptop.restart();
    await server.start();
    await areOne(laptop, desk);
  });

  test("on two machines while the log is away is one repository when it is back", async () => {
    await using world = await makeRemoved();
    const { laptop, desk, server, onLaptop, onDesk } = world;
    await server.kill();
    await putBack(laptop, onLaptop);
    await putBack(desk, onDesk);
    for (const daemon of [laptop, desk]) await hasRepositories(daemon, 2);
    await server.start();
    for (const daemon of [laptop, desk]) await tellsAway(daemon, false);
    await areOne(laptop, desk);
    await using joining = await world.start("tablet");
    await sees(joining, "shop", 52);
  });

  test("on one machine while the other removes it is gone or back on both", async () => {
    await using world = await makePair("shop", "site");
    const { laptop, desk } = world;
    for (let round = 0; round < 5; round++) {
      await set(laptop, "shop", 60 + round);
      await sees(desk, "shop", 60 + round);
      const removal = desk.owner.call("repo/remove", { repo: "shop" });
      await putBack(laptop, await removedFile(laptop));
      expect((await removal).errors).toEqual([]);
      await until(async () => (await desk.owner.call("repo/list")).result.length === 2, "the repository to be back");
      await areOne(laptop, desk);
    }
  });
});
