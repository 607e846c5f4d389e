import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type TestDaemon, until } from "../../../helpers/daemon.ts";
import { watchFileSystem } from "../../../helpers/file-system.ts";
import { askServers, configured, describeWithNats } from "../../../helpers/nats-server.ts";
import { makePair, makeSharedWorld, tellsAway } from "../../../helpers/shared-world.ts";

/** Waits until the last event about problems has one with this text, or none. */
async function tells({ owner, url }: TestDaemon, text: string | undefined): Promise<void> {
  const isTold = (problems: readonly string[] | undefined) =>
    text === undefined ? problems?.length === 0 : problems?.some(problem => problem.includes(text)) === true;
  await until(
    () => {
      const told = owner.events.flatMap(([resource, event, payload]) =>
        resource === "daemon" && event === "problems" ? [payload.problems] : [],
      );
      return isTold(told.at(-1));
    },
    `the event: ${text ?? "no problem"}`,
  );
  expect(isTold((await owner.call("daemon/status")).result.problems)).toBe(true);
  expect(await (await fetch(`${url}/readyz`)).text()).toBe(
    text === undefined ? "ready\n" : "ready, with problems: repoconf status\n",
  );
}

describeWithNats("a daemon tells its watchers, its status and /readyz", () => {
  test("that its log is stored on too few servers, that the machine is behind, and that the log is away", async () => {
    await using world = await makeSharedWorld();
    await using desk = await world.start("desk");
    const fileSystem = watchFileSystem();
    // The stream exists, and a single server cannot store it three times.
    await using laptop = await world.start("laptop", { fileSystem }, { log: { replicas: 3 } });
    await laptop.owner.call("config/watch");
    const { problems } = (await laptop.owner.call("daemon/status")).result;
    expect(problems).toEqual([expect.stringContaining("is stored on 1 of the 3 servers")]);

    const held = Promise.withResolvers<void>();
    fileSystem.before = ({ path }) => (path.includes("held") ? held.promise : undefined);
    for (const id of ["held", "shop", "site"]) await desk.addRepository(id);
    await tells(laptop, "messages of the shared log team behind");
    held.resolve();
    await until(async () => (await laptop.owner.call("repo/list")).result.length === 3, "all repositories");

    await world.server.kill();
    await tells(laptop, "cannot be reached");
    await world.server.start();
    await tells(laptop, "is stored on 1 of the 3 servers");
  });

  const small = configured(() => "jetstream { max_file_store: 300000 }");
  const limitStream = async (port: number) => {
    await askServers([`127.0.0.1:${port}`], ({ streams }) => streams.update("team", { max_bytes: 300_000 }));
  };
  for (const [what, serverArguments, limit] of [
    ["its server is full", small, undefined],
    ["its stream is full", undefined, limitStream],
  ] as const)
    test(`that ${what}: a set is refused at once with what to do, until there is room`, async () => {
      await using world = await makeSharedWorld({}, serverArguments);
      await using laptop = await world.start("laptop");
      await laptop.addRepository("shop");
      await limit?.(world.server.port);
      await laptop.owner.call("config/watch");
      const fill = async (value: string) => {
        const envvars = [{ name: "LONG", value }];
        return (await laptop.owner.call("config/set", { repo: "shop", "svc.envvars": envvars })).errors[0];
      };
      let refused = await fill("");
      for (let count = 1; refused === undefined && count < 100; count++)
        refused = await fill("x".repeat(20_000 + count));
      expect(refused).toMatchObject({
        code: 1108,
        repo: "shop",
        details: expect.not.objectContaining({ outcome: "unknown" }),
      });
      expect(refused?.message).toMatch(/^The shared log team is full: .*Nothing was changed.*repoconf status$/);
      await tells(laptop, "The shared log team is full");
      const { problems } = (await laptop.owner.call("daemon/status")).result;
      expect(problems?.join()).not.toContain("cannot be reached");
      expect(problems?.at(-1)).toContain("max_file_store");
    });

  test("that a scope is invalid, that another machine was first with one, and that neither is so any more", async () => {
    await using world = await makePair();
    const { laptop, desk } = world;
    await laptop.owner.call("config/watch");
    const scope = ({ homeFolder }: TestDaemon, name: string) => join(homeFolder, `scopes/${name}.schema.json`);
    const text = (title: string) => JSON.stringify({ type: "object", title, description: "A scope.", properties: {} });
    await writeFile(scope(laptop, "broken"), "{");
    await tells(laptop, "broken.schema.json");
    await rm(scope(laptop, "broken"));
    await tells(laptop, undefined);

    await world.server.kill();
    await tells(laptop, "cannot be reached");
    await writeFile(scope(desk, "own"), text("Desk"));
    await writeFile(scope(laptop, "own"), text("Laptop"));
    const titleOf = async ({ owner }: TestDaemon) =>
      (await owner.call("scope/list")).result.find(one => one.scope === "own")?.schema.title;
    await until(async () => (await titleOf(laptop)) === "Laptop", "the scope");
    await laptop.daemon.close();
    await world.server.start();
    await tellsAway(desk, false);
    await desk.addRepository("shop");
    await laptop.restart();
    await laptop.owner.call("config/watch");
    const { problems } = (await laptop.owner.call("daemon/status")).result;
    expect(problems).toEqual([expect.stringContaining("Another machine changed")]);
    await writeFile(scope(laptop, "own"), text("Later"));
    await tells(laptop, undefined);
  });
});
