import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Home, homeAt } from "../../../main/home/home.ts";
import { putInPlace, stagingOf } from "../../../main/home/restore.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** The number of renames in a restore of this home: seven entries are moved aside, four folders and settings.json are moved in. */
const moves = 12 + 1;

/** A home with the repository "old", and in its staging folder an unpacked backup of a home with the repository "new". */
async function makeHome(above: string): Promise<{ readonly home: Home; readonly before: string }> {
  for (const [name, timeout] of [
    ["old", 1],
    ["new", 2],
  ] as const) {
    const folder = join(above, name);
    await using t = await startTestDaemon({ home: folder });
    await t.addRepository(name);
    await t.owner.call("config/set", { repo: name, "svc.timeout": timeout });
    await writeFile(join(folder, "settings.json"), `{ "history": { "revisions": ${timeout * 100} } }`);
  }
  const home = homeAt(join(above, "old"));
  for (const name of ["repos", "journal", "scopes", "removed", "settings.json"])
    await cp(join(above, "new", name), join(stagingOf(home), name), { recursive: true });
  const before = join(home.folder, "before-restore-2027-01-01");
  await mkdir(before);
  return { home, before };
}

/** Every file of the home, with its text. */
async function filesOf(home: Home): Promise<{ readonly [path: string]: string }> {
  const entries = await readdir(home.folder, { recursive: true, withFileTypes: true });
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
  const texts = await Promise.all(files.sort().map(async file => [file, await readFile(file, "utf8")]));
  return Object.fromEntries(texts);
}

/** A rename that runs `then` before the call with this number, counted from 1. */
function renameUntil(call: number, then: () => Promise<void>): typeof rename {
  let calls = 0;
  return async (from, to) => {
    calls += 1;
    if (calls === call) await then();
    await rename(from, to);
  };
}

/** Begins a restore that stops forever before the move with this number. */
async function interruptAt(move: number, home: Home, before: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => {
    resolve();
    return new Promise<void>(() => {});
  };
  await Promise.race([putInPlace(home, before, renameUntil(move, end)), promise]);
}

describe("a restore of a home", () => {
  test("interrupted at any of its moves is completed by the next start", async () => {
    await using template = await temporaryFolder();
    await makeHome(template.path);
    for (let move = 1; move <= moves + 1; move++) {
      await using folder = await temporaryFolder();
      await cp(template.path, folder.path, { recursive: true });
      const home = homeAt(join(folder.path, "old"));
      const before = join(home.folder, "before-restore-2027-01-01");
      await interruptAt(move, home, before);
      await using t = await startTestDaemon({ home: home.folder });
      expect((await t.owner.call("repo/list")).result.map(({ id }) => id)).toEqual(["new"]);
      expect(await timeoutOf(t, "new")).toBe(2);
      expect((await t.owner.call("history/list", { repo: "new" })).result).toHaveLength(2);
      expect(await readFile(home.settingsFile, "utf8")).toContain("200");
      expect((await readdir(before)).sort()).toEqual(
        ["index.json", "journal", "local", "log", "removed", "repos", "scopes", "settings.json"].sort(),
      );
      expect(await readFile(join(before, "repos/old.json"), "utf8")).toContain(`"timeout": 1`);
      expect(t.log.some(line => line.includes("completed an interrupted restore"))).toBe(move <= moves);
      expect(await readdir(home.folder)).not.toContain("restore.json");
      expect(await readdir(home.temporary)).toEqual([]);
    }
  });

  test("that fails at any of its moves rolls back completely", async () => {
    await using folder = await temporaryFolder();
    const { home, before } = await makeHome(folder.path);
    const files = await filesOf(home);
    const fail = () => Promise.reject(new Error("the disk is full"));
    for (let move = 1; move <= moves; move++) {
      await expect(putInPlace(home, before, renameUntil(move, fail))).rejects.toThrow(
        "nothing was changed: the disk is full",
      );
      expect(await filesOf(home)).toEqual(files);
    }
    await putInPlace(home, before, renameUntil(moves + 1, fail));
    expect(await readFile(join(home.repositories, "new.json"), "utf8")).toContain(`"timeout": 2`);
  });

  test("that was interrupted and cannot be completed prevents the daemon from starting on the partial state, and says what to do", async () => {
    await using folder = await temporaryFolder();
    const { home, before } = await makeHome(folder.path);
    await interruptAt(3, home, before);
    await rm(stagingOf(home), { recursive: true });
    const files = await filesOf(home);
    await expect(startTestDaemon({ home: home.folder })).rejects.toThrow(/interrupted.*before-restore-2027-01-01/);
    expect(await filesOf(home)).toEqual(files);
  });
});
