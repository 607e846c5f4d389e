import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyToShared } from "../../../../main/daemon/home/copy-log.ts";
import { homeAt } from "../../../../main/home/home.ts";
import type { LogEntry } from "../../../../main/store/log/commit-log.ts";
import { type Clock, systemClock } from "../../../../main/time/clock.ts";
import type { Config } from "../../../../shared/config.ts";
import { startTestDaemon, type TestDaemon, until } from "../../../helpers/daemon.ts";
import { filesBelow } from "../../../helpers/home-files.ts";
import { addLoadScope } from "../../../helpers/load-scope.ts";
import { configured, describeWithNats } from "../../../helpers/nats-server.ts";
import { openServerLine } from "../../../helpers/server-line.ts";
import {
  hasRepositories,
  historyOf,
  makePair,
  makeSharedWorld,
  type SharedWorld,
  sees,
  set,
  shorten,
  timeoutOf,
} from "../../../helpers/shared-world.ts";
import { openStreamLog } from "../../../helpers/stream-log.ts";
import { firstMessageOf, messagesOf } from "../../../helpers/stream-messages.ts";
import { temporaryFolder } from "../../../helpers/temporary-folder.ts";

/** The minimum that the settings allow. */
const short = { bytes: 65_536 };

function isProblem(line: string): boolean {
  const { level = 0 } = JSON.parse(line) as { readonly level?: number };
  return level >= 40;
}

async function changesOf(daemon: TestDaemon, repo = "shop") {
  return (await historyOf(daemon, repo)).filter(({ source }) => source !== "forget");
}

/** A server that refuses to remove messages until it restarts after `allow`. */
function refusedPurges() {
  let configuration = `
authorization {
  users = [{ user: one, password: two, permissions: { publish: { deny: "$JS.API.STREAM.PURGE.>" } } }]
}
no_auth_user: one
`;
  return {
    arguments: configured(() => configuration),
    allow: () => {
      configuration = "";
    },
  };
}

/** Adds a repository whose domain was once a secret, and requests that it be forgotten. */
async function forgetSecret({ owner, addRepository }: TestDaemon) {
  await addRepository("shop");
  await owner.call("config/set", { repo: "shop", "svc.domain": "secret.example.org" });
  await owner.call("config/unset", { repo: "shop", fields: ["svc.domain"] });
  return (await owner.call("history/forget", { repo: "shop", field: "svc.domain" })).errors;
}

async function secretIsRemoved(world: SharedWorld): Promise<void> {
  await until(async () => !(await messagesOf(world)).includes("secret.example.org"), "the value to be removed");
}

/** Replaces long values by their lengths, as a failing test would print them in full. */
function inShort(config: Config): unknown {
  return JSON.parse(
    JSON.stringify(config, (_, value: unknown) =>
      typeof value === "string" && value.length > 100 ? value.length : value,
    ),
  );
}

async function untilNoFileHas(folder: string, text: string): Promise<void> {
  const has = async () => Object.values(await filesBelow(folder)).some(content => content.includes(text));
  await until(async () => !(await has()), "no file");
}

