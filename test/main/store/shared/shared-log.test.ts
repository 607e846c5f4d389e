import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../../main/time/clock.ts";
import { startTestDaemon, type TestDaemon, until } from "../../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../../helpers/file-system.ts";
import { addLoadScope } from "../../../helpers/load-scope.ts";
import { configured, describeWithNats } from "../../../helpers/nats-server.ts";
import {
  hasRepositories,
  historyOf,
  makePair,
  makeSharedWorld,
  type SharedWorld,
  sees,
  set,
  timeoutOf,
} from "../../../helpers/shared-world.ts";

/** Adds `shop` with two values, and waits until its file has them. */
async function addShop({ owner, addRepository, readRepository }: TestDaemon): Promise<void> {
  await addRepository("shop");
  await owner.call("config/set", { repo: "shop", "svc.timeout": 41, "svc.domain": "one.test" });
  await readRepository("shop");
}

/** A home in which a daemon added `shop` and then stopped. */
async function leaveShop(world: SharedWorld, machine: string): Promise<void> {
  await using daemon = await world.start(machine);
  await addShop(daemon);
}

const fileOf = (world: SharedWorld, machine: string) => join(world.home(machine), "repos/shop.json");

/** Sets a field of the scope svc in a file, as a person does. */
async function edit(path: string, field: string, value: unknown): Promise<void> {
  const file = JSON.parse(await readFile(path, "utf8"));
  file.config.svc = { ...file.config.svc, [field]: value };
  await writeFile(path, JSON.stringify(file, null, 2));
}

async function svcOf(daemon: TestDaemon): Promise<unknown> {
  return JSON.parse(await daemon.readRepository("shop")).config.svc;
}

async function reaches({ owner }: TestDaemon, repo: string, revision: number): Promise<void> {
  const isThere = async () =>
    (await owner.call("repo/list")).result.find(({ id }) => id === repo)?.revision === revision;
  await until(isThere, `revision ${revision} of ${repo}`);
}

