import { spawn } from "node:child_process";
import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createDaemon } from "../../../main/daemon/daemon.ts";
import { HomeInUseError } from "../../../main/daemon/home/held-home.ts";
import { HomeError, homeFormat } from "../../../main/home/prepare-home.ts";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
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
  test("lock makes the start fail with an error that names it", async () => {
    const name = "lock";
    await using home = await temporaryFolder();
    await using other = await temporaryFolder();
    const target = join(other.path, "target");
    await writeFile(target, "not yours\n", { mode: 0o644 });
    await symlink(target, join(home.path, name));
    const failure = await start(home.path).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(HomeError);
    expect(String(failure)).toContain(join(home.path, name));
    expect(await readFile(target, "utf8")).toBe("not yours\n");
    expect((await stat(target)).mode & 0o777).toBe(0o644);
    expect((await lstat(join(home.path, name))).isSymbolicLink()).toBe(true);
  });

  test.each(["index.json", "repository.schema.json", "format", "tmp/owner.key", "tmp/daemon.json"])(
    "%s is replaced by the daemon's own file or left alone",
    async name => {
      await using home = await temporaryFolder();
      await using other = await temporaryFolder();
      const target = join(other.path, "target");
      await writeFile(target, "0\n", { mode: 0o644 });
      await mkdir(join(home.path, "tmp"), { recursive: true });
      await symlink(target, join(home.path, name));
      const daemon = await start(home.path);
      await daemon.close();
      expect(await readFile(target, "utf8")).toBe("0\n");
      expect((await stat(target)).mode & 0o777).toBe(0o644);
    },
  );

  test.each(["removed", "scopes"])("the folder %s makes the start fail", async name => {
    await using home = await temporaryFolder();
    await using other = await temporaryFolder();
    await chmod(other.path, 0o755);
    await symlink(other.path, join(home.path, name));
    await expect(start(home.path)).rejects.toThrow(HomeError);
    expect(await readdir(other.path)).toEqual([]);
    expect((await stat(other.path)).mode & 0o777).toBe(0o755);
  });
});

describe("a home's format", () => {
  test("is refused if it is newer than this version supports, and the home is left untouched", async () => {
    await using home = await temporaryFolder();
    await (await start(home.path)).close();
    await writeFile(join(home.path, "format"), `${homeFormat + 1}\n`);
    // Only a newer version would know what to do with these.
    await writeFile(join(home.path, "tmp", "shop.json"), "half");
    await writeFile(join(home.path, "owner.key"), "of another form");
    const before = await snapshot(home.path);
    const failure = await start(home.path).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(HomeError);
    expect(String(failure)).toMatch(new RegExp(`format ${homeFormat + 1}.*up to ${homeFormat}\\.`));
    expect(await snapshot(home.path)).toEqual(before);
  });

  test.each(["", "one", "-1", "1.5"])(
    "is refused if it is not a number (%j), and the home is left untouched",
    async text => {
      await using home = await temporaryFolder();
      await (await start(home.path)).close();
      await writeFile(join(home.path, "format"), text);
      const before = await snapshot(home.path);
      await expect(start(home.path)).rejects.toThrow(HomeError);
      expect(await snapshot(home.path)).toEqual(before);
    },
  );
});

describe("one daemon per home", () => {
  test("a second one is refused with the pid and URL of the first, which continues; the home is free after the first one ends", async () => {
    await using home = await temporaryFolder();
    await using t = await startTestDaemon({ home: home.path });
    const before = await readFile(join(home.path, "daemon.json"), "utf8");
    const failure = await start(home.path).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(HomeInUseError);
    expect(String(failure)).toContain(`pid ${process.pid}`);
    expect(String(failure)).toContain(t.url);
    expect(await readFile(join(home.path, "daemon.json"), "utf8")).toBe(before);
    expect((await t.owner.call("daemon/status")).errors).toEqual([]);
    await t.restart();
    expect((await t.owner.call("daemon/status")).errors).toEqual([]);
  });

  test("after kill -9 the home is free, and its stale endpoint file is replaced", async () => {
    await using home = await temporaryFolder();
    const endpointFile = join(home.path, "daemon.json");
    await using child = spawnBareDaemon(home.path);
    await until(async () => (await readdir(home.path)).includes("daemon.json"), "the spawned daemon");
    const stale = JSON.parse(await readFile(endpointFile, "utf8"));
    expect(stale.pid).toBe(child.pid);
    await expect(start(home.path)).rejects.toThrow(`pid ${child.pid}`);
    await child.kill();
    expect(await readdir(home.path)).toContain("daemon.json");
    const daemon = await start(home.path);
    expect(JSON.parse(await readFile(endpointFile, "utf8"))).toMatchObject({ pid: process.pid, url: daemon.url });
    await daemon.close();
    expect(await readdir(home.path)).not.toContain("daemon.json");
  });
});

function spawnBareDaemon(home: string): AsyncDisposable & { readonly pid: number | undefined; kill(): Promise<void> } {
  const program = resolve(import.meta.dirname, "../../helpers/bare-daemon.ts");
  const child = spawn(process.execPath, [program, home], { stdio: "ignore" });
  const ended = new Promise<void>(resolve => child.once("exit", () => resolve()));
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  return { pid: child.pid, kill, [Symbol.asyncDispose]: kill };
}
