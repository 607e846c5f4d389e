import { lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createDaemon } from "../../../main/daemon/daemon.ts";
import { homeFolder } from "../../../main/home/home.ts";
import { HomeError, homeFormat } from "../../../main/home/prepare-home.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const posix = process.platform !== "win32";

function start(home: string) {
  return createDaemon({ home, version: "0.0.0-test", port: 0, logger: pino({ level: "silent" }) });
}

/** Every entry below a folder: its path, mode and, for a file, its bytes. */
async function snapshot(folder: string): Promise<Record<string, string>> {
  const entries: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    // A temporary file may have been renamed by now.
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined) continue;
    const mode = (stats.mode & 0o777).toString(8);
    entries[relative(folder, path)] = entry.isFile() ? `${mode} ${await readFile(path, "hex")}` : mode;
  }
  return entries;
}

describe.skipIf(!posix)("a planted link is not followed:", () => {
  test.each(["lock", "index.json", "repository.schema.json", "format", "tmp/owner.key", "tmp/daemon.json"])(
    "%s is replaced by the daemon's own file or left alone, but lock and format make the start fail with an error that names them",
    async name => {
      await using home = await temporaryFolder();
      await using other = await temporaryFolder();
      const target = join(other.path, "target");
      await writeFile(target, "0\n", { mode: 0o644 });
      await mkdir(join(home.path, "tmp"), { recursive: true });
      await symlink(target, join(home.path, name));
      if (["lock", "format"].includes(name)) {
        const failure = await start(home.path).catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(HomeError);
        expect(String(failure)).toContain(join(home.path, name));
        expect((await lstat(join(home.path, name))).isSymbolicLink()).toBe(true);
      } else await (await start(home.path)).close();
      expect(await readFile(target, "utf8")).toBe("0\n");
      expect((await stat(target)).mode & 0o777).toBe(0o644);
    },
  );
});

test("a home's format is refused if it is newer than this version supports, or not a number, and the home is left untouched", async () => {
  await using home = await temporaryFolder();
  await (await start(home.path)).close();
  // Only a newer version would know what to do with these.
  await writeFile(join(home.path, "tmp", "shop.json"), "half");
  await writeFile(join(home.path, "owner.key"), "of another form");
  for (const text of ["", "one", "-1", "1.5", `${homeFormat + 1}\n`]) {
    await writeFile(join(home.path, "format"), text);
    const before = await snapshot(home.path);
    const failure = await start(home.path).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(HomeError);
    if (text.endsWith("\n"))
      expect(String(failure)).toMatch(new RegExp(`format ${homeFormat + 1}.*up to ${homeFormat}\\.`));
    expect(await snapshot(home.path)).toEqual(before);
  }
});

/** A folder as a person may have it, such as a home folder of the account. */
async function personsFolder() {
  const folder = await temporaryFolder();
  await mkdir(join(folder.path, "Documents"));
  await mkdir(join(folder.path, "tmp"));
  await writeFile(join(folder.path, "tmp/thesis.txt"), "unsaved");
  return folder;
}

test("a folder with files of its own is refused as a home, and nothing in it is changed", async () => {
  await using folder = await personsFolder();
  const before = await stat(folder.path);
  await expect(startTestDaemon({ home: folder.path })).rejects.toThrow(
    /is not a home of Repoconf: it contains "Documents"/,
  );
  expect(await readdir(folder.path)).toEqual(["Documents", "tmp"]);
  expect(await readFile(join(folder.path, "tmp/thesis.txt"), "utf8")).toBe("unsaved");
  expect((await stat(folder.path)).mode).toBe(before.mode);
});

test("files that people put into a home before its first start are used, and tmp is not cleaned up until it is a home", async () => {
  await using folder = await temporaryFolder();
  for (const name of ["repos", "tmp"]) await mkdir(join(folder.path, name));
  await writeFile(join(folder.path, "repos/shop.json"), `{ "config": { "svc": { "timeout": 30 } } }`);
  await writeFile(join(folder.path, "tmp/thesis.txt"), "unsaved");
  await using t = await startTestDaemon({ home: folder.path });
  expect((await t.owner.call("config/list", { repo: "shop", field: "svc.timeout" })).result).toEqual({
    svc: { timeout: 30 },
  });
  expect(await readdir(join(folder.path, "tmp"))).toContain("thesis.txt");
});

test("an empty text is no home: it would be the current folder", () => {
  expect(() => homeFolder("")).toThrow(/empty text/);
});