describeWithNats("a shared log that grows", () => {
  test("drops its beginning, and a machine that joins then has the same values, histories and positions as the others", async () => {
    await using world = await makeSharedWorld({ ...short });
    await using laptop = await world.start("laptop");
    await laptop.addRepository("shop");
    await laptop.addRepository("site");
    await set(laptop, "site", 5, "as agreed");
    let timeout = 1_000;
    await until(async () => {
      for (let count = 0; count < 40; count++) await set(laptop, "shop", ++timeout, "x".repeat(200));
      return (await firstMessageOf(world)) > 1;
    }, "the stream to begin later");
    await set(laptop, "site", 6);
    await using desk = await world.start("desk");
    expect([await timeoutOf(desk, "shop"), await timeoutOf(desk, "site")]).toEqual([timeout, 6]);
    for (const repo of ["shop", "site"]) expect(await historyOf(desk, repo)).toEqual(await historyOf(laptop, repo));
    const merged = async ({ owner }: TestDaemon) =>
      (await owner.call("history/search", { query: "", limit: 200 })).result.map(({ repo, revision }) => [
        repo,
        revision,
      ]);
    expect(await merged(desk)).toEqual(await merged(laptop));
    await set(desk, "shop", 7);
    await sees(laptop, "shop", 7);
    expect(JSON.parse(await desk.readRepository("shop")).config.svc).toEqual({ timeout: 7 });
  });

  test("is applied by a daemon that was away: changes, removals and repositories added again; its edits by hand stay", async () => {
    await using world = await makeSharedWorld({ ...short });
    await using laptop = await world.start("laptop");
    {
      await using desk = await world.start("desk");
      for (const id of ["shop", "site", "old", "again"]) await laptop.addRepository(id);
      await set(laptop, "again", 1);
      await set(laptop, "shop", 3);
      await sees(desk, "again", 1);
      await sees(desk, "shop", 3);
    }
    const edited = JSON.parse(await readFile(join(world.home("desk"), "repos/shop.json"), "utf8"));
    edited.config.svc.domain = "example.org";
    await laptop.owner.call("repo/remove", { repo: "old" });
    await laptop.owner.call("repo/remove", { repo: "again" });
    await laptop.addRepository("again");
    await set(laptop, "again", 2);
    const timeout = 50;
    await set(laptop, "shop", timeout);
    await shorten(laptop, "shop");
    await writeFile(join(world.home("desk"), "repos/shop.json"), JSON.stringify(edited, null, 2));
    await using desk = await world.start("desk");
    await until(async () => {
      const { config } = JSON.parse(await laptop.readRepository("shop"));
      return config.svc.domain === "example.org" && config.svc.timeout === timeout;
    }, "the edit on the other machine");
    expect((await desk.owner.call("repo/list")).result.map(({ id }) => id).sort()).toEqual(["again", "shop", "site"]);
    expect(await timeoutOf(desk, "again")).toBe(2);
    // The repository here is not the one that was added since.
    await until(async () => {
      const removed = await readdir(join(world.home("desk"), "removed"));
      const ids = removed.map(name => name.split(".")[0]);
      return ids.sort().join() === "again,old";
    }, "the files of those that were removed");
    expect(JSON.parse(await desk.readRepository("shop")).config.svc).toEqual({ timeout, domain: "example.org" });
    for (const repo of ["shop", "again"]) expect(await changesOf(desk, repo)).toEqual(await changesOf(laptop, repo));
  });

  test("is shortened by one machine at a time, and no set is lost", async () => {
    await using world = await makeSharedWorld({ ...short });
    const machines = ["laptop", "desk", "board"];
    await using stack = new AsyncDisposableStack();
    const daemons: TestDaemon[] = [];
    for (const machine of machines) daemons.push(stack.use(await world.start(machine)));
    const [laptop] = daemons;
    if (laptop === undefined) throw new Error("no daemon");
    for (const id of [...machines, "common"]) await laptop.addRepository(id);
    for (const daemon of daemons) await hasRepositories(daemon, 4);
    const rounds = 100;
    await Promise.all(
      daemons.map(async (daemon, index) => {
        for (let round = 1; round <= rounds; round++) {
          // Its own repository, and one that all of them change.
          await set(daemon, machines[index] ?? "", round, "x".repeat(200));
          await set(daemon, "common", 1_000 * index + round);
        }
      }),
    );
    await until(async () => (await firstMessageOf(world)) > 1, "the stream to begin later");
    const joined = stack.use(await world.start("joined"));
    for (const repo of machines) {
      for (const daemon of [...daemons, joined]) await sees(daemon, repo, rounds);
      expect(await historyOf(joined, repo)).toEqual(await historyOf(laptop, repo));
    }
    const common = await historyOf(joined, "common");
    expect(common).toHaveLength(1 + machines.length * rounds);
    for (const daemon of daemons) expect(await historyOf(daemon, "common")).toEqual(common);
    for (const { log } of [...daemons, joined]) expect(log.filter(isProblem)).toEqual([]);
  });

  test("brings a running daemon that could not reach it up to date", async () => {
    await using world = await makeSharedWorld({ ...short });
    await using line = await openServerLine(world.server.port);
    await using laptop = await world.start("laptop");
    await using desk = await world.start("desk", {}, { log: { address: `nats://127.0.0.1:${line.port}/team` } });
    await laptop.addRepository("shop");
    await laptop.addRepository("old");
    await set(laptop, "shop", 3);
    await sees(desk, "shop", 3);
    await desk.owner.call("config/watch", { repo: "shop" });
    await line.close();
    await until(async () => (await desk.owner.call("daemon/status")).result.problems?.length === 1, "the break");
    await laptop.owner.call("repo/remove", { repo: "old" });
    const timeout = 50;
    await set(laptop, "shop", timeout);
    await shorten(laptop, "shop");
    await line.open();
    await sees(desk, "shop", timeout);
    await hasRepositories(desk, 1);
    let received = 0;
    while (received !== timeout) received = Number((await desk.owner.nextChange()).changes["svc"]?.["timeout"]?.value);
    expect(await changesOf(desk)).toEqual(await changesOf(laptop));
    await set(desk, "shop", 1);
    await sees(laptop, "shop", 1);
  });

  test("keeps no more of a history than its machines do, and values of any size; a machine that was away for longer gets both, and keeps its edits", async () => {
    await using world = await makeSharedWorld({ ...short });
    const settings = { history: { revisions: 20 } };
    const names = Array.from({ length: 8 }, (_, index) => `field${index}`);
    for (const machine of ["laptop", "desk", "board"]) await addLoadScope(world.home(machine), names);
    await using laptop = await world.start("laptop", {}, settings);
    const text = "y".repeat(200_000);
    await laptop.addRepository("shop");
    await laptop.owner.call("config/set", { repo: "shop", "svc.domain": "old.example.org", "load.field0": "was here" });
    {
      await using desk = await world.start("desk", {}, settings);
      await until(async () => (await desk.owner.call("repo/list")).result[0]?.revision === 2, "the set");
      await desk.readRepository("shop");
    }
    const path = join(world.home("desk"), "repos/shop.json");
    const edited = JSON.parse(await readFile(path, "utf8"));
    await writeFile(path, JSON.stringify({ ...edited, config: { ...edited.config, load: { field0: "by hand" } } }));
    await laptop.owner.call("config/unset", { repo: "shop", fields: ["svc.domain"] });
    for (const name of names.slice(1))
      expect((await laptop.owner.call("config/set", { repo: "shop", [`load.${name}`]: text })).errors).toEqual([]);
    const timeout = 25;
    for (let count = 1; count <= timeout; count++) await set(laptop, "shop", count);
    const kept = await historyOf(laptop, "shop");
    // Forgetting a field that never existed: a snapshot is written immediately.
    await shorten(laptop, "shop");
    await using board = await world.start("board", {}, settings);
    await using desk = await world.start("desk", {}, settings);
    const load = { field0: "by hand", ...Object.fromEntries(names.slice(1).map(name => [name, text.length])) };
    for (const daemon of [desk, board, laptop]) {
      const stored = async () => (await daemon.owner.call("config/list", { repo: "shop", stored: true })).result;
      await until(async () => (await stored())["load"]?.["field0"] === "by hand", "the edit by hand");
      expect(inShort(await stored())).toEqual({ svc: { timeout }, load });
      expect(inShort(JSON.parse(await daemon.readRepository("shop")).config)).toEqual({ svc: { timeout }, load });
      expect((await changesOf(daemon)).slice(1, 15)).toEqual(kept.slice(0, 14));
    }
    const { errors } = await desk.owner.call("config/list", { repo: "shop", revision: 10 });
    expect(errors.map(({ code }) => code)).toEqual([1110]);
  });

  test("that a home was copied into has the same repositories everywhere: a machine that was away during a snapshot keeps its files", async () => {
    await using world = await makeSharedWorld();
    const home = world.home("laptop");
    await mkdir(home, { recursive: true });
    {
      await using laptop = await startTestDaemon({ home });
      await laptop.addRepository("shop");
      for (let count = 1; count <= 5; count++) await set(laptop, "shop", count);
    }
    await copyToShared({ home: homeAt(home), address: world.address, onProgress: () => {} });
    await using laptop = await world.start("laptop");
    {
      await using desk = await world.start("desk");
      await sees(desk, "shop", 5);
    }
    await set(laptop, "shop", 6);
    await shorten(laptop, "shop");
    await using desk = await world.start("desk");
    await sees(desk, "shop", 6);
    expect(await readdir(join(world.home("desk"), "removed"))).toEqual([]);
    expect((await changesOf(desk)).map(({ revision }) => revision)).toEqual([7, 6, 5, 4, 3, 2, 1]);
  });

  test("has the same name of a repository on every machine: on one that was present, was away during a snapshot, or joins", async () => {
    await using world = await makeSharedWorld();
    await using laptop = await world.start("laptop");
    await using board = await world.start("board");
    const named = async (daemon: TestDaemon, name: string) => {
      await until(async () => (await daemon.owner.call("repo/list")).result[0]?.name === name, `the name ${name}`);
      await until(async () => JSON.parse(await daemon.readRepository("shop")).name === name, `${name} in the file`);
    };
    const rename = async (daemon: TestDaemon, name: string) =>
      expect((await daemon.owner.call("repo/update", { repo: "shop", name })).errors).toEqual([]);
    await laptop.addRepository("shop");
    {
      await using desk = await world.start("desk");
      await named(desk, "shop");
      await rename(desk, "Shop");
      await named(laptop, "Shop");
    }
    await rename(laptop, "The shop");
    await named(board, "The shop");
    await shorten(laptop, "shop");
    await using desk = await world.start("desk");
    await using joined = await world.start("joined");
    for (const daemon of [desk, joined]) await named(daemon, "The shop");
    await set(desk, "shop", 5);
    await sees(laptop, "shop", 5);
  });
});

