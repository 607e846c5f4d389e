import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyFromShared, copyToShared } from "../../../main/daemon/home/copy-log.ts";
import { homeAt } from "../../../main/home/home.ts";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { configured, describeWithNats } from "../../helpers/nats-server.ts";
import { hasRepositories, makeSharedWorld, type SharedWorld, sees } from "../../helpers/shared-world.ts";

async function historyOf({ owner }: TestDaemon, repo: string) {
  const { result } = await owner.call("history/list", { repo, limit: 1_000 });
  return result.map(({ machine: _, ...entry }) => entry);
}

async function valuesOf({ owner }: TestDaemon, repo: string) {
  return (await owner.call("config/list", { repo, stored: true })).result;
}

const unsetLocally = ({ owner }: TestDaemon) =>
  owner.call("config/unset", { repo: "shop", fields: ["svc.timeout"], layer: "local" });

/** A daemon on the machine's home with a log of its own. */
const startAlone = (world: SharedWorld, settings: object = {}) =>
  startTestDaemon({ home: world.home("laptop"), files: { "settings.json": settings } });
const copy = (world: SharedWorld) =>
  copyToShared({ home: homeAt(world.home("laptop")), address: world.address, onProgress: () => {} });

describeWithNats("a home's repositories", () => {
  test("whose oldest history was dropped start in a shared log with the history that is kept", async () => {
    await using world = await makeSharedWorld();
    const settings = { history: { revisions: 10 } };
    let kept: unknown[] = [];
    {
      await using laptop = await startAlone(world, settings);
      await laptop.addRepository("shop");
      for (let timeout = 1; timeout <= 40; timeout++)
        await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
      kept = await historyOf(laptop, "shop");
    }
    await copy(world);
    await using desk = await world.start("desk");
    expect(kept).toHaveLength(10);
    expect((await historyOf(desk, "shop")).slice(0, 10)).toEqual(kept);
    const past = await desk.owner.call("config/list", { repo: "shop", revision: 35, stored: true });
    expect(past.result).toEqual({ svc: { timeout: 34 } });
    expect((await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 99 })).errors).toEqual([]);
  });

  test("stay unchanged if the shared log has others with the same ids, or a daemon is running on the home", async () => {
    await using world = await makeSharedWorld();
    {
      await using desk = await world.start("desk");
      await desk.addRepository("shop");
      await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 1 });
    }
    {
      await using laptop = await startAlone(world);
      await laptop.addRepository("shop");
      await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 2 });
      await expect(copy(world)).rejects.toThrow("A daemon is running on the home");
    }
    await expect(copy(world)).rejects.toThrow("shop differs between");
    await using laptop = await startAlone(world);
    expect(await valuesOf(laptop, "shop")).toEqual({ svc: { timeout: 2 } });
    expect(await readFile(laptop.repositoryFile("shop"), "utf8")).toContain('"timeout": 2');
  });

  test("whose history has a recovery start in a shared log with what is known since then", async () => {
    await using world = await makeSharedWorld();
    const home = world.home("laptop");
    {
      await using laptop = await startAlone(world);
      await laptop.addRepository("shop");
      for (let timeout = 31; timeout <= 35; timeout++)
        await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
    }
    const [name = ""] = await readdir(join(home, "journal"));
    const journal = join(home, "journal", name);
    await writeFile(journal, (await readFile(journal, "utf8")).replace('"after":33', '"after":93'));
    await writeFile(join(home, "repos/shop.json"), `{ "name": "shop", "config": { "svc": { "timeout": 40 } } }`);
    {
      await using laptop = await startAlone(world);
      expect((await historyOf(laptop, "shop"))[0]).toMatchObject({ source: "recovery" });
      await laptop.owner.call("config/set", { repo: "shop", "svc.domain": "open.example.org" });
    }
    await copy(world);
    await using desk = await world.start("desk");
    expect(await valuesOf(desk, "shop")).toEqual({ svc: { timeout: 40, domain: "open.example.org" } });
  });

  test("whose values are larger than a message of the server may be are copied in parts, also to a machine that is following", async () => {
    await using world = await makeSharedWorld(
      {},
      configured(() => "max_payload: 65536\n"),
    );
    const names = ["a", "b", "c", "d", "e"];
    const properties = Object.fromEntries(
      names.map(name => [name, { type: "string", title: name, description: "A text.", default: "" }]),
    );
    const files = {
      "settings.json": { history: { revisions: 5 } },
      "scopes/own.schema.json": { type: "object", title: "Own", description: "A scope.", properties },
    };
    {
      await using laptop = await startTestDaemon({ home: world.home("laptop"), files });
      await laptop.addRepository("shop");
      for (const name of names) {
        const { errors } = await laptop.owner.call("config/set", {
          repo: "shop",
          [`own.${name}`]: name.repeat(20_000),
        });
        expect(errors).toEqual([]);
      }
      for (let timeout = 1; timeout <= 20; timeout++)
        await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
    }
    await using desk = await world.start("desk");
    await copy(world);
    await hasRepositories(desk, 1);
    await using board = await world.start("board");
    for (const daemon of [desk, board]) {
      const { own, svc } = JSON.parse(await daemon.readRepository("shop")).config;
      expect(svc).toEqual({ timeout: 20 });
      expect(Object.entries(own)).toEqual(names.map(name => [name, name.repeat(20_000)]));
      expect((await historyOf(daemon, "shop"))[0]).toMatchObject({ revision: 26 });
    }
    expect((await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 21 })).errors).toEqual([]);
    await sees(board, "shop", 21);
    await desk.restart();
    expect((await historyOf(desk, "shop"))[0]).toMatchObject({ revision: 27 });
  });
});

