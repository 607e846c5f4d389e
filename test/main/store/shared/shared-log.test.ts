import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../../main/time/clock.ts";
import { startTestDaemon, type TestDaemon, until } from "../../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../../helpers/file-system.ts";
import { addLoadScope } from "../../../helpers/load-scope.ts";
import { configured, describeWithNats } from "../../../helpers/nats-server.ts";
import { makePair, makeSharedWorld, sees, timeoutOf } from "../../../helpers/shared-world.ts";

/** Arguments of a server: the maximum size of a message. */
function maximum(bytes: number): (folder: string) => readonly string[] {
  return configured(() => `max_payload: ${bytes}\n`);
}

/** Adds `shop` with two values, and waits until its file has them. */
async function addShop({ owner, addRepository, readRepository }: TestDaemon): Promise<void> {
  await addRepository("shop");
  await owner.call("config/set", { repo: "shop", "svc.timeout": 41, "svc.domain": "one.test" });
  await readRepository("shop");
}

describeWithNats("daemons that share a log", () => {
  test("see each other's repositories, sets and histories, and each has its own file", async () => {
    await using pair = await makePair("shop");
    const { laptop, desk } = pair;
    expect((await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 41 })).errors).toEqual([]);
    await sees(desk, "shop", 41);
    const { errors } = await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 42 });
    expect(errors).toEqual([]);
    await sees(laptop, "shop", 42);
    for (const daemon of [laptop, desk]) {
      const { result } = await daemon.owner.call("history/list", { repo: "shop" });
      expect(result.map(({ revision, machine }) => [revision, machine])).toEqual([
        [3, "desk"],
        [2, "laptop"],
        [1, "laptop"],
      ]);
      expect(JSON.parse(await daemon.readRepository("shop")).config).toEqual({ svc: { timeout: 42 } });
    }
  });

  test("notify watchers of what others changed, exactly as there", async () => {
    await using pair = await makePair("shop");
    const { laptop, desk } = pair;
    for (const { owner } of [laptop, desk]) await owner.call("config/watch", { repo: "shop" });
    await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 41 });
    const here = await laptop.owner.nextChange();
    const there = await desk.owner.nextChange();
    // Each home seals positions with a secret of its own.
    expect({ ...there, position: here.position }).toEqual(here);
    expect(there).toMatchObject({ machine: "laptop", revision: 2, changes: { svc: { timeout: { value: 41 } } } });
  });

  test("merge edits by hand on two machines like two edits on one", async () => {
    await using pair = await makePair("shop");
    const { laptop, desk } = pair;
    const edit = async (daemon: TestDaemon, field: string, value: unknown) => {
      const file = JSON.parse(await readFile(daemon.repositoryFile("shop"), "utf8"));
      file.config.svc = { ...file.config.svc, [field]: value };
      await daemon.writeRepository("shop", JSON.stringify(file, null, 2));
    };
    await Promise.all([edit(laptop, "timeout", 31), edit(desk, "domain", "example.org")]);
    for (const daemon of [laptop, desk]) {
      await until(async () => {
        const { config } = JSON.parse(await readFile(daemon.repositoryFile("shop"), "utf8"));
        return config.svc?.timeout === 31 && config.svc?.domain === "example.org";
      }, "both edits in each file");
      const { result } = await daemon.owner.call("history/list", { repo: "shop" });
      expect(result.map(({ actor, source }) => [actor, source]).slice(0, 2)).toEqual([
        ["file", "file"],
        ["file", "file"],
      ]);
      expect(new Set(result.slice(0, 2).map(({ machine }) => machine))).toEqual(new Set(["laptop", "desk"]));
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
    for (const daemon of [laptop, desk])
      await until(async () => (await daemon.owner.call("repo/list")).result[0]?.revision === 1 + won, "every set");
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
    const set = desk.owner.call("config/set", { repo: "shop", "svc.timeout": 41 });
    // Let the set get as far as it can.
    for (let round = 0; round < 100; round++) await desk.owner.call("key/self");
    release();
    expect((await set).errors).toEqual([]);
    await sees(laptop, "shop", 41);
    expect(JSON.parse(await desk.readRepository("shop")).config.svc.timeout).toBe(41);
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
      await until(async () => (await daemon.owner.call("repo/list")).result[0]?.revision === timeout, "the set before");
      const { errors } = await daemon.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
      expect(errors).toEqual([]);
    }
    for (const daemon of [laptop, desk]) {
      await sees(daemon, "shop", 6);
      const { result } = await daemon.owner.call("history/list", { repo: "shop" });
      expect(result.map(({ revision, machine }) => [revision, machine])).toEqual(
        [7, 6, 5, 4, 3, 2, 1].map(revision => [revision, revision % 2 === 1 && revision > 1 ? "desk" : "laptop"]),
      );
      const [newest, before] = result.map(({ time }) => Date.parse(time));
      expect(Math.round(((before ?? 0) - (newest ?? 0)) / hour)).toBe(1);
    }
  });

  test("refuse a set of several repositories that no message of the server holds, and accept each of many that fit", async () => {
    await using world = await makeSharedWorld({}, maximum(65_536));
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
    expect(together.result).toEqual([]);
    expect(together.errors).toMatchObject([{ code: 1107, details: { limit: expect.any(Number) } }]);
    expect(together.errors[0]?.message).toContain("max_payload");
    const apart = await laptop.owner.call("config/set", { repo, "load.a": text });
    expect(apart.errors).toEqual([]);
    // Everything that waits for one repository forms one group.
    const waiting = Array.from({ length: 8 }, (_, index) =>
      laptop.owner.call("config/set", { repo: "one", "load.b": `${index}${text}` }),
    );
    expect((await Promise.all(waiting)).flatMap(({ errors }) => errors)).toEqual([]);
    await until(async () => {
      const { result } = await desk.owner.call("repo/list");
      return result.find(({ id }) => id === "one")?.revision === 10;
    }, "all sets");
  });

  test("apply what happened while one of them was away, including removals", async () => {
    await using world = await makeSharedWorld();
    await using laptop = await world.start("laptop");
    {
      await using desk = await world.start("desk");
      await laptop.addRepository("shop");
      await laptop.addRepository("site");
      await until(async () => (await desk.owner.call("repo/list")).result.length === 2, "the repositories");
    }
    await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 41 });
    await laptop.owner.call("repo/remove", { repo: "site" });
    await laptop.addRepository("new");
    await using desk = await world.start("desk");
    expect((await desk.owner.call("repo/list")).result.map(({ id }) => id).sort()).toEqual(["new", "shop"]);
    expect(await timeoutOf(desk, "shop")).toBe(41);
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
        await until(async () => {
          const { result } = await daemon.owner.call("repo/list");
          return result.find(one => one.id === id)?.revision === 61;
        }, "every set");
        const { result } = await daemon.owner.call("history/list", { repo: id, limit: 100 });
        histories.add(
          JSON.stringify(result.map(({ revision, changes }) => [revision, changes["svc"]?.["timeout"]?.value])),
        );
      }
    expect(histories.size).toBe(1);
  });

  test("serve what they have while the server is down, refuse sets, keep edits by hand, and lose nothing", async () => {
    await using world = await makePair();
    const { laptop, desk } = world;
    await laptop.addRepository("shop");
    await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 41 });
    await sees(desk, "shop", 41);
    await world.server.kill();
    const { errors } = await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 42 });
    expect(errors).toMatchObject([{ code: 1108, message: expect.stringMatching(/log.*cannot reach/) }]);
    expect(errors[0]?.message).not.toContain("disk");
    expect(await timeoutOf(laptop, "shop")).toBe(41);
    expect((await laptop.owner.call("daemon/status")).result.problems?.join()).toContain("cannot be reached");
    const file = JSON.parse(await laptop.readRepository("shop"));
    file.config.svc.domain = "example.org";
    await laptop.writeRepository("shop", JSON.stringify(file));
    await until(() => laptop.log.some(line => line.includes("cannot be recorded")), "the file to be checked");
    await world.server.start();
    await until(async () => {
      const { config } = JSON.parse(await desk.readRepository("shop"));
      return config.svc.domain === "example.org" && config.svc.timeout === 41;
    }, "the edit on the other machine");
    expect((await laptop.owner.call("daemon/status")).result.problems).toEqual([]);
    expect((await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 43 })).errors).toEqual([]);
    await sees(desk, "shop", 43);
  });

  test("start without the server, serve the values that they had, and continue once it is there", async () => {
    await using world = await makeSharedWorld();
    {
      await using laptop = await world.start("laptop");
      await laptop.addRepository("shop");
      await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 41 });
    }
    await using desk = await world.start("desk");
    await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 42 });
    await world.server.kill();
    await using laptop = await world.start("laptop");
    expect(await timeoutOf(laptop, "shop")).toBe(41);
    expect((await laptop.owner.call("daemon/status")).result.problems).toHaveLength(1);
    await world.server.start();
    await sees(laptop, "shop", 42);
    expect((await laptop.owner.call("daemon/status")).result.problems).toEqual([]);
  });

  test("serve no edit by hand before it is in the log, not even after a restart, and merge it with what others set meanwhile", async () => {
    await using world = await makeSharedWorld();
    {
      await using laptop = await world.start("laptop");
      await addShop(laptop);
    }
    const path = join(world.home("laptop"), "repos/shop.json");
    const file = JSON.parse(await readFile(path, "utf8"));
    file.config.svc.timeout = 51;
    await writeFile(path, JSON.stringify(file));
    {
      await using desk = await world.start("desk");
      await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 42, "svc.domain": "two.test" });
    }
    await world.server.kill();
    await using laptop = await world.start("laptop");
    expect(await timeoutOf(laptop, "shop")).toBe(41);
    await world.server.start();
    await sees(laptop, "shop", 51);
    const { result } = await laptop.owner.call("history/list", { repo: "shop" });
    expect(result.map(({ machine }) => machine)).toEqual(["laptop", "desk", "laptop", "laptop"]);
    const { svc } = JSON.parse(await laptop.readRepository("shop")).config;
    expect(svc).toEqual({ timeout: 51, domain: "two.test" });
  });

  test.each([
    { title: "others edited theirs", name: undefined },
    { title: "another machine has the same name", name: "debian" },
  ])(
    "apply only what the person changed in a file that was edited while its daemon did not run, also where $title",
    async ({ name }) => {
      await using world = await makeSharedWorld(name === undefined ? {} : { machine: name });
      {
        await using laptop = await world.start("laptop");
        await addShop(laptop);
      }
      const path = join(world.home("laptop"), "repos/shop.json");
      const file = JSON.parse(await readFile(path, "utf8"));
      {
        await using desk = await world.start("desk");
        await desk.owner.call("config/set", { repo: "shop", "svc.domain": "two.test" });
        const theirs = JSON.parse(await desk.readRepository("shop"));
        theirs.config.svc.provider = "here";
        await desk.writeRepository("shop", JSON.stringify(theirs));
        await until(async () => (await desk.owner.call("repo/list")).result[0]?.revision === 4, "the edit");
      }
      file.config.svc.timeout = 51;
      await writeFile(path, JSON.stringify(file));
      await using laptop = await world.start("laptop");
      await sees(laptop, "shop", 51);
      const { svc } = JSON.parse(await laptop.readRepository("shop")).config;
      expect(svc).toEqual({ timeout: 51, domain: "two.test", provider: "here" });
      const { result } = await laptop.owner.call("history/list", { repo: "shop" });
      expect(result[0]?.changes).toEqual({ svc: { timeout: expect.anything() } });
    },
  );

  test("apply only what the person changed in a file that was edited while its history could not be read, beside another machine's edit by hand", async () => {
    await using world = await makeSharedWorld();
    {
      await using laptop = await world.start("laptop");
      await addShop(laptop);
    }
    await using desk = await world.start("desk");
    const fileSystem = watchFileSystem();
    fileSystem.before = ({ path }) => {
      if (path.includes("/journal/")) throw systemError("EIO");
    };
    await using laptop = await world.start("laptop", { fileSystem });
    const refused = await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 1 });
    expect(refused.errors.map(({ code }) => code)).toEqual([1108]);
    const edit = async (daemon: TestDaemon, field: string, value: unknown) => {
      const path = daemon.repositoryFile("shop");
      const file = JSON.parse(await readFile(path, "utf8"));
      file.config.svc[field] = value;
      await writeFile(path, JSON.stringify(file));
    };
    await edit(desk, "provider", "here");
    await until(async () => (await desk.owner.call("repo/list")).result[0]?.revision === 3, "the edit");
    // After it in the log: once this is there, so is the edit.
    await desk.addRepository("later");
    await until(async () => (await laptop.owner.call("repo/list")).result.length === 2, "what came");
    await edit(laptop, "timeout", 51);
    fileSystem.before = () => {};
    for (const daemon of [laptop, desk]) {
      await sees(daemon, "shop", 51);
      const { svc } = JSON.parse(await daemon.readRepository("shop")).config;
      expect(svc).toEqual({ timeout: 51, domain: "one.test", provider: "here" });
    }
  });

  test("have after a crash what was acknowledged but in no history or file yet", async () => {
    await using world = await makeSharedWorld();
    const fileSystem = watchFileSystem();
    {
      await using laptop = await world.start("laptop", { fileSystem });
      await laptop.addRepository("shop");
      // Nothing more is written to the home, as by a process that is about to be killed.
      fileSystem.before = ({ operation }) => {
        if (operation === "write" || operation === "rename" || operation === "writeFile") throw systemError("EIO");
      };
      expect((await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 41 })).errors).toEqual([]);
    }
    fileSystem.before = () => {};
    await using laptop = await world.start("laptop");
    expect(await timeoutOf(laptop, "shop")).toBe(41);
    expect(JSON.parse(await laptop.readRepository("shop")).config.svc.timeout).toBe(41);
    const { result } = await laptop.owner.call("history/list", { repo: "shop" });
    expect(result.map(({ revision }) => revision)).toEqual([2, 1]);
  });

  test("skip what is redelivered after a restart, even the removal of a repository that was added again", async () => {
    await using world = await makeSharedWorld();
    const place = join(world.home("laptop"), "log/stream.json");
    let before = "";
    {
      await using laptop = await world.start("laptop");
      before = await readFile(place, "utf8");
      await laptop.addRepository("shop");
      await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 41 });
      await laptop.owner.call("repo/remove", { repo: "shop" });
      await laptop.addRepository("shop");
      for (const timeout of [42, 43]) await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
    }
    // As if it had been killed before it could record its position.
    await writeFile(place, before);
    await using laptop = await world.start("laptop");
    await using desk = await world.start("desk");
    for (const daemon of [laptop, desk]) {
      expect(await timeoutOf(daemon, "shop")).toBe(43);
      expect((await daemon.owner.call("repo/list")).result[0]?.revision).toBe(5);
      expect(JSON.parse(await daemon.readRepository("shop")).config.svc).toEqual({ timeout: 43 });
    }
    // The file of the removal, and no other.
    expect(await readdir(join(world.home("laptop"), "removed"))).toHaveLength(1);
  });

  test("refuse a home whose log is not the configured one", async () => {
    await using world = await makeSharedWorld();
    {
      await using laptop = await world.start("laptop");
      await laptop.addRepository("shop");
    }
    const home = world.home("laptop");
    await rm(join(home, "settings.json"));
    await expect(startTestDaemon({ home })).rejects.toThrow("uses a shared log");
    await expect(startTestDaemon({ home, log: `${world.server.url}/other` })).rejects.toThrow(
      "uses the shared log team",
    );
    await expect(startTestDaemon({ home, log: "nats://somewhere" })).rejects.toThrow("nats://HOST:PORT/NAME");
    await using own = await startTestDaemon();
    await own.addRepository("mine");
    await own.daemon.close();
    await expect(startTestDaemon({ home: own.homeFolder, log: world.address })).rejects.toThrow("its own log");
  });

  test("refuse what a shared log cannot keep: values in a work tree", async () => {
    await using world = await makeSharedWorld();
    await using laptop = await world.start("laptop");
    await laptop.addRepository("shop");
    const added = await laptop.owner.call("repo/add", { name: "tree", path: world.home("laptop"), inTree: true });
    expect(added.errors.map(({ code }) => code)).toEqual([1101]);
  });
});
