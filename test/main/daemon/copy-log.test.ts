import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
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
        history: await historyOf(daemon, "shop"),
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
      }
    },
  );
});
