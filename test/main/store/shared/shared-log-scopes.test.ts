import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { copyFromShared } from "../../../../main/daemon/home/copy-log.ts";
import { homeAt } from "../../../../main/home/home.ts";
import { type TestDaemon, until } from "../../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../../helpers/file-system.ts";
import { configured, describeWithNats } from "../../../helpers/nats-server.ts";
import {
  hasRepositories,
  makePair,
  makeSharedWorld,
  type SharedWorld,
  sees,
  set,
  shorten,
} from "../../../helpers/shared-world.ts";
import { messagesOf } from "../../../helpers/stream-messages.ts";

/** A scope with one field of numbers up to `maximum`, as a person writes it. */
function schemaText(maximum: number, description = "A scope."): string {
  const properties = { size: { type: "integer", title: "Size", description: "A size.", default: 1, maximum } };
  return `${JSON.stringify({ type: "object", title: "Own", description, properties }, null, 2)}\n`;
}

function scopeFile(world: SharedWorld, machine: string, scope: string): string {
  return join(world.home(machine), "scopes", `${scope}.schema.json`);
}

async function writeScope(world: SharedWorld, machine: string, scope: string, text: string): Promise<void> {
  await mkdir(join(world.home(machine), "scopes"), { recursive: true });
  await writeFile(scopeFile(world, machine, scope), text);
}

function readScope(world: SharedWorld, machine: string, scope: string): Promise<string | undefined> {
  return readFile(scopeFile(world, machine, scope), "utf8").catch(() => undefined);
}

/** The maximum of the field, by scope. */
async function scopesOf({ owner }: TestDaemon): Promise<{ [scope: string]: unknown }> {
  const { result } = await owner.call("scope/list");
  const own = result.filter(({ scope }) => scope !== "svc");
  return Object.fromEntries(own.map(({ scope, schema }) => [scope, schema.properties["size"]?.["maximum"]]));
}

async function uses(daemon: TestDaemon, scopes: { [scope: string]: number }): Promise<void> {
  const isSo = async () => isDeepStrictEqual(await scopesOf(daemon), scopes);
  await until(isSo, `the scopes ${JSON.stringify(scopes)}`);
}

/** The kept texts of scopes that were superseded, by name. */
async function keptScopes(world: SharedWorld, machine: string): Promise<{ [scope: string]: string }> {
  const folder = join(world.home(machine), "removed");
  const names = (await readdir(folder)).filter(name => name.includes(".schema."));
  const texts = names.map(async name => [name.split(".")[0] ?? "", await readFile(join(folder, name), "utf8")]);
  return Object.fromEntries(await Promise.all(texts));
}

/** The values of the scope `own` in the repository `shop`. */
async function ownOf({ owner }: TestDaemon) {
  return (await owner.call("config/list", { repo: "shop", scope: "own" })).result;
}

async function hasHealth({ owner }: TestDaemon, code: number): Promise<void> {
  const isReported = async () =>
    (await owner.call("repo/list")).result[0]?.health.some(one => one.code === code) === true;
  await until(isReported, `the health ${code}`);
}

async function problemsOf({ owner }: TestDaemon): Promise<string> {
  return (await owner.call("daemon/status")).result.problems?.join("\n") ?? "";
}

/** How many entries of the stream are scopes. */
async function countShared(world: SharedWorld): Promise<number> {
  return (await messagesOf(world)).split('"kind":"scope"').length - 1;
}

