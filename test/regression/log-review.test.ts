import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../main/time/clock.ts";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { type FileCall, systemError, watchFileSystem } from "../helpers/file-system.ts";
import { freezeHome } from "../helpers/frozen-home.ts";
import { startShop } from "../helpers/shop.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const noRescans = { rescanInterval: 3_600_000 };
const isHistoryOf = (id: string, { path }: FileCall) => path.includes(`/journal/${id}.`);

describe("bugs found by a review of the log", () => {
  test("a start discards nothing that a repository not opened yet still needs: a kill during it loses no set", async () => {
    await using home = await temporaryFolder();
    const ids = ["one", "two", "three"];
    const fileSystem = watchFileSystem();
    await using t = await startTestDaemon({ home: home.path, fileSystem, ...noRescans });
    for (const id of ids) await t.addRepository(id);
    for (const id of ids) await t.owner.call("file/read", { repo: id });
    fileSystem.before = call => {
      if (call.operation === "open" && ids.some(id => isHistoryOf(id, call))) throw systemError("EIO");
    };
    for (const repo of ids) await t.owner.call("config/set", { repo, "svc.timeout": 31 });
    await using killed = await freezeHome(home.path);

    const starting = watchFileSystem();
    const gate = Promise.withResolvers<void>();
    starting.before = async call => {
      if (call.operation === "open" && ["two", "three"].some(id => isHistoryOf(id, call))) await gate.promise;
    };
    // Waits of less than a second take no time, so that the log is trimmed as soon as a file is written.
    const schedule: Clock["schedule"] = (milliseconds, task) =>
      systemClock.schedule(milliseconds < 1_000 ? 0 : milliseconds, task);
    const clock = { ...systemClock, schedule };
    const opening = startTestDaemon({ home: killed.path, fileSystem: starting, clock, ...noRescans });
    const isInFile = async () => (await readFile(join(killed.path, "repos/one.json"), "utf8")).includes("31");
    await until(isInFile, "the file of the first");
    // Time for the log to be trimmed.
    await delay(50);
    await using killedAgain = await freezeHome(killed.path);
    gate.resolve();
    await (await opening)[Symbol.asyncDispose]();

    await using again = await startTestDaemon({ home: killedAgain.path, ...noRescans });
    for (const repo of ids) {
      const { result } = await again.owner.call("config/list", { repo, field: "svc.timeout" });
      expect(result, repo).toEqual({ svc: { timeout: 31 } });
    }
  });

  test("a set is refused while its history cannot be read, even if nothing is stored yet", async () => {
    await using home = await temporaryFolder();
    const first = await startTestDaemon({ home: home.path, ...noRescans });
    await first.addRepository("shop");
    await first[Symbol.asyncDispose]();
    const fileSystem = watchFileSystem();
    fileSystem.before = call => {
      if (call.operation === "open" && isHistoryOf("shop", call)) throw systemError("EACCES");
    };
    await using t = await startTestDaemon({ home: home.path, fileSystem, ...noRescans });
    const set = () => t.owner.call("config/set", { repo: "shop", flush: true, "svc.timeout": 5 });
    expect((await set()).errors).toMatchObject([{ code: 1108 }]);
    fileSystem.before = () => {};
    expect(await set()).toMatchObject({ result: [{ revision: 2, mirrored: true }], errors: [] });
    const { result } = await t.owner.call("history/list", { repo: "shop" });
    expect(result.map(({ revision }) => revision)).toEqual([2, 1]);
  });

  test("a watch from a position older than the history is refused with 1110, also if the limit on its bytes removed the files", async () => {
    await using t = await startTestDaemon(noRescans);
    await writeFile(join(t.homeFolder, "settings.json"), JSON.stringify({ history: { bytes: 65_536 } }));
    await t.restart();
    await t.addRepository("shop");
    const { result } = await t.owner.call("config/watch", { repo: "shop" });
    const oldest = async () => {
      const names = (await readdir(join(t.homeFolder, "journal"))).flatMap(
        name => /-(\d+)\.jsonl$/.exec(name)?.[1] ?? [],
      );
      return names.length === 0 ? 0 : Math.min(...names.map(Number));
    };
    for (let timeout = 1; (await oldest()) === 0; timeout++) {
      const services = { web: { ready: `${timeout}`, image: "x".repeat(2_000) } };
      await t.owner.call("config/set", { repo: "shop", flush: true, "svc.services": services });
    }
    const { errors } = await t.owner.call("config/watch", { repo: "shop", position: result.position ?? "" });
    expect(errors).toMatchObject([{ code: 1110 }]);
  });

  test("a watch from an earlier position gets a change and its reversal, also after a restart", async () => {
    await using t = await startTestDaemon(noRescans);
    await t.addRepository("shop");
    await t.owner.call("config/set", { repo: "shop", flush: true, "svc.timeout": 1 });
    const { result } = await t.owner.call("config/watch", { repo: "shop" });
    // Both sets share one write, so the file stays the same.
    await Promise.all([2, 1].map(timeout => t.owner.call("config/set", { repo: "shop", "svc.timeout": timeout })));
    await t.owner.call("file/read", { repo: "shop" });
    await t.restart();
    await t.owner.call("config/list", { repo: "shop" });
    const client = await t.connect();
    const reply = await client.call("config/watch", { repo: "shop", position: result.position ?? "" });
    expect(reply.result).toMatchObject({ revisions: { shop: 4 }, since: { shop: 2 } });
    // Until the past changes have been sent, this is the position to resume from.
    expect(reply.result.position).toBeDefined();
    const past = [await client.nextChange(), await client.nextChange()];
    expect(past.map(({ revision }) => revision)).toEqual([3, 4]);
  });

  test("a set that is not yet in the work tree's file survives a rename of its repository", async () => {
    await using above = await temporaryFolder();
    const folder = join(above.path, "site");
    await mkdir(folder);
    await writeFile(join(folder, ".repoconf.json"), `{ "config": { "svc": { "timeout": 30 } } }\n`);
    const fileSystem = watchFileSystem();
    await using t = await startTestDaemon({ fileSystem, ...noRescans });
    await t.owner.call("repo/add", { id: "site", name: "site", path: folder, inTree: true });
    await t.owner.call("file/read", { repo: "site" });
    fileSystem.before = ({ operation, path }) => {
      if (operation === "rename" && path.includes(".repoconf.json")) throw systemError("EACCES");
    };
    const { result } = await t.owner.call("config/set", { repo: "site", flush: true, "svc.timeout": 31 });
    expect(result).toMatchObject([{ mirrored: false }]);
    expect((await t.owner.call("repo/update", { repo: "site", name: "another" })).errors).toEqual([]);
    fileSystem.before = () => {};
    const text = (await t.owner.call("file/read", { repo: "site" })).result.text;
    expect(text).toContain(`"timeout": 31`);
    const history = (await t.owner.call("history/list", { repo: "site" })).result;
    expect(history.map(({ source }) => source)).toEqual(["set", "set"]);
  });

  test("no temporary file stays in the home when a repository is removed or its file is restored", async () => {
    await using shop = await startShop();
    const left = async () => (await readdir(join(shop.t.homeFolder, "tmp"))).filter(name => name.startsWith("shop"));
    await shop.set({ "svc.timeout": 31 });
    await shop.t.owner.call("file/restore", { repo: "shop" });
    expect(await left()).toEqual([]);
    for (const repo of ["shop-1", "shop-2", "shop-3", "shop-4"]) {
      await shop.t.addRepository(repo);
      // Sent together, so that the file is nearly always written during the removal.
      const set = shop.t.owner.call("config/set", { repo, "svc.timeout": 32 });
      await shop.t.owner.call("repo/remove", { repo });
      expect((await set).errors).toEqual([]);
      expect(await left()).toEqual([]);
    }
  });
});
