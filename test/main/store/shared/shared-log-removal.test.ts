import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, until } from "../../../helpers/daemon.ts";
import { isReplaced, systemError, watchFileSystem } from "../../../helpers/file-system.ts";
import { freezeHome } from "../../../helpers/frozen-home.ts";
import { describeWithNats } from "../../../helpers/nats-server.ts";
import { hasRepositories, makeSharedWorld, type SharedWorld, sees, set } from "../../../helpers/shared-world.ts";

/** Two machines with the repositories `shop` and `site`; the laptop applies nothing between `hold` and `release`. */
async function makeRace(world: SharedWorld) {
  const stack = new AsyncDisposableStack();
  const fileSystem = watchFileSystem();
  const laptop = stack.use(await world.start("laptop", { fileSystem }));
  const desk = stack.use(await world.start("desk"));
  for (const id of ["shop", "site"]) await laptop.addRepository(id);
  await laptop.owner.call("config/set", { repo: ["shop", "site"], "svc.timeout": 41, flush: true });
  await hasRepositories(desk, 2);
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
  stack.defer(release);
  const connection = await connect({ servers: world.server.url });
  stack.defer(() => connection.close());
  const { streams, consumers } = await jetstreamManager(connection);
  return {
    laptop,
    desk,
    /** What another machine adds is applied once its file is written. */
    hold: async () => {
      const { promise: isHeld, resolve } = Promise.withResolvers<void>();
      fileSystem.before = async ({ path }) => {
        if (!path.includes("held")) return;
        resolve();
        await isReleased;
      };
      await desk.addRepository("held");
      await isHeld;
    },
    /** Waits until everything in the stream has been sent to both of them. */
    untilDelivered: () =>
      until(async () => {
        const { state } = await streams.info("team");
        const places = [];
        for await (const { delivered } of consumers.list("team")) places.push(delivered.stream_seq);
        return places.length === 2 && places.every(sequence => sequence === state.last_seq);
      }, "all messages at both machines"),
    release,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Once these are answered, requests sent before them have started. */
async function askOften({ owner }: TestDaemon): Promise<void> {
  for (let count = 0; count < 20; count++) await owner.call("daemon/status");
}

describeWithNats("a repository that another machine removes and adds again at the same time", () => {
  test.each([
    { what: "a removal", operation: "repo/remove", args: {}, code: 1102 },
    { what: "a set", operation: "config/set", args: { "svc.timeout": 42 }, code: 1007 },
    {
      what: "a set of several repositories",
      operation: "config/set",
      args: { repo: ["shop", "site"], atomic: true, "svc.timeout": 42 },
      code: 1007,
    },
    { what: "a new name", operation: "repo/update", args: { name: "Shop" }, code: 1102 },
    { what: "a forget", operation: "history/forget", args: { field: "svc.timeout" }, code: 1102 },
  ] as const)("is a new one: $what of the earlier one is refused, and the new one stays unchanged", async row => {
    await using world = await makeSharedWorld();
    await using race = await makeRace(world);
    const { laptop, desk } = race;
    await race.hold();
    expect((await desk.owner.call("repo/remove", { repo: "shop" })).errors).toEqual([]);
    await desk.addRepository("shop");
    await race.untilDelivered();
    const asked = laptop.owner.call(row.operation, { repo: "shop", ...row.args });
    await askOften(laptop);
    race.release();
    expect((await asked).errors.map(({ code }) => code)).toEqual([row.code]);
    await hasRepositories(laptop, 3);
    for (const daemon of [laptop, desk]) {
      const { result } = await daemon.owner.call("repo/list");
      expect(result.map(({ id, name }) => [id, name]).sort()).toEqual([
        ["held", "held"],
        ["shop", "shop"],
        ["site", "site"],
      ]);
      expect(JSON.parse(await daemon.readRepository("shop")).config).toEqual({});
      expect(JSON.parse(await daemon.readRepository("site")).config.svc).toEqual({ timeout: 41 });
    }
    expect((await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 43 })).errors).toEqual([]);
  });
});