describeWithNats("daemons that share a log", () => {
  test("see each other's repositories, sets and histories, notify watchers exactly as there, and each has its own file", async () => {
    await using pair = await makePair("shop");
    const { laptop, desk } = pair;
    for (const { owner } of [laptop, desk]) await owner.call("config/watch", { repo: "shop" });
    await set(laptop, "shop", 41);
    const [here, there] = [await laptop.owner.nextChange(), await desk.owner.nextChange()];
    // Each home seals positions with a secret of its own.
    expect({ ...there, position: here.position }).toEqual(here);
    expect(there).toMatchObject({ machine: "laptop", revision: 2, changes: { svc: { timeout: { value: 41 } } } });
    await set(desk, "shop", 42);
    await sees(laptop, "shop", 42);
    for (const daemon of [laptop, desk]) {
      const machines = (await historyOf(daemon)).map(({ revision, machine }) => `${revision} ${machine}`);
      expect(machines).toEqual(["3 desk", "2 laptop", "1 laptop"]);
      expect(await svcOf(daemon)).toEqual({ timeout: 42 });
    }
  });

  test("decide one after the other: no set at the same revision is lost or accepted twice", async () => {
    await using pair = await makePair("shop");
    const { laptop, desk } = pair;
    let won = 0;
    const compete = async ({ owner }: TestDaemon, base: number) => {
      for (let round = 0; round < 50; round++) {
        const { result } = await owner.call("repo/list");
        const revision = result[0]?.revision ?? 0;
        const reply = await owner.call("config/set", { repo: "shop", revision, "svc.timeout": base + round });
        if (reply.errors.length === 0) won += 1;
        else expect(reply.errors.map(({ code }) => code)).toEqual([1104]);
      }
    };
    await Promise.all([compete(laptop, 100), compete(desk, 1000)]);
    for (const daemon of [laptop, desk]) await reaches(daemon, "shop", 1 + won);
  });

  test("answer a set of a repository that another machine has just added, and whose file is still being written", async () => {
    await using world = await makeSharedWorld();
    await using laptop = await world.start("laptop");
    const fileSystem = watchFileSystem();
    const { promise: isHeld, resolve: release } = Promise.withResolvers<void>();
    let isWaiting = false;
    await using desk = await world.start("desk", { fileSystem });
    // After the rename: the file exists, and its folder is about to be synced.
    fileSystem.before = ({ operation, path }) => {
      if (operation !== "open" || !path.endsWith("/repos")) return undefined;
      isWaiting = true;
      return isHeld;
    };
    await laptop.addRepository("shop");
    await until(() => isWaiting, "the file to be written");
    const setting = set(desk, "shop", 41);
    // Let the set get as far as it can.
    for (let round = 0; round < 100; round++) await desk.owner.call("key/self");
    release();
    await setting;
    await sees(laptop, "shop", 41);
    expect(await svcOf(desk)).toEqual({ timeout: 41 });
  });

  test("with different clocks keep the order of the log, and report the time of the machine that made a change", async () => {
    await using world = await makeSharedWorld();
    const hour = 3_600_000;
    const behind = { ...systemClock, now: () => systemClock.now() - hour };
    await using laptop = await world.start("laptop");
    await using desk = await world.start("desk", { clock: behind });
    await laptop.addRepository("shop");
    for (let timeout = 1; timeout <= 6; timeout++) {
      const daemon = timeout % 2 === 0 ? desk : laptop;
      await reaches(daemon, "shop", timeout);
      await set(daemon, "shop", timeout);
    }
    for (const daemon of [laptop, desk]) {
      await sees(daemon, "shop", 6);
      const history = await historyOf(daemon);
      expect(history.map(({ revision, machine }) => [revision, machine])).toEqual(
        [7, 6, 5, 4, 3, 2, 1].map(revision => [revision, revision % 2 === 1 && revision > 1 ? "desk" : "laptop"]),
      );
      const [newest, before] = history.map(({ time }) => Date.parse(time));
      expect(Math.round(((before ?? 0) - (newest ?? 0)) / hour)).toBe(1);
    }
  });

  test("refuse a set of several repositories that no message of the server holds, and accept each of many that fit", async () => {
    await using world = await makeSharedWorld(
      {},
      configured(() => "max_payload: 65536\n"),
    );
    for (const machine of ["laptop", "desk"]) {
      await mkdir(world.home(machine), { recursive: true });
      await addLoadScope(world.home(machine), ["a", "b"]);
    }
    await using laptop = await world.start("laptop");
    await using desk = await world.start("desk");
    const repo = ["one", "two", "three"];
    for (const id of repo) await laptop.addRepository(id);
    const text = "x".repeat(30_000);
    const together = await laptop.owner.call("config/set", { repo, atomic: true, "load.a": text });
    expect(together).toMatchObject({ result: [], errors: [{ code: 1107, details: { limit: expect.any(Number) } }] });
    expect(together.errors[0]?.message).toContain("max_payload");
    const apart = await laptop.owner.call("config/set", { repo, "load.a": text });
    expect(apart.errors).toEqual([]);
    // Everything that waits for one repository forms one group.
    const waiting = Array.from({ length: 8 }, (_, index) =>
      laptop.owner.call("config/set", { repo: "one", "load.b": `${index}${text}` }),
    );
    expect((await Promise.all(waiting)).flatMap(({ errors }) => errors)).toEqual([]);
    await reaches(desk, "one", 10);
  });

  test("commit a set of several repositories as a whole on every machine", async () => {
    const repo = ["one", "two", "three"];
    await using pair = await makePair(...repo);
    const { laptop, desk } = pair;
    await Promise.all(
      [laptop, desk].map(async ({ owner }, machine) => {
        for (let round = 0; round < 30; round++) {
          const timeout = 1000 * (machine + 1) + round;
          const { errors } = await owner.call("config/set", { repo, atomic: true, "svc.timeout": timeout });
          expect(errors).toEqual([]);
        }
      }),
    );
    const histories = new Set<string>();
    for (const daemon of [laptop, desk])
      for (const id of repo) {
        await reaches(daemon, id, 61);
        const { result } = await daemon.owner.call("history/list", { repo: id, limit: 100 });
        histories.add(
          JSON.stringify(result.map(({ revision, changes }) => [revision, changes["svc"]?.["timeout"]?.value])),
        );
      }
    expect(histories.size).toBe(1);
  });

  test("start without the server and serve no edit by hand before it is in the log, but the values that they had; refuse sets, and merge the edit with what others set", async () => {
    await using world = await makeSharedWorld();
    await leaveShop(world, "laptop");
    await edit(fileOf(world, "laptop"), "timeout", 51);
    {
      await using desk = await world.start("desk");
      await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 42, "svc.domain": "two.test" });
    }
    await world.server.kill();
    await using laptop = await world.start("laptop");
    expect(await timeoutOf(laptop, "shop")).toBe(41);
    expect((await laptop.owner.call("daemon/status")).result.problems?.join()).toContain("cannot be reached");
    const { errors } = await laptop.owner.call("config/set", { repo: "shop", "svc.provider": "here" });
    expect(errors).toMatchObject([{ code: 1108, message: expect.stringMatching(/log.*cannot reach/) }]);
    expect(errors[0]?.message).not.toContain("disk");
    await world.server.start();
    await sees(laptop, "shop", 51);
    expect((await laptop.owner.call("daemon/status")).result.problems).toEqual([]);
    expect((await historyOf(laptop)).map(({ machine }) => machine)).toEqual(["laptop", "desk", "laptop", "laptop"]);
    expect(await svcOf(laptop)).toEqual({ timeout: 51, domain: "two.test" });
  });

  test.each([
    { title: "others edited theirs", settings: {} },
    { title: "another machine has the same name", settings: { machine: "debian" } },
  ])(
    "apply only what the person changed in a file that was edited while its daemon did not run, also where $title",
    async ({ settings }) => {
      await using world = await makeSharedWorld(settings);
      await leaveShop(world, "laptop");
      await edit(fileOf(world, "laptop"), "timeout", 51);
      {
        await using desk = await world.start("desk");
        await desk.owner.call("config/set", { repo: "shop", "svc.domain": "two.test", flush: true });
        await edit(desk.repositoryFile("shop"), "provider", "here");
        await reaches(desk, "shop", 4);
      }
      await using laptop = await world.start("laptop");
      await sees(laptop, "shop", 51);
      expect(await svcOf(laptop)).toEqual({ timeout: 51, domain: "two.test", provider: "here" });
      expect((await historyOf(laptop))[0]?.changes).toEqual({ svc: { timeout: expect.anything() } });
    },
  );

  test("apply only what the person changed in a file that was edited while its history could not be read, beside another machine's edit by hand", async () => {
    await using world = await makeSharedWorld();
    await leaveShop(world, "laptop");
    await using desk = await world.start("desk");
    const fileSystem = watchFileSystem();
    fileSystem.before = ({ path }) => {
      if (path.includes("/journal/")) throw systemError("EIO");
    };
    await using laptop = await world.start("laptop", { fileSystem });
    const refused = await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 1 });
    expect(refused.errors.map(({ code }) => code)).toEqual([1108]);
    await edit(desk.repositoryFile("shop"), "provider", "here");
    await reaches(desk, "shop", 3);
    // After it in the log: once this is there, so is the edit.
    await desk.addRepository("later");
    await hasRepositories(laptop, 2);
    await edit(laptop.repositoryFile("shop"), "timeout", 51);
    fileSystem.before = () => {};
    for (const daemon of [laptop, desk]) {
      await sees(daemon, "shop", 51);
      expect(await svcOf(daemon)).toEqual({ timeout: 51, domain: "one.test", provider: "here" });
    }
  });

  test("decide an edit again if another machine's commit arrives while the history, which could not be read so far, is read", async () => {
    await using world = await makeSharedWorld();
    await leaveShop(world, "laptop");
    await using desk = await world.start("desk");
    await hasRepositories(desk, 1);
    const fileSystem = watchFileSystem();
    const reading = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    let isReadable = false;
    fileSystem.before = async ({ path }) => {
      if (!path.includes("/journal/shop")) return;
      if (!isReadable) throw systemError("EIO");
      reading.resolve();
      await gate.promise;
    };
    await using laptop = await world.start("laptop", { fileSystem });
    expect((await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 1 })).errors).toMatchObject([
      { code: 1108 },
    ]);
    isReadable = true;
    await edit(laptop.repositoryFile("shop"), "timeout", 51);
    await reading.promise;
    await desk.owner.call("config/set", { repo: "shop", "svc.domain": "two.test", "svc.timeout": 42 });
    // After it in the log: once this is there, so is the set.
    await desk.addRepository("later");
    const isThere = async () => (await readdir(join(laptop.homeFolder, "repos"))).includes("later.json");
    await until(isThere, "the later repository");
    gate.resolve();
    for (const daemon of [laptop, desk]) {
      await sees(daemon, "shop", 51);
      expect(await svcOf(daemon)).toEqual({ timeout: 51, domain: "two.test" });
      expect((await historyOf(daemon)).map(({ revision }) => revision)).toEqual([4, 3, 2, 1]);
    }
  });

  test("skip what is redelivered after a restart, even the removal of a repository that was added again", async () => {
    await using world = await makeSharedWorld();
    const place = join(world.home("laptop"), "log/stream.json");
    let before = "";
    {
      await using laptop = await world.start("laptop");
      before = await readFile(place, "utf8");
      await laptop.addRepository("shop");
      await set(laptop, "shop", 41);
      await laptop.owner.call("repo/remove", { repo: "shop" });
      await laptop.addRepository("shop");
      for (const timeout of [42, 43]) await set(laptop, "shop", timeout);
    }
    // As if it had been killed before it could record its position.
    await writeFile(place, before);
    await using laptop = await world.start("laptop");
    await using desk = await world.start("desk");
    for (const daemon of [laptop, desk]) {
      expect([await timeoutOf(daemon, "shop"), await svcOf(daemon)]).toEqual([43, { timeout: 43 }]);
      expect((await daemon.owner.call("repo/list")).result[0]?.revision).toBe(5);
    }
    // The file of the removal, and no other.
    expect(await readdir(join(world.home("laptop"), "removed"))).toHaveLength(1);
  });

  test("refuse a home whose log is not the configured one, and what a shared log cannot keep: values in a work tree", async () => {
    await using world = await makeSharedWorld();
    const home = world.home("laptop");
    {
      await using laptop = await world.start("laptop");
      const added = await laptop.owner.call("repo/add", { name: "tree", path: home, inTree: true });
      expect(added.errors.map(({ code }) => code)).toEqual([1101]);
    }
    await rm(join(home, "settings.json"));
    await expect(startTestDaemon({ home })).rejects.toThrow("uses a shared log");
    const other = startTestDaemon({ home, log: `${world.server.url}/other` });
    await expect(other).rejects.toThrow("uses the shared log team");
    await expect(startTestDaemon({ home, log: "nats://somewhere" })).rejects.toThrow("nats://HOST:PORT/NAME");
    await using own = await startTestDaemon();
    await own.addRepository("mine");
    await own.daemon.close();
    await expect(startTestDaemon({ home: own.homeFolder, log: world.address })).rejects.toThrow("its own log");
  });
});