describeWithNats("local values, which a home on a shared log cannot have,", () => {
  /** Copies a laptop's home whose shop has a local `svc.timeout` and this domain, or had the first one. */
  async function copyWithLocal(world: SharedWorld, leaveLocal: boolean, domain: string | undefined) {
    const notes: string[] = [];
    let history: unknown[] = [];
    {
      await using laptop = await startAlone(world);
      await laptop.addRepository("shop");
      const set = async (values: object) =>
        expect((await laptop.owner.call("config/set", { repo: "shop", ...values })).errors).toEqual([]);
      await set({ "svc.timeout": 7 });
      history = await historyOf(laptop, "shop");
      await set({ "svc.timeout": 5, layer: "local" });
      if (domain !== undefined) await set({ "svc.domain": domain, layer: "local" });
      else await unsetLocally(laptop);
    }
    const file = join(world.home("laptop"), "local/shop.json");
    if (!leaveLocal && domain !== undefined)
      await writeFile(file, (await readFile(file, "utf8")).replace('"svc"', '"gone": { "a b": 1 }, "svc"'));
    const place = { home: homeAt(world.home("laptop")), address: world.address };
    const onNote = (text: string) => void notes.push(text);
    const outcome = await copyToShared({ ...place, leaveLocal, onNote, onProgress: () => {} }).catch(String);
    const [before = ""] = (await readdir(world.home("laptop"))).filter(name => name.startsWith("before-copy-"));
    return { outcome, notes, history, before: join(world.home("laptop"), before) };
  }

  /** The laptop, started on the shared log, and another machine have the shared value and its history, and nothing is wrong. */
  async function expectMoved(world: SharedWorld, history: unknown[]) {
    await using laptop = await world.start("laptop");
    // Before its files are read.
    expect((await laptop.owner.call("repo/list")).result).toMatchObject([{ id: "shop", revision: 2, modified: 1 }]);
    await using desk = await world.start("desk");
    await hasRepositories(desk, 1);
    for (const daemon of [laptop, desk]) {
      expect(await valuesOf(daemon, "shop")).toEqual({ svc: { timeout: 7 } });
      expect(await historyOf(daemon, "shop")).toEqual(history);
    }
    const { findings, problems } = (await laptop.owner.call("daemon/status")).result;
    expect([findings, problems]).toEqual([[], []]);
    await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 8 });
    await sees(desk, "shop", 8);
    await laptop.restart();
    expect(await valuesOf(laptop, "shop")).toEqual({ svc: { timeout: 8 } });
  }

  test("are refused with their names, and how to see, remove or leave them; nothing is copied", async () => {
    await using world = await makeSharedWorld();
    const { outcome, before } = await copyWithLocal(world, false, "secret.test");
    expect(outcome).toMatch(
      /Nothing was copied.\nshop: gone.a b, svc.domain, svc.timeout\n.*export --repo shop --local\n/,
    );
    expect(outcome).toContain("repoconf unset --repo shop --local svc.domain svc.timeout\n");
    expect(outcome).toContain("delete gone.a b in ");
    expect(outcome).toContain(`repoconf log copy --to ${world.address} --leave-local`);
    expect(outcome).not.toContain("secret.test");
    expect(before).toBe(world.home("laptop"));
    await using laptop = await startAlone(world);
    expect(await valuesOf(laptop, "shop")).toEqual({ svc: { domain: "secret.test", timeout: 5 } });
  });

  test("stay behind in a folder of the home, also their history, if that is wanted", async () => {
    await using world = await makeSharedWorld();
    const { outcome, notes, history, before } = await copyWithLocal(world, true, "a.test");
    expect(outcome).toBe(1);
    expect(notes).toEqual([
      `Not copied: the local values of shop (svc.domain, svc.timeout), and the histories of the local values of shop. They will be in ${before}`,
    ]);
    const values = JSON.parse(await readFile(join(before, "values", "shop.json"), "utf8"));
    expect(values).toEqual({ svc: { domain: "a.test", timeout: 5 } });
    expect(await readdir(join(before, "journal"))).toHaveLength(1);
    expect(await readdir(join(world.home("laptop"), "local"))).toEqual([]);
    await expectMoved(world, history);
  });

  test("that are all removed do not hinder a copy; their history stays behind", async () => {
    await using world = await makeSharedWorld();
    const { outcome, notes, history, before } = await copyWithLocal(world, false, undefined);
    expect(outcome).toBe(1);
    expect(notes).toEqual([`Not copied: the histories of the local values of shop. They will be in ${before}`]);
    await expectMoved(world, history);
    // As if it had been killed before it moved the history.
    const home = world.home("laptop");
    const [name = ""] = await readdir(join(before, "journal"));
    await rename(join(before, "journal", name), join(home, "journal", name));
    await copyFromShared({ home: homeAt(home), address: world.address, onProgress: () => {} });
    await using laptop = await startAlone(world);
    expect((await laptop.owner.call("daemon/status")).result.findings).toEqual([]);
  });
});

