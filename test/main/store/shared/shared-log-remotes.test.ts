import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyToShared } from "../../../../main/daemon/home/copy-log.ts";
import { homeAt } from "../../../../main/home/home.ts";
import { sameJson } from "../../../../shared/json.ts";
import { startTestDaemon, type TestDaemon, until } from "../../../helpers/daemon.ts";
import { describeWithNats } from "../../../helpers/nats-server.ts";
import {
  hasRepositories,
  makePair,
  makeSharedWorld,
  type SharedWorld,
  sees,
  set,
  shorten,
  tellsAway,
  timeoutOf,
} from "../../../helpers/shared-world.ts";
import { messagesOf } from "../../../helpers/stream-messages.ts";

/** A folder on a machine that is a clone, as git creates it; without a URL it has no remote. */
async function clone(world: SharedWorld, machine: string, name: string, url?: string): Promise<string> {
  const folder = join(world.home(machine), "..", `${machine}-work`, name);
  await mkdir(join(folder, ".git"), { recursive: true });
  const origin = url === undefined ? "" : `[remote "origin"]\n\turl = ${url}\n`;
  await writeFile(join(folder, ".git/config"), `[core]\n\tbare = false\n${origin}`);
  return folder;
}

async function add({ owner }: TestDaemon, path: string, more: object = {}) {
  return owner.call("repo/add", { name: "a name of its own", path, ...more });
}

