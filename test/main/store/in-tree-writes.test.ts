import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { systemError, type WatchedFileSystem, watchFileSystem } from "../../helpers/file-system.ts";
import { saveByRename } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const mainText = `{ "config": { "svc": { "timeout": 30, "domain": "main.test" } } }\n`;
const otherText = `{ "config": { "svc": { "timeout": 60, "refresh_day": 3 } } }\n`;

/** A daemon with an in-tree repository, `site`, that has no git folder, so that its temporary files are beside its file. */
async function startTree(fileSystem: WatchedFileSystem) {
  const above = await temporaryFolder();
  const folder = join(above.path, "site");
  const file = join(folder, ".repoconf.json");
  await mkdir(folder);
  await writeFile(file, mainText);
  const t = await startTestDaemon({ fileSystem, rescanInterval: 3_600_000 });
  await t.owner.call("repo/add", { id: "site", name: "site", path: folder, inTree: true });
  return {
    t,
    file,
    folder,
    values: async () => (await t.owner.call("config/list", { repo: "site", stored: true })).result,
    history: async () =>
      (await t.owner.call("history/list", { repo: "site" })).result.map(
        ({ revision, source }) => `${revision} ${source}`,
      ),
    [Symbol.asyncDispose]: async () => {
      await t[Symbol.asyncDispose]();
      await above[Symbol.asyncDispose]();
    },
  };
}

describe("a set in a work tree", () => {
  test("writes the log and the new text in parallel, then the history, and the file durably before the reply", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree(fileSystem);
    await tree.t.owner.call("file/read", { repo: "site" });
    fileSystem.calls.splice(0);
    await tree.t.owner.call("config/set", { repo: "site", "svc.timeout": 31 });
    expect(await readFile(tree.file, "utf8")).toBe(mainText.replace("30", "31"));
    const place = (path: string) =>
      path.includes("/log/") ? "log" : path.endsWith(".jsonl") ? "history" : path.endsWith(".tmp") ? "text" : "folder";
    const steps = fileSystem.calls
      .filter(({ operation }) => ["sync", "datasync", "rename"].includes(operation))
      .map(({ operation, path }) => `${place(path)} ${operation}`);
    // Neither waits for the other.
    expect(steps.splice(0, 2).sort()).toEqual(["log datasync", "text sync"]);
    // Without the last one, a power loss could take back what git was to see.
    expect(steps).toEqual(["history datasync", "text rename", "folder sync"]);
  });

  test("follows a branch that git checks out before the set is in the log, and changes only its own field of it", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree(fileSystem);
    let isSwitched = false;
    fileSystem.before = async ({ operation, path }) => {
      if (operation !== "writeFile" || !path.endsWith(".tmp") || isSwitched) return;
      isSwitched = true;
      await saveByRename(tree.file, otherText);
    };
    const { errors } = await tree.t.owner.call("config/set", { repo: "site", "svc.timeout": 31 });
    expect(errors).toEqual([]);
    expect(await readFile(tree.file, "utf8")).toBe(otherText.replace("60", "31"));
    expect(await tree.values()).toEqual({ svc: { timeout: 31, refresh_day: 3 } });
    expect(await tree.history()).toEqual(["3 set", "2 file", "1 set"]);
  });

  test("is in the history but the file wins as a whole if git checks out another branch once the set is in the log", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree(fileSystem);
    let isSwitched = false;
    fileSystem.after = ({ operation, path }) => {
      if (operation === "datasync" && path.includes("/log/") && !isSwitched) isSwitched = true;
    };
    fileSystem.before = async ({ operation, path }) => {
      if (isSwitched && operation === "rename" && path.endsWith(".tmp")) {
        fileSystem.before = () => {};
        await saveByRename(tree.file, otherText);
      }
    };
    const { errors } = await tree.t.owner.call("config/set", { repo: "site", "svc.timeout": 31 });
    expect(errors).toEqual([]);
    expect(await readFile(tree.file, "utf8")).toBe(otherText);
    expect(await tree.values()).toEqual({ svc: { timeout: 60, refresh_day: 3 } });
    expect(await tree.history()).toEqual(["3 file", "2 set", "1 set"]);
    expect(await readdir(tree.folder)).toEqual([".repoconf.json"]);
  });

  test("leaves nothing beside the file if it cannot be written to the log", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree(fileSystem);
    fileSystem.before = ({ operation, path }) => {
      if (operation === "write" && path.includes("/log/")) throw systemError("ENOSPC");
    };
    const { errors } = await tree.t.owner.call("config/set", { repo: "site", "svc.timeout": 31 });
    expect(errors).toMatchObject([{ code: 1108 }]);
    fileSystem.before = () => {};
    // The reply does not wait for this.
    await until(async () => (await readdir(tree.folder)).length === 1, "the new text to be deleted");
    expect(await readFile(tree.file, "utf8")).toBe(mainText);
  });
});