/** Copies in a process that is killed right before a step. Returns the number of all steps if there are fewer. */
async function copyUntil(step: number, direction: "to" | "from", home: string, address: string) {
  const script = join(import.meta.dirname, "../../helpers/copying-process.ts");
  const child = spawn(process.execPath, [script, direction, home, address, String(step)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let steps = "";
  child.stdout.on("data", data => (steps += String(data)));
  const [code, signal] = await once(child, "close");
  if (signal === "SIGKILL") return undefined;
  expect(code).toBe(0);
  return Number(steps);
}

describeWithNats("a copy between a home's own log and a shared one that is killed before any of its steps", () => {
  test.each(["to", "from"] as const)(
    "%s the shared log is completed by the same command, or was complete: no daemon serves half of it",
    async direction => {
      await using world = await makeSharedWorld();
      const contentOf = async (daemon: TestDaemon) => ({
        values: await valuesOf(daemon, "shop"),
        history: (await historyOf(daemon, "shop")).flatMap(({ layer, ...entry }) => (layer === "local" ? [] : [entry])),
        file: await daemon.readRepository("shop"),
        found: (await daemon.owner.call("daemon/status")).result.findings,
      });
      const [run, other] = direction === "to" ? [copyToShared, copyFromShared] : [copyFromShared, copyToShared];
      let steps: number | undefined;
      for (let step = 1; steps === undefined; step++) {
        const folder = world.home(`home${step}`);
        const place = { home: homeAt(folder), address: `${world.server.url}/team${step}`, onProgress: () => {} };
        let content: unknown;
        {
          await using daemon = await startTestDaemon({ home: folder, repositories: ["shop"] });
          for (let timeout = 1; timeout <= 5; timeout++)
            await daemon.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
          content = await contentOf(daemon);
          if (direction === "to") {
            await daemon.owner.call("config/set", { repo: "shop", "svc.timeout": 9, layer: "local" });
            await unsetLocally(daemon);
          }
        }
        if (other === copyToShared) await other(place);
        steps = await copyUntil(step, direction, folder, place.address);
        const started = await startTestDaemon({ home: folder }).catch(String);
        if (typeof started === "string") expect(started).toMatch(/repoconf log copy|Start with --log/);
        else {
          expect(await contentOf(started)).toEqual(content);
          await started[Symbol.asyncDispose]();
        }
        const again = await run(place).catch(String);
        expect(again).toEqual(again === 1 ? 1 : expect.stringContaining("already"));
        if (steps !== undefined) expect(again).not.toBe(1);
        await using daemon = await startTestDaemon({ home: folder });
        expect(await contentOf(daemon)).toEqual(content);
        const { log } = JSON.parse(await readFile(join(folder, "settings.json"), "utf8"));
        expect(log?.address).toBe(direction === "to" ? place.address : undefined);
        expect(await readdir(join(folder, "local")).catch(() => [])).toEqual([]);
      }
    },
  );
});
