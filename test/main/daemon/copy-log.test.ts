import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CopyOptions, copyToShared } from "../../../main/daemon/home/copy-log.ts";
import { homeAt } from "../../../main/home/home.ts";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { describeWithNats, startNatsServer } from "../../helpers/nats-server.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

async function historyOf({ owner }: TestDaemon, repo: string) {
  const { result } = await owner.call("history/list", { repo, limit: 1_000 });
  return result.map(({ machine: _, ...entry }) => entry);
}

async function valuesOf({ owner }: TestDaemon, repo: string) {
  return (await owner.call("config/list", { repo, stored: true })).result;
}

async function makeWorld() {
  const stack = new AsyncDisposableStack();
  const server = stack.use(await startNatsServer());
  const folder = stack.use(await temporaryFolder());
  const copy = (machine: string, onProgress: CopyOptions["onProgress"] = () => {}) =>
    copyToShared({ home: homeAt(join(folder.path, machine)), address: `${server.url}/team`, onProgress });
  const start = async (machine: string, isShared: boolean, settings: object = {}) => {
    const home = join(folder.path, machine);
    await mkdir(home, { recursive: true });
    const log = isShared ? { log: { address: `${server.url}/team`, machine } } : {};
    await writeFile(join(home, "settings.json"), JSON.stringify({ ...settings, ...log }));
    return startTestDaemon({ home });
  };
  return {
    copy,
    start,
    home: (machine: string) => join(folder.path, machine),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describeWithNats("a home's repositories", () => {
  test("whose oldest history was dropped start in a shared log with the history that is kept", async () => {
    await using world = await makeWorld();
    const settings = { history: { revisions: 10 } };
    let kept: unknown[] = [];
    {
      await using laptop = await world.start("laptop", false, settings);
      await laptop.addRepository("shop");
      for (let timeout = 1; timeout <= 40; timeout++)
        await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
      kept = await historyOf(laptop, "shop");
    }
    await world.copy("laptop");
    await using desk = await world.start("desk", true);
    expect(kept).toHaveLength(10);
    expect((await historyOf(desk, "shop")).slice(0, 10)).toEqual(kept);
    const past = await desk.owner.call("config/list", { repo: "shop", revision: 35, stored: true });
    expect(past.result).toEqual({ svc: { timeout: 34 } });
    expect((await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 99 })).errors).toEqual([]);
  });

  test("stay unchanged if the shared log has others with the same ids, or a daemon is running on the home", async () => {
    await using world = await makeWorld();
    {
      await using desk = await world.start("desk", true);
      await desk.addRepository("shop");
      await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 1 });
    }
    {
      await using laptop = await world.start("laptop", false);
      await laptop.addRepository("shop");
      await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 2 });
      await expect(world.copy("laptop")).rejects.toThrow("A daemon is running on the home");
    }
    await expect(world.copy("laptop")).rejects.toThrow("shop differs between");
    await using laptop = await world.start("laptop", false);
    expect(await valuesOf(laptop, "shop")).toEqual({ svc: { timeout: 2 } });
    expect(await readFile(laptop.repositoryFile("shop"), "utf8")).toContain('"timeout": 2');
  });
});