describeWithNats("forgetting in a shared log", () => {
  test("removes a value from every message and from every machine's history, also of one that was away", async () => {
    await using world = await makePair("shop", "site");
    const { laptop, desk } = world;
    const setDomain = async (domain: string) =>
      expect((await laptop.owner.call("config/set", { repo: "shop", "svc.domain": domain })).errors).toEqual([]);
    await setDomain("first-secret.example.org");
    await set(laptop, "shop", 1);
    {
      await using board = await world.start("board");
      await sees(board, "shop", 1);
    }
    await setDomain("second-secret.example.org");
    await setDomain("open.example.org");
    await set(laptop, "site", 4);
    await sees(desk, "site", 4);
    for (const secret of ["first-secret", "second-secret"]) expect(await messagesOf(world)).toContain(secret);
    expect((await laptop.owner.call("history/forget", { repo: "shop", field: "svc.domain" })).errors).toEqual([]);
    const texts = await messagesOf(world);
    expect(texts).not.toContain("-secret.example.org");
    expect(texts).toContain("open.example.org");
    await until(async () => (await historyOf(desk, "shop"))[0]?.source === "forget", "the other machine");
    expect(await historyOf(desk, "shop")).toEqual(await historyOf(laptop, "shop"));
    await using third = await world.start("third");
    expect(await historyOf(third, "shop")).toEqual(await historyOf(laptop, "shop"));
    await set(third, "shop", 9);
    await sees(laptop, "shop", 9);
    await using board = await world.start("board");
    await sees(board, "shop", 9);
    for (const machine of ["laptop", "desk", "board"]) await untilNoFileHas(world.home(machine), "-secret.example.org");
    expect(await changesOf(board)).toEqual(await changesOf(laptop));
    expect((await historyOf(board, "shop")).filter(({ source }) => source === "forget")).toHaveLength(1);
    const { svc } = JSON.parse(await board.readRepository("shop")).config;
    expect(svc).toEqual({ timeout: 9, domain: "open.example.org" });
  });

  test.each(["another machine", "the machine itself after a restart"])(
    "is finished by %s if earlier messages could not be removed",
    async who => {
      const permissions = refusedPurges();
      await using world = await makeSharedWorld({}, permissions.arguments);
      await using others = new AsyncDisposableStack();
      if (who === "another machine") others.use(await world.start("desk"));
      {
        await using laptop = await world.start("laptop");
        const errors = await forgetSecret(laptop);
        expect(errors).toMatchObject([{ code: 1108, message: expect.stringContaining("shared log still has them") }]);
        await set(laptop, "shop", 4);
      }
      expect(await messagesOf(world)).toContain("secret.example.org");
      await world.server.kill();
      permissions.allow();
      await world.server.start();
      if (who === "another machine") await secretIsRemoved(world);
      await using laptop = await world.start("laptop");
      await secretIsRemoved(world);
      expect(await timeoutOf(laptop, "shop")).toBe(4);
    },
  );

  test("is taken over by another machine if the one that requested it died, and an unfinished snapshot is ignored", async () => {
    await using world = await makeSharedWorld();
    // Long timeouts fire soon.
    const schedule: Clock["schedule"] = (milliseconds, task) =>
      systemClock.schedule(milliseconds >= 20_000 ? 100 : milliseconds, task);
    await using laptop = await world.start("laptop", { clock: { ...systemClock, schedule } });
    await laptop.addRepository("shop");
    await laptop.owner.call("config/set", { repo: "shop", "svc.domain": "secret.example.org" });
    await laptop.owner.call("config/set", { repo: "shop", "svc.domain": "open.example.org" });
    {
      await using folder = await temporaryFolder();
      const { log } = await openStreamLog(world.server, folder.path, { name: "team" });
      const time = "2025-01-01T00:00:00.000Z";
      const commits = [{ kind: "commit", time, actor: { kind: "file" }, source: "file", documents: [] }] as const;
      const dead = { kind: "snapshot", time } as const;
      const part = { kind: "part", snapshot: log.newest + 1, repo: "shop", commits, erasures: [] } as const;
      const forgetting = { kind: "forget", time, actor: { kind: "file" }, repo: "shop", revision: 3 } as const;
      const append = (entry: LogEntry) => log.append({ entries: [entry], after: log.newest, committed: () => {} });
      await append(dead);
      await append({ ...part, isFirst: true, isLast: true });
      await append({ ...forgetting, scope: "svc", field: "domain" });
      await log.close();
    }
    await secretIsRemoved(world);
    await using desk = await world.start("desk");
    const history = await historyOf(desk, "shop");
    expect(history).toEqual(await historyOf(laptop, "shop"));
    expect(history.filter(({ source }) => source === "forget")).toHaveLength(1);
  });
});