describeWithNats("the file of a repository that another machine removes", () => {
  test.each([true, false])(
    "has the last values when it is put aside, or it is told that it lacks them (writes fail: %s)",
    async stays => {
      await using world = await makeSharedWorld();
      await using laptop = await world.start("laptop");
      const fileSystem = watchFileSystem();
      await using desk = await world.start("desk", { fileSystem });
      await laptop.addRepository("shop");
      await set(laptop, "shop", 41);
      await sees(desk, "shop", 41);
      await until(async () => (await desk.readRepository("shop")).includes("41"), "the file");
      fileSystem.before = ({ operation, path }) => {
        if (operation === "open" && path.endsWith("tmp/shop.json")) throw systemError("EIO");
      };
      await set(laptop, "shop", 42);
      const health = async () => (await desk.owner.call("repo/list")).result[0]?.health ?? [];
      await until(async () => (await health()).some(({ code }) => code === 1108), "the failed write");
      if (!stays) fileSystem.before = () => {};
      await laptop.owner.call("repo/remove", { repo: "shop" });
      const removed = join(desk.homeFolder, "removed");
      await until(async () => (await readdir(removed)).length === 1, "the file");
      const [name = ""] = await readdir(removed);
      expect((await readFile(join(removed, name), "utf8")).includes("42")).toBe(!stays);
      const found = async () => (await desk.owner.call("daemon/status")).result.findings ?? [];
      if (stays) await until(async () => (await found()).length === 1, "the finding");
      expect(await found()).toEqual(stays ? [expect.objectContaining({ kept: join(removed, name) })] : []);
    },
  );
});

describeWithNats("a repository that another machine removes while the disk is full", () => {
  const rows = ["writes", "renames"].flatMap(refused => [false, true].map(restarts => [refused, restarts] as const));
  test.each(rows)("does not come back from its file (%s fail; after a restart: %s)", async (refused, restarts) => {
    await using world = await makeSharedWorld();
    await using laptop = await world.start("laptop");
    const fileSystem = watchFileSystem();
    await using desk = await world.start("desk", { fileSystem, rescanInterval: 100 });
    for (const id of ["shop", "site"]) await laptop.addRepository(id);
    await set(laptop, "shop", 41);
    await sees(desk, "shop", 41);
    await until(async () => (await desk.readRepository("shop")).includes("41"), "the file");
    fileSystem.before = ({ operation, path }) => {
      if (path.includes("shop") && operation.startsWith(refused.slice(0, -1))) throw systemError("ENOSPC");
    };
    await laptop.owner.call("repo/remove", { repo: "shop" });
    await hasRepositories(desk, 1);
    await until(() => desk.log.some(line => line.includes("cannot be put aside")), "the refusal");
    // Some rescans, which would take the file for a new one.
    await delay(500);
    const repair = async () => {
      fileSystem.before = () => {};
    };
    await (restarts ? desk.restart(repair) : repair());
    await until(async () => (await readdir(join(desk.homeFolder, "removed"))).length === 1, "the file");
    await delay(500);
    for (const daemon of [laptop, desk]) await hasRepositories(daemon, 1);
  });
});

describeWithNats("the file of a repository that another machine added", () => {
  test.each([
    ["it", /tmp\/shop\.json$/, false],
    ["it", /tmp\/shop\.json$/, true],
    ["it and the history", /shop/, false],
    ["it and the history", /shop/, true],
  ])(
    "is written once the disk has room for %s, with its name and what was set meanwhile (%s; after a restart: %s)",
    async (_, refused, restarts) => {
      await using world = await makeSharedWorld();
      await using laptop = await world.start("laptop");
      const fileSystem = watchFileSystem();
      await using desk = await world.start("desk", { fileSystem });
      fileSystem.before = ({ operation, path }) => {
        if (operation.startsWith("write") && refused.test(path)) throw systemError("ENOSPC");
      };
      const entry = async () => (await desk.owner.call("repo/list")).result[0];
      await laptop.owner.call("repo/add", { id: "shop", name: "Web shop" });
      await until(async () => (await entry())?.health.length === 1, "the missing file");
      expect((await entry())?.health).toMatchObject([{ code: 1108, message: expect.stringContaining("ENOSPC") }]);
      const { errors } = await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 41 });
      expect(errors).toMatchObject([{ code: 1108, message: expect.stringContaining("ENOSPC") }]);
      await set(laptop, "shop", 42);
      await until(async () => (await entry())?.revision === 2, "the set");
      if (restarts) await desk.daemon.close();
      fileSystem.before = () => {};
      if (restarts) await desk.restart();
      await until(async () => (await entry())?.health.length === 0, "the file");
      expect(await entry()).toMatchObject({ name: "Web shop", revision: 2 });
      const file = JSON.parse(await desk.readRepository("shop"));
      expect(file).toMatchObject({ name: "Web shop", config: { svc: { timeout: 42 } } });
      await set(desk, "shop", 43);
      await sees(laptop, "shop", 43);
    },
  );

  test("is not written again if a person deleted it", async () => {
    await using world = await makeSharedWorld();
    await using laptop = await world.start("laptop");
    await using desk = await world.start("desk");
    await laptop.addRepository("shop");
    await hasRepositories(desk, 1);
    const path = join(desk.homeFolder, "repos/shop.json");
    await desk.readRepository("shop");
    await desk.daemon.close();
    await rm(path);
    await desk.restart();
    const health = async () => (await desk.owner.call("repo/list")).result[0]?.health;
    await until(async () => (await health())?.length === 1, "the missing file");
    expect(await health()).toMatchObject([{ code: 1106, message: "shop.json is missing" }]);
  });
});

