import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { writeArchive } from "../../main/cli/backup/backup-archive.ts";
import { restoreBackup } from "../../main/cli/backup/backup-restore.ts";
import { homeAt } from "../../main/home/home.ts";
import { homeFormat } from "../../main/home/prepare-home.ts";
import { startTestDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { convertOlderHomes, makeOlderHome, olderTimeouts } from "../helpers/older-format.ts";
import { judge } from "../helpers/promise.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/**
 * A home as its version's own daemon left it: every file except the lock and the schema that each start rewrites, with two repositories
 * added, one found, sets, an unset, a key. A new format gets a new one, and those of released versions are never changed.
 */
interface StoredHome {
  readonly version: string;
  readonly files: { readonly [path: string]: string };
}

const folder = join(import.meta.dirname, "../homes");

convertOlderHomes();

async function unpack({ files }: StoredHome, home: string): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, path)), { recursive: true, mode: 0o700 });
    await writeFile(join(home, path), text, { mode: 0o600 });
  }
}

/** The content of those homes, in any format. */
const stored = {
  shop: {
    svc: { timeout: 60, domain: "shop.test", services: { web: { ready: "/", image: "web:1" } }, default: "web" },
    printer: { copies: 3 },
  },
  cellar: { svc: { envvars: [{ name: "A", value: "1" }] }, printer: { name: "Küche \u2028" } },
  empty: {},
};
const local = "local/cellar.json";

async function lossIn(t: TestDaemon, { files }: StoredHome): Promise<string[]> {
  const lost: string[] = [];
  const compare = (what: string, is: unknown, was: unknown) => {
    try {
      expect(is).toEqual(was);
    } catch {
      lost.push(`${what}: ${JSON.stringify(is)} in the place of ${JSON.stringify(was)}`);
    }
  };
  const { cellar } = stored;
  const withLocal = { ...stored, cellar: { ...cellar, svc: { ...cellar.svc, provider: "me" } } };
  for (const [repo, values] of Object.entries(files[local] === undefined ? stored : withLocal)) {
    const { result } = await t.owner.call("config/list", { repo, stored: true });
    const known = Object.fromEntries(Object.entries(result).filter(([, fields]) => Object.keys(fields).length > 0));
    compare(`${repo}'s values`, known, values);
    compare(`${repo}'s file`, await t.readRepository(repo), files[`repos/${repo}.json`]);
  }
  const localFile = await readFile(join(t.homeFolder, local), "utf8").catch(() => undefined);
  compare("the local values", localFile, files[local]);
  const entries = (await t.owner.call("repo/list")).result;
  compare("names and paths", entries.map(({ id, name, path, health }) => [id, name, path, health]).sort(), [
    ["cellar", "The cellar", "/srv/cellar", []],
    ["empty", "nothing stored", undefined, []],
    ["shop", "shop", undefined, []],
  ]);
  const keys = (await t.owner.call("key/list")).result.filter(({ name }) => name === "reader");
  const given = keys.map(({ grants }) => grants);
  compare("keys", given, [[{ repos: ["shop"], fields: ["svc.*"], right: "read" }]]);
  compare("the owner's key", `${t.ownerKey}\n`, files["owner.key"]);
  compare("settings", await readFile(join(t.homeFolder, "settings.json"), "utf8"), files["settings.json"]);
  const problems = t.log.filter(line => /damaged|cannot|could not/.test(line));
  compare("problems in the log", problems, []);
  return lost;
}

async function formatOf(home: string): Promise<number> {
  return Number(await readFile(join(home, "format"), "utf8"));
}

test("R15 a recorded home of each format opens in this version without losing anything", async () => {
  const lost: string[] = [];
  const formats: number[] = [];
  for (const name of (await readdir(folder)).sort()) {
    // Written by us, and never changed.
    const home = JSON.parse(await readFile(join(folder, name), "utf8")) as StoredHome;
    formats.push(Number(home.files["format"]));
    await using opened = await temporaryFolder();
    await unpack(home, opened.path);
    await using t = await startTestDaemon({ home: opened.path });
    const note = (when: string, problems: readonly string[]) =>
      lost.push(...problems.map(problem => `${name}, ${when}: ${problem}`));
    note("opened", await lossIn(t, home));
    const history = (await t.owner.call("history/list", { repo: "shop" })).result;
    const revisions = history.map(({ revision, source }) => `${revision} ${source}`);
    if (history.length < 5) note("opened", [`the history is ${revisions}`]);
    await t.restart();
    note("opened again", await lossIn(t, home));
    if ((await formatOf(opened.path)) !== homeFormat) note("opened", ["the old format"]);
    const set = await t.owner.call("config/set", { repo: "shop", "svc.timeout": 61 });
    if (set.errors.length > 0 || (set.result[0]?.revision ?? 0) <= (history[0]?.revision ?? 0))
      note("opened", [`a set gets ${JSON.stringify(set)}`]);
  }
  const note = `homes of formats ${formats.join(", ")}`;
  judge("R15", formats.length, lost, note);
  expect(formats).toEqual(Array.from({ length: homeFormat }, (_, index) => index + 1));
});

/** Whether the home has been converted from the invented older format, with all its values, and can be used. */
async function expectConverted(home: string): Promise<void> {
  await using t = await startTestDaemon({ home });
  expect(await formatOf(home)).toBe(homeFormat);
  for (const [repo, timeout] of Object.entries(olderTimeouts)) {
    const { result, errors } = await t.owner.call("config/list", { repo, stored: true });
    expect([result, errors]).toEqual([{ svc: { timeout } }, []]);
    expect(JSON.parse(await t.readRepository(repo))).toEqual({ name: repo, config: { svc: { timeout } } });
    expect((await t.owner.call("config/set", { repo, "svc.timeout": timeout + 10 })).errors).toEqual([]);
  }
}

test("R15 a home of an older format is converted by the first start, also after kill -9 at any file of it", async () => {
  const program = join(import.meta.dirname, "../helpers/converting-process.ts");
  const files = Object.keys(olderTimeouts).length;
  const failed: string[] = [];
  for (let file = 0; file <= files; file++) {
    await using home = await temporaryFolder();
    await makeOlderHome(home.path);
    const child = spawn(process.execPath, [program, home.path, `${file}`], { stdio: "ignore" });
    expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
    // The number is written last.
    expect(await formatOf(home.path)).toBe(0);
    await expectConverted(home.path).catch(error => failed.push(`killed at file ${file}: ${error}`));
  }
  judge("R15", files + 1, failed, "kills while a home is converted");
});

test("R15 a backup of a home of an older format is converted when it is restored", async () => {
  await using older = await temporaryFolder();
  await makeOlderHome(older.path);
  const archive = join(older.path, "backup.tar.gz");
  await writeArchive(homeAt(older.path), archive);
  await using home = await temporaryFolder();
  await using t = await startTestDaemon({ home: home.path, repositories: ["replaced"] });
  await t.daemon.close();
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  await restoreBackup(homeAt(home.path), archive, true);
  vi.restoreAllMocks();
  await expectConverted(home.path);
});
