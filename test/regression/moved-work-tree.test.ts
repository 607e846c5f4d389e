import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { untilHealth } from "../helpers/broken-file.ts";
import { startTestDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/** An in-tree repository "site" with a timeout of 30, and the folder that holds its work tree, `old`. */
async function startSite(): Promise<AsyncDisposable & { readonly t: TestDaemon; readonly folder: string }> {
  const trees = await temporaryFolder();
  const t = await startTestDaemon({ rescanInterval: 20 });
  await mkdir(join(trees.path, "old"));
  await t.owner.call("repo/add", { name: "site", id: "site", path: join(trees.path, "old"), inTree: true });
  await t.owner.call("config/set", { repo: "site", "svc.timeout": 30 });
  return {
    t,
    folder: trees.path,
    [Symbol.asyncDispose]: async () => {
      await t[Symbol.asyncDispose]();
      await trees[Symbol.asyncDispose]();
    },
  };
}

describe("an in-tree repository whose folder was moved", () => {
  test("can be pointed to the new folder, and keeps its values and its revision", async () => {
    await using site = await startSite();
    const { t, folder } = site;
    await rename(join(folder, "old"), join(folder, "new"));
    await untilHealth(t, "site", health => health.some(({ code }) => code === 1106));
    const moved = await t.owner.call("repo/update", { repo: "site", path: join(folder, "new") });
    expect(moved).toMatchObject({
      result: { id: "site", path: join(folder, "new"), inTree: true, revision: 2, health: [] },
      errors: [],
    });
    expect((await t.owner.call("config/set", { repo: "site", "svc.timeout": 31 })).errors).toEqual([]);
    expect(await readFile(join(folder, "new/.repoconf.json"), "utf8")).toContain("31");
  });

  test("can be pointed to the new folder before the daemon has noticed the move, and right after a start", async () => {
    await using site = await startSite();
    const { t, folder } = site;
    await rename(join(folder, "old"), join(folder, "new"));
    const at = (name: string) => t.owner.call("repo/update", { repo: "site", path: join(folder, name) });
    expect((await at("new")).errors).toEqual([]);
    await rename(join(folder, "new"), join(folder, "newer"));
    await t.restart();
    expect(await at("newer")).toMatchObject({ result: { path: join(folder, "newer"), health: [] }, errors: [] });
    const { result } = await t.owner.call("config/list", { repo: "site", stored: true });
    expect(result).toEqual({ svc: { timeout: 30 } });
  });

  test("can be renamed while its folder is missing, and stays broken", async () => {
    await using site = await startSite();
    const { t, folder } = site;
    await rm(join(folder, "old"), { recursive: true });
    await untilHealth(t, "site", health => health.length > 0);
    const { result, errors } = await t.owner.call("repo/update", { repo: "site", name: "the site" });
    expect(errors).toEqual([]);
    expect(result).toMatchObject({ name: "the site", path: join(folder, "old"), health: [{ code: 1106 }] });
  });

  test("cannot be pointed to a missing folder, or while the file with its path is broken", async () => {
    await using site = await startSite();
    const { t, folder } = site;
    await rename(join(folder, "old"), join(folder, "new"));
    await untilHealth(t, "site", health => health.length > 0);
    const nowhere = await t.owner.call("repo/update", { repo: "site", path: join(folder, "nowhere") });
    expect(nowhere).toMatchObject({ result: null, errors: [{ code: 1101, repo: "site" }] });
    await writeFile(t.repositoryFile("site"), "{ broken");
    await untilHealth(t, "site", health => health[0]?.line === 1);
    const broken = await t.owner.call("repo/update", { repo: "site", path: join(folder, "new") });
    expect(broken).toMatchObject({ result: null, errors: [{ code: 1106, repo: "site" }] });
    expect(await t.readRepository("site")).toBe("{ broken");
  });
});