describeWithNats("a repository that this machine adds", () => {
  test("keeps its folder over a kill, or is not added at all, from whichever write on the disk is full", async () => {
    await using world = await makeSharedWorld();
    await using desk = await world.start("desk");
    const fileSystem = watchFileSystem();
    await using laptop = await world.start("laptop", { fileSystem });
    const replies: string[] = [];
    const added: string[] = [];
    for (let room = 0, isFull = true; isFull; room++) {
      let left = room;
      isFull = false;
      fileSystem.before = ({ operation }) => {
        if (!operation.startsWith("write") || left-- > 0) return;
        isFull = true;
        throw systemError("ENOSPC");
      };
      const id = `shop${room}`;
      const path = join(laptop.homeFolder, "..", id);
      await mkdir(path);
      const { errors } = await laptop.owner.call("repo/add", { id, name: id, path });
      await using killed = await freezeHome(laptop.homeFolder);
      fileSystem.before = () => {};
      replies.push(errors.map(({ code, message }) => `${code} ${message.includes("nothing was changed")}`).join());
      if (errors.length === 0) added.push(id);
      await hasRepositories(desk, added.length);
      await using restarted = await startTestDaemon({ clock: world.server.clock, home: killed.path });
      const found = (await restarted.owner.call("repo/list")).result;
      expect(found.map(one => [one.id, one.path])).toEqual(added.map(one => [one, join(laptop.homeFolder, "..", one)]));
    }
    expect(replies[0]).toBe("1108 true");
    expect(new Set(replies)).toEqual(new Set(["1108 true", ""]));
  });

  test("and whose file cannot be put in place is told so, keeps its folder over a kill, and gets the file without a restart", async () => {
    await using world = await makeSharedWorld();
    await using desk = await world.start("desk");
    const fileSystem = watchFileSystem();
    await using laptop = await world.start("laptop", { fileSystem });
    fileSystem.before = call => {
      if (isReplaced("shop")(call)) throw systemError("EIO");
    };
    const path = laptop.homeFolder;
    const { result, errors } = await laptop.owner.call("repo/add", { id: "shop", name: "shop", path });
    const health = [{ code: 1108, message: expect.stringContaining("shop.json cannot be written (EIO)") }];
    expect([result, errors]).toEqual([expect.objectContaining({ path, health }), []]);
    await hasRepositories(desk, 1);
    await using killed = await freezeHome(laptop.homeFolder);
    await using restarted = await startTestDaemon({ clock: world.server.clock, home: killed.path });
    fileSystem.before = () => {};
    for (const { owner, homeFolder } of [laptop, restarted]) {
      const entry = async () => (await owner.call("repo/list")).result[0];
      await until(async () => (await entry())?.health.length === 0, "the file");
      expect(await entry()).toMatchObject({ path, revision: 1 });
      expect(JSON.parse(await readFile(join(homeFolder, "repos/shop.json"), "utf8"))).toMatchObject({ path });
    }
  });
});