describeWithNats("scopes of daemons that share a log", () => {
  test("reach a machine that joins and those that run, their clients and editors, when a person adds, edits or deletes them", async () => {
    await using world = await makeSharedWorld();
    await writeScope(world, "laptop", "own", schemaText(100));
    await using laptop = await world.start("laptop");
    await until(async () => (await countShared(world)) === 1, "the scope in the stream");
    await laptop.addRepository("shop");
    await laptop.owner.call("config/set", { repo: "shop", "own.size": 80 });
    await using desk = await world.start("desk");
    await uses(desk, { own: 100 });
    expect(await readScope(world, "desk", "own")).toBe(schemaText(100));
    expect(await ownOf(desk)).toEqual({ own: { size: 80 } });
    await laptop.owner.call("config/watch");
    await writeScope(world, "desk", "own", schemaText(200));
    await writeScope(world, "desk", "more", schemaText(5));
    await uses(laptop, { own: 200, more: 5 });
    expect(await readScope(world, "laptop", "own")).toBe(schemaText(200));
    await until(() => JSON.stringify(laptop.owner.events).includes('"more"'), "the event");
    const forEditors = async () => readFile(homeAt(world.home("laptop")).repositorySchemaFile, "utf8");
    await until(async () => /"maximum": ?200/.test(await forEditors()), "the schema for editors");
    expect((await laptop.owner.call("config/set", { repo: "shop", "own.size": 150 })).errors).toEqual([]);
    await rm(scopeFile(world, "laptop", "more"));
    await uses(desk, { own: 200 });
    expect(await readScope(world, "desk", "more")).toBeUndefined();
    expect(await countShared(world)).toBe(4);
    for (const machine of ["laptop", "desk"]) expect(await keptScopes(world, machine)).toEqual({});
    for (const daemon of [laptop, desk]) expect(await problemsOf(daemon)).toBe("");
  });

  test("that are invalid stay on their machine, and the others keep the last valid ones, also in a log of their own", async () => {
    await using world = await makePair();
    const { laptop, desk } = world;
    await writeScope(world, "laptop", "own", schemaText(100));
    await uses(desk, { own: 100 });
    await writeScope(world, "laptop", "own", "{ no schema");
    await until(async () => (await problemsOf(laptop)).includes("own.schema.json"), "the problem");
    await writeScope(world, "laptop", "more", schemaText(5));
    await uses(desk, { own: 100, more: 5 });
    // The broken one was checked before that.
    expect(await readScope(world, "desk", "own")).toBe(schemaText(100));
    expect(await problemsOf(desk)).toBe("");
    await writeScope(world, "laptop", "own", schemaText(7));
    await uses(desk, { own: 7, more: 5 });
    // They stay with a home that returns to a log of its own, where nothing is shared any more.
    const home = homeAt(world.home("board"));
    await mkdir(home.folder, { recursive: true });
    await copyFromShared({ home, address: world.address, onProgress: () => {} });
    expect(await readScope(world, "board", "own")).toBe(schemaText(7));
    expect(await readdir(home.log)).not.toContain("scopes.json");
  });

  test("reach a daemon that was away, along with what a person changed there meanwhile; no restart repeats any of it", async () => {
    await using world = await makeSharedWorld();
    for (const scope of ["one", "two", "three", "four"]) await writeScope(world, "laptop", scope, schemaText(1));
    await using laptop = await world.start("laptop");
    {
      await using desk = await world.start("desk");
      await uses(desk, { one: 1, two: 1, three: 1, four: 1 });
    }
    await writeScope(world, "laptop", "one", schemaText(2));
    await rm(scopeFile(world, "laptop", "two"));
    await uses(laptop, { one: 2, three: 1, four: 1 });
    await until(async () => (await countShared(world)) === 6, "the changes in the stream");
    await writeScope(world, "desk", "three", schemaText(3));
    await rm(scopeFile(world, "desk", "four"));
    await writeScope(world, "desk", "five", schemaText(5));
    const all = { one: 2, three: 3, five: 5 };
    {
      await using desk = await world.start("desk");
      for (const daemon of [desk, laptop]) await uses(daemon, all);
    }
    await laptop.restart();
    await using desk = await world.start("desk");
    await writeScope(world, "desk", "six", schemaText(6));
    for (const daemon of [desk, laptop]) await uses(daemon, { ...all, six: 6 });
    expect(await countShared(world)).toBe(10);
    for (const machine of ["laptop", "desk"]) expect(await keptScopes(world, machine)).toEqual({});
  });

  test("that were changed on two machines take the text that is first in the log; the other one is kept and reported", async () => {
    await using world = await makeSharedWorld();
    for (const scope of ["own", "gone", "back"]) await writeScope(world, "laptop", scope, schemaText(1));
    await using laptop = await world.start("laptop");
    {
      await using desk = await world.start("desk");
      await uses(desk, { own: 1, gone: 1, back: 1 });
    }
    await writeScope(world, "laptop", "own", schemaText(2));
    await writeScope(world, "laptop", "back", schemaText(2));
    await rm(scopeFile(world, "laptop", "gone"));
    await until(async () => (await countShared(world)) === 6, "the changes in the stream");
    await writeScope(world, "desk", "own", schemaText(3));
    await writeScope(world, "desk", "gone", schemaText(3));
    await rm(scopeFile(world, "desk", "back"));
    await using desk = await world.start("desk");
    for (const daemon of [desk, laptop]) await uses(daemon, { own: 2, back: 2 });
    expect(await keptScopes(world, "desk")).toEqual({ own: schemaText(3), gone: schemaText(3) });
    const problems = await problemsOf(desk);
    for (const scope of ["own", "gone", "back"]) expect(problems).toContain(`${scope}.schema.json`);
    expect(await problemsOf(laptop)).toBe("");
    // A person who edits it again has seen the first one.
    await writeScope(world, "desk", "own", schemaText(3));
    await uses(laptop, { own: 3, back: 2 });
    expect(await problemsOf(desk)).not.toContain("own.schema.json");
    expect(await keptScopes(world, "laptop")).toEqual({});
  });

  test("that are changed everywhere while the server is down are the same everywhere once it is back, and no text is lost", async () => {
    await using world = await makePair();
    const { laptop, desk } = world;
    await writeScope(world, "laptop", "own", schemaText(1));
    await uses(desk, { own: 1 });
    await laptop.addRepository("shop");
    await world.server.kill();
    for (const { owner } of [laptop, desk])
      await until(async () => {
        const { errors } = await owner.call("config/set", { repo: "shop", "svc.timeout": 1 });
        return errors.some(({ code }) => code === 1108);
      }, "nothing to be appended any more");
    await writeScope(world, "laptop", "own", schemaText(2));
    await writeScope(world, "desk", "own", schemaText(3));
    await uses(laptop, { own: 2 });
    await uses(desk, { own: 3 });
    await world.server.start();
    const kept = async () => [await keptScopes(world, "laptop"), await keptScopes(world, "desk")];
    await until(async () => (await kept()).some(({ own }) => own !== undefined), "the text that gave way");
    await until(async () => (await scopesOf(laptop))["own"] === (await scopesOf(desk))["own"], "one scope");
    const winner = Number((await scopesOf(laptop))["own"]);
    expect(await kept()).toEqual(winner === 2 ? [{}, { own: schemaText(3) }] : [{ own: schemaText(2) }, {}]);
    for (const machine of ["laptop", "desk"]) expect(await readScope(world, machine, "own")).toBe(schemaText(winner));
    expect(await countShared(world)).toBe(2);
  });

  test("come with a snapshot to a machine that joins and to one that was away, which drops the deleted ones", async () => {
    await using world = await makeSharedWorld();
    for (const scope of ["own", "old", "hers"]) await writeScope(world, "laptop", scope, schemaText(1));
    await using laptop = await world.start("laptop");
    {
      await using desk = await world.start("desk");
      await uses(desk, { own: 1, old: 1, hers: 1 });
    }
    await laptop.addRepository("shop");
    await writeScope(world, "laptop", "own", schemaText(50));
    await rm(scopeFile(world, "laptop", "old"));
    await until(async () => (await countShared(world)) === 5, "the changes in the stream");
    await laptop.owner.call("config/set", { repo: "shop", "own.size": 40 });
    await set(laptop, "shop", 50);
    await shorten(laptop, "shop");
    await writeScope(world, "desk", "hers", schemaText(3));
    await writeScope(world, "desk", "new", schemaText(4));
    await using desk = await world.start("desk");
    await using board = await world.start("board");
    for (const daemon of [laptop, desk, board]) {
      await uses(daemon, { own: 50, hers: 3, new: 4 });
      await sees(daemon, "shop", 50);
      expect(await ownOf(daemon)).toEqual({ own: { size: 40 } });
    }
    for (const machine of ["laptop", "desk", "board"]) expect(await keptScopes(world, machine)).toEqual({});
    // Even after another snapshot, by a machine that joined with one.
    await shorten(board, "shop");
    await using late = await world.start("late");
    await uses(late, { own: 50, hers: 3, new: 4 });
  });

  test("that change affect values like a changed file: all machines have the same revisions and the same values", async () => {
    await using world = await makeSharedWorld();
    await writeScope(world, "laptop", "own", schemaText(100));
    await using laptop = await world.start("laptop");
    await using desk = await world.start("desk");
    await laptop.addRepository("shop");
    await uses(desk, { own: 100 });
    await laptop.owner.call("config/set", { repo: "shop", "own.size": 80, "svc.timeout": 3 });
    await sees(desk, "shop", 3);
    await writeScope(world, "desk", "own", schemaText(50));
    for (const daemon of [laptop, desk]) {
      await uses(daemon, { own: 50 });
      await hasHealth(daemon, 1103);
      // Under the current schema only the default is left.
      expect(await ownOf(daemon)).toEqual({ own: { size: 1 } });
    }
    await set(laptop, "shop", 4);
    await sees(desk, "shop", 4);
    for (const { owner } of [laptop, desk]) {
      const { result } = await owner.call("history/list", { repo: "shop" });
      const changed = result.map(({ revision, changes }) => `${revision} ${Object.keys(changes).sort().join()}`);
      expect(changed).toEqual(["4 svc", "3 own", "2 own,svc", "1 "]);
    }
    await writeScope(world, "laptop", "own", schemaText(200));
    for (const daemon of [laptop, desk])
      await until(async () => (await ownOf(daemon))["own"]?.["size"] === 80, "the value in the file");
  });

  test("that make a value inactive leave it in every file, also by a snapshot: on a machine that was away, and on one that joins", async () => {
    await using world = await makeSharedWorld();
    await writeScope(world, "laptop", "own", schemaText(100));
    await using laptop = await world.start("laptop");
    await laptop.addRepository("shop");
    await laptop.owner.call("config/set", { repo: "shop", "own.size": 80, "svc.timeout": 3 });
    {
      await using desk = await world.start("desk");
      await sees(desk, "shop", 3);
      expect(JSON.parse(await desk.readRepository("shop")).config.own).toEqual({ size: 80 });
    }
    await writeScope(world, "laptop", "own", schemaText(50));
    await hasHealth(laptop, 1103);
    await set(laptop, "shop", 4);
    await shorten(laptop, "shop");
    await using desk = await world.start("desk");
    await using board = await world.start("board");
    const everywhere = [laptop, desk, board];
    for (const daemon of everywhere) {
      await sees(daemon, "shop", 4);
      await hasHealth(daemon, 1103);
      expect(await ownOf(daemon)).toEqual({ own: { size: 1 } });
      expect(JSON.parse(await daemon.readRepository("shop")).config.own).toEqual({ size: 80 });
    }
    const late = homeAt(world.home("late"));
    await mkdir(late.folder, { recursive: true });
    expect(await copyFromShared({ home: late, address: world.address, onProgress: () => {} })).toBe(1);
    await writeScope(world, "laptop", "own", schemaText(200));
    for (const daemon of everywhere)
      await until(async () => (await ownOf(daemon))["own"]?.["size"] === 80, "the value in the file");
  });

  test("that were deleted while a daemon was away take their values out of service there, including earlier ones", async () => {
    await using world = await makeSharedWorld();
    await writeScope(world, "laptop", "own", schemaText(100));
    await using laptop = await world.start("laptop");
    await laptop.addRepository("shop");
    {
      await using desk = await world.start("desk");
      await uses(desk, { own: 100 });
    }
    await laptop.owner.call("config/set", { repo: "shop", "own.size": 80 });
    await rm(scopeFile(world, "laptop", "own"));
    await until(async () => (await countShared(world)) === 2, "the deletion in the stream");
    await using desk = await world.start("desk");
    expect(await scopesOf(desk)).toEqual({});
    await hasHealth(desk, 1011);
  });

  test("that are redelivered after a restart are skipped, and one whose file could not be written is redelivered", async () => {
    await using world = await makeSharedWorld();
    await writeScope(world, "laptop", "own", schemaText(1));
    await using laptop = await world.start("laptop");
    const place = join(world.home("desk"), "log/stream.json");
    let before = "";
    {
      await using desk = await world.start("desk");
      before = await readFile(place, "utf8");
      await uses(desk, { own: 1 });
      await writeScope(world, "laptop", "own", schemaText(2));
      await uses(desk, { own: 2 });
      await writeScope(world, "desk", "own", schemaText(3));
      await uses(laptop, { own: 3 });
    }
    // As if it had been killed before it could record its position.
    await writeFile(place, before);
    const fileSystem = watchFileSystem();
    {
      await using desk = await world.start("desk", { fileSystem });
      await uses(desk, { own: 3 });
      const written = fileSystem.calls.filter(({ path }) => path.includes("own.schema.json"));
      expect(written.map(({ operation }) => operation)).not.toContain("rename");
      fileSystem.before = ({ operation, path }) => {
        if (operation === "rename" && path.includes("own.schema.json")) throw systemError("EIO");
      };
      await writeScope(world, "laptop", "own", schemaText(4));
      await until(() => desk.log.some(line => line.includes("cannot write the scopes")), "the failure");
      // Later changes are in its files.
      await laptop.addRepository("shop");
      await hasRepositories(desk, 1);
      await desk.readRepository("shop");
    }
    await using desk = await world.start("desk");
    await uses(desk, { own: 4 });
    expect(await keptScopes(world, "desk")).toEqual({});
    expect(await countShared(world)).toBe(4);
  });

  test("that no message can hold stay on their machine, which reports it, and do not switch values back and forth", async () => {
    await using world = await makeSharedWorld(
      {},
      configured(() => "max_payload: 65536\n"),
    );
    const long = "x".repeat(70_000);
    await writeScope(world, "laptop", "own", schemaText(100, long));
    await writeScope(world, "desk", "own", schemaText(50, long));
    await using laptop = await world.start("laptop");
    await using desk = await world.start("desk");
    for (const daemon of [laptop, desk])
      await until(async () => (await problemsOf(daemon)).includes("max_payload"), "the problem");
    await laptop.addRepository("shop");
    await laptop.owner.call("config/set", { repo: "shop", "own.size": 80 });
    await until(async () => (await desk.owner.call("repo/list")).result[0]?.revision === 2, "the set");
    // A scan checks it against this machine's schema.
    const file = JSON.parse(await desk.readRepository("shop"));
    file.config.svc = { timeout: 7 };
    await desk.writeRepository("shop", JSON.stringify(file));
    await sees(laptop, "shop", 7);
    for (let timeout = 8; timeout < 20; timeout++) await set(laptop, "shop", timeout);
    await sees(desk, "shop", 19);
    for (const { owner } of [laptop, desk]) expect((await owner.call("repo/list")).result[0]?.revision).toBe(15);
  });

  test("that differ from those of the machine that sets values: names that are unknown here are not served, old ones count as the new", async () => {
    await using world = await makeSharedWorld(
      {},
      configured(() => "max_payload: 65536\n"),
    );
    const description = "x".repeat(70_000);
    const own = (properties: object) => JSON.stringify({ type: "object", description, properties });
    const names = { type: "object", default: {} };
    const key = { type: "string", default: "" };
    const keyOf = { ...key, "x-keyOf": "names" };
    await writeScope(world, "laptop", "own", own({ names, first: keyOf, second: keyOf }));
    await writeScope(world, "desk", "own", own({ names, head: { ...key, "x-renamedFrom": "first" } }));
    await using laptop = await world.start("laptop");
    await using desk = await world.start("desk");
    await laptop.addRepository("shop");
    const valuesOf = async (daemon: TestDaemon) =>
      (await daemon.owner.call("config/list", { repo: "shop", stored: true })).result;
    const has = (daemon: TestDaemon, values: object) =>
      until(async () => JSON.stringify(await valuesOf(daemon)) === JSON.stringify({ own: values }), "the values");
    // Both refer to a key that is missing, so they are not active, and only this file has them.
    const file = JSON.parse(await laptop.readRepository("shop"));
    await laptop.writeRepository("shop", JSON.stringify({ ...file, config: { own: { first: "a", second: "a" } } }));
    await hasHealth(laptop, 1103);
    expect((await laptop.owner.call("config/set", { repo: "shop", "own.names": { a: 1, b: 1 } })).errors).toEqual([]);
    await has(laptop, { first: "a", second: "a", names: { a: 1, b: 1 } });
    await has(desk, { names: { a: 1, b: 1 }, head: "a" });
    expect((await desk.owner.call("repo/list")).result[0]?.health).toEqual([]);
    // Now the file here has it too, under its old name.
    expect((await laptop.owner.call("config/set", { repo: "shop", "own.first": "b" })).errors).toEqual([]);
    await has(desk, { names: { a: 1, b: 1 }, head: "b" });
    await hasHealth(desk, 1115);
  });
});