describeWithNats("clones on machines that share a log", () => {
  test("of one remote are one repository with a folder on each machine, however the remote's address is written", async () => {
    await using world = await makePair();
    const { laptop, desk } = world;
    const there = await clone(world, "laptop", "shop", "https://somebody:s3cr3t-t0k3n@GitHub.com/acme/shop.git");
    const { result: added } = await add(laptop, there, { name: "shop" });
    expect(added.recognized).toBeUndefined();
    await set(laptop, added.id, 41);
    await sees(desk, added.id, 41);
    const here = await clone(world, "desk", "my-shop", "git@github.com:acme/shop.git");
    const reply = await add(desk, here);
    expect(reply.errors).toEqual([]);
    expect(reply.result).toMatchObject({ id: added.id, name: "shop", path: here, recognized: true, revision: 2 });
    expect(await timeoutOf(desk, added.id)).toBe(41);
    for (const [daemon, path] of [
      [laptop, there],
      [desk, here],
    ] as const) {
      const { result } = await daemon.owner.call("repo/list");
      expect(result.map(entry => [entry.id, entry.path])).toEqual([[added.id, path]]);
      expect(JSON.parse(await daemon.readRepository(added.id)).remote).toBe("github.com/acme/shop");
    }
    const texts = await messagesOf(world);
    expect(texts).toContain("github.com/acme/shop");
    expect(texts).not.toMatch(/s3cr3t|somebody/);
  });

  test("of another remote, without one, with an id of its own, or a second one on a machine are separate repositories", async () => {
    await using world = await makePair();
    const { laptop, desk } = world;
    const url = "https://example.org/acme/shop";
    await add(laptop, await clone(world, "laptop", "shop", url), { id: "shop" });
    await add(laptop, await clone(world, "laptop", "bare"), { id: "bare" });
    await hasRepositories(desk, 2);
    const others = [
      await add(laptop, await clone(world, "laptop", "second", url)),
      await add(desk, await clone(world, "desk", "site", "https://example.org/acme/site")),
      await add(desk, await clone(world, "desk", "none")),
      await add(desk, await clone(world, "desk", "chosen", url), { id: "chosen" }),
    ];
    for (const { result, errors } of others) {
      expect(errors).toEqual([]);
      expect(result.recognized).toBeUndefined();
    }
    await hasRepositories(laptop, 6);
  });

  test("that match several repositories are refused with their names, until a person chooses one", async () => {
    await using world = await makePair();
    const { laptop, desk } = world;
    const url = "https://example.org/acme/shop";
    for (const id of ["one", "two"]) await add(laptop, await clone(world, "laptop", id, url), { id });
    await hasRepositories(desk, 2);
    // A repository is listed shortly before its file has been read, which names its remote.
    for (const repo of ["one", "two"]) await desk.owner.call("file/read", { repo });
    const here = await clone(world, "desk", "shop", url);
    const { errors } = await add(desk, here);
    expect(errors).toMatchObject([{ code: 1111 }]);
    for (const text of ["example.org/acme/shop", "(one)", "(two)", "--id"]) expect(errors[0]?.message).toContain(text);
    expect((await desk.owner.call("repo/list")).result.map(({ path }) => path)).toEqual([undefined, undefined]);
    await desk.owner.call("repo/update", { repo: "two", path: here });
    // Only one is left.
    const again = await add(desk, await clone(world, "desk", "again", url));
    expect(again.result).toMatchObject({ id: "one", recognized: true });
  });

  test("are favourites on one machine only, also while the log is away; what they are merged into becomes one with the folder", async () => {
    await using world = await makePair();
    const { laptop, desk, server } = world;
    const url = "https://example.org/acme/shop";
    const path = await clone(world, "laptop", "one", url);
    await add(laptop, path, { id: "one" });
    await add(desk, await clone(world, "desk", "two", url), { id: "two" });
    for (const daemon of [laptop, desk]) await hasRepositories(daemon, 2);
    const listed = async ({ owner }: TestDaemon) =>
      (await owner.call("repo/list")).result.map(one => [one.id, one.path, one.favourite]);
    await server.kill();
    await tellsAway(laptop, true);
    expect((await laptop.owner.call("repo/update", { repo: "one", favourite: true })).errors).toEqual([]);
    await server.start();
    await tellsAway(laptop, false);
    await set(laptop, "one", 41);
    await sees(desk, "one", 41);
    const [[here], [there]] = [await listed(laptop), await listed(desk)];
    expect([here, there]).toEqual([
      ["one", path, true],
      ["one", undefined, undefined],
    ]);
    expect(await messagesOf(world)).not.toContain("favourite");
    await desk.owner.call("repo/remove", { repo: "one" });
    await until(async () => sameJson(await listed(laptop), [["two", path, true]]), "the folder");
  });

  test("are recognized after restarts, by a machine that joins with a snapshot, and from a home that was copied into the log", async () => {
    await using world = await makeSharedWorld();
    const home = world.home("laptop");
    await mkdir(home, { recursive: true });
    const url = "https://user:s3cr3t@example.org/acme/";
    {
      await using alone = await startTestDaemon({ home });
      await add(alone, await clone(world, "laptop", "copied", `${url}copied`), { id: "copied" });
      // While its log is its own, no file names a remote.
      expect(await alone.readRepository("copied")).not.toContain("example.org");
    }
    await copyToShared({ home: homeAt(home), address: world.address, onProgress: () => {} });
    await using laptop = await world.start("laptop");
    await using desk = await world.start("desk");
    await add(laptop, await clone(world, "laptop", "shop", `${url}shop`), { id: "shop" });
    await hasRepositories(desk, 2);
    await desk.restart();
    const shop = await clone(world, "desk", "shop", `${url}shop`);
    expect((await add(desk, shop)).result).toMatchObject({ id: "shop", recognized: true });
    const copied = await clone(world, "desk", "copied", `${url}copied`);
    expect((await add(desk, copied)).result).toMatchObject({ id: "copied", recognized: true });
    await shorten(laptop, "shop");
    await using board = await world.start("board");
    for (const id of ["shop", "copied"]) {
      const { result } = await add(board, await clone(world, "board", id, `git@example.org:acme/${id}`));
      expect(result).toMatchObject({ id, recognized: true });
    }
    expect(await messagesOf(world)).not.toContain("s3cr3t");
  });
});
