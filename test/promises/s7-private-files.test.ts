import { spawn } from "node:child_process";
import { chmod, link, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { reportPromise } from "../helpers/promise.ts";
import { repoconfCommand } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const figures = { tried: 0, failed: 0 };
/** Counts one of these tests, and fails it if something is wrong. */
function finish(wrong: readonly string[]): void {
  figures.tried++;
  if (wrong.length > 0) figures.failed++;
  expect(wrong).toEqual([]);
}
afterAll(() => reportPromise({ row: "S7", ...figures, note: "umask 000, planted links and files" }));

/** Why no daemon starts on the home. */
async function tryToStart(home: string): Promise<string> {
  try {
    await using _t = await startTestDaemon({ home });
    return "it started";
  } catch (error) {
    return String(error);
  }
}

/** Everything in the folder that others than its owner can access, one line each. */
async function openToOthers(folder: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const entry of [undefined, ...(await readdir(folder, { recursive: true, withFileTypes: true }))]) {
    const path = entry === undefined ? folder : join(entry.parentPath, entry.name);
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined || stats.isSymbolicLink()) continue;
    const mode = stats.mode & 0o777;
    if (mode !== (stats.isDirectory() ? 0o700 : 0o600)) wrong.push(`${path} has ${mode.toString(8)}`);
  }
  return wrong;
}

describe.skipIf(process.platform === "win32")("on a system with modes", () => {
  test("S7 with umask 000, everything that the daemon and the commands create is private to the owner", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    const wrong: string[] = [];
    const run = (...args: readonly string[]) =>
      new Promise<number | null>((resolve, reject) => {
        const shell = ["-c", 'umask 000 && exec "$@"', "sh", process.execPath, repoconfCommand, ...args];
        const child = spawn("sh", shell, {
          cwd: folder.path,
          env: { ...process.env, REPOCONF_HOME: home, REPOCONF_API_KEY: "", DISPLAY: "" },
          stdio: "ignore",
        });
        child.once("error", reject);
        child.once("exit", code => resolve(code));
      });
    await mkdir(join(folder.path, "shop"));
    const commands = [
      ["repo", "add", "shop", "--id", "shop"],
      ["set", "svc.timeout=5", "--repo", "shop"],
      ["key", "create", "tool", "--repo", "shop", "--field", "svc.*"],
      ["ui", "--print"],
    ];
    try {
      for (const command of commands) if ((await run(...command)) !== 0) wrong.push(`${command.join(" ")} failed`);
      wrong.push(...(await openToOthers(home)));
      if (!(await readdir(home)).includes("daemon.json")) wrong.push("there is no endpoint file");
    } finally {
      await run("stop");
    }
    // The file of a backup contains values too.
    const backup = join(folder.path, "backup.tar.gz");
    if ((await run("backup", backup)) !== 0) wrong.push("the backup failed");
    else if (((await stat(backup)).mode & 0o777) !== 0o600) wrong.push("the backup is open to others");
    wrong.push(...(await openToOthers(home)));
    finish(wrong);
  });

  test("S7 a home and key files that others could access become private at the start", async () => {
    await using folder = await temporaryFolder();
    const home = join(folder.path, "home");
    {
      await using t = await startTestDaemon({ home });
      await t.owner.call("key/create", { name: "tool", grants: [] });
    }
    for (const name of ["owner.key", "keys.json"]) await chmod(join(home, name), 0o666);
    await chmod(home, 0o777);
    await using _t = await startTestDaemon({ home });
    const wrong: string[] = [];
    for (const [name, mode] of [["", 0o700] as const, ["owner.key", 0o600] as const, ["keys.json", 0o600] as const])
      if (((await stat(join(home, name))).mode & 0o777) !== mode) wrong.push(`${name} stayed open`);
    finish(wrong);
  });

  test.each(["owner.key", "keys.json"])("S7 a planted link %s is refused and never followed", async name => {
    await using folder = await temporaryFolder();
    const [home, target] = [join(folder.path, "home"), join(folder.path, "target")];
    await mkdir(home, { mode: 0o700 });
    // What following the link would load: a key, or keys, known to somebody else.
    const known = `repoconf_${"0".repeat(12)}_${"A".repeat(43)}`;
    const text = name === "owner.key" ? `${known}\n` : `{"keys":[]}`;
    await writeFile(target, text, { mode: 0o644 });
    await symlink(target, join(home, name));
    const started = await tryToStart(home);
    const wrong: string[] = [];
    if (!started.includes(name)) wrong.push(started);
    if ((await readFile(target, "utf8")) !== text) wrong.push("the target was written");
    if (((await stat(target)).mode & 0o777) !== 0o644) wrong.push("the target's mode was changed");
    finish(wrong);
  });

  test.each([
    ["a link", symlink],
    ["a hard link", link],
  ])("S7 %s planted as daemon.json is replaced, and its target stays unchanged", async (_, plant) => {
    await using folder = await temporaryFolder();
    const [home, target] = [join(folder.path, "home"), join(folder.path, "target")];
    await mkdir(home, { mode: 0o700 });
    await writeFile(target, "of somebody else", { mode: 0o644 });
    await plant(target, join(home, "daemon.json"));
    await using t = await startTestDaemon({ home });
    const wrong: string[] = [];
    const stats = await lstat(join(home, "daemon.json"));
    if (!stats.isFile() || (stats.mode & 0o777) !== 0o600) wrong.push(`daemon.json: ${stats.mode.toString(8)}`);
    if ((await readFile(target, "utf8")) !== "of somebody else") wrong.push("the secret was written elsewhere");
    if (((await stat(target)).mode & 0o777) !== 0o644) wrong.push("the target's mode was changed");
    if (!(await readFile(join(home, "daemon.json"), "utf8")).includes(t.url)) wrong.push("it is not the endpoint");
    finish(wrong);
  });

  test.each(["", "repos", "tmp", "journal", "removed", "scopes"])(
    "S7 a link in place of the folder home/%s is refused",
    async name => {
      await using folder = await temporaryFolder();
      const [home, target] = [join(folder.path, "home"), join(folder.path, "target")];
      await mkdir(target, { mode: 0o755 });
      if (name !== "") await mkdir(home, { mode: 0o700 });
      await symlink(target, join(home, name));
      const started = await tryToStart(home);
      const wrong: string[] = [];
      if (!started.includes("is not a folder")) wrong.push(started);
      if ((await readdir(target)).length > 0) wrong.push("something was written behind the link");
      if (((await stat(target)).mode & 0o777) !== 0o755) wrong.push("the mode behind the link was changed");
      finish(wrong);
    },
  );

  test("S7 a planted file daemon.json that leads to a foreign program gets no key: our clients require its proof first", async () => {
    await using folder = await temporaryFolder();
    await using stranger = await startTestDaemon();
    await using t = await startTestDaemon({ home: join(folder.path, "home") });
    const file = join(t.homeFolder, "daemon.json");
    const { url } = JSON.parse(await readFile(join(stranger.homeFolder, "daemon.json"), "utf8"));
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), url }));
    const { findDaemon } = await import("../../main/client/locate.ts");
    const { homeAt } = await import("../../main/home/home.ts");
    const wrong = (await findDaemon(homeAt(t.homeFolder))) === undefined ? [] : ["the stranger was believed"];
    await until(() => stranger.log.length > 0, "its log");
    if (stranger.log.join("").includes(t.ownerKey)) wrong.push("the key was sent");
    if ((await stranger.owner.call("daemon/status")).result.refusals?.["key"] !== undefined) wrong.push("a key came");
    finish(wrong);
  });
});
