import { appendFile, mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { homeFormat, sharedHomeFormat } from "../../main/home/prepare-home.ts";
import { type ChangeRecord, formatLines, hashText } from "../../main/store/history/record.ts";
import { startTestDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { reportPromise } from "../helpers/promise.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/**
 * A home as a released version left it: every file except the lock and the schema that each start rewrites. They were made by
 * that version's own daemon: two repositories added, one found, sets, an unset, a key. A new format gets a new one, and existing
 * ones are never changed.
 */
interface StoredHome {
  readonly version: string;
  readonly files: { readonly [path: string]: string };
}

const folder = join(import.meta.dirname, "../homes");

/** The formats of homes with a shared log. They are not recorded: without its server such a home does not open. */
const sharedFormats = [4];

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

async function lossIn(t: TestDaemon, { files }: StoredHome): Promise<string[]> {
  const lost: string[] = [];
  const compare = (what: string, is: unknown, was: unknown) => {
    try {
      expect(is).toEqual(was);
    } catch {
      lost.push(`${what}: ${JSON.stringify(is)} in the place of ${JSON.stringify(was)}`);
    }
  };
  for (const [repo, values] of Object.entries(stored)) {
    const { result } = await t.owner.call("config/list", { repo, stored: true });
    const known = Object.fromEntries(Object.entries(result).filter(([, fields]) => Object.keys(fields).length > 0));
    compare(`${repo}'s values`, known, values);
    compare(`${repo}'s file`, await t.readRepository(repo), files[`repos/${repo}.json`]);
  }
  const entries = (await t.owner.call("repo/list")).result;
  compare("names and paths", entries.map(({ id, name, path, health }) => [id, name, path, health]).sort(), [
    ["cellar", "The cellar", "/srv/cellar", []],
    ["empty", "nothing stored", undefined, []],
    ["shop", "shop", undefined, []],
  ]);
  const keys = (await t.owner.call("key/list")).result.filter(({ name }) => name === "reader");
  compare(
    "keys",
    keys.map(({ grants }) => grants),
    [[{ repos: ["shop"], fields: ["svc.*"], right: "read" }]],
  );
  compare("the owner's key", `${t.ownerKey}\n`, files["owner.key"]);
  compare("settings", await readFile(join(t.homeFolder, "settings.json"), "utf8"), files["settings.json"]);
  const problems = t.log.filter(line => /damaged|cannot|could not/.test(line));
  compare("problems in the log", problems, []);
  return lost;
}

test("R15 an older home opens in this version without losing anything", async () => {
  const lost: string[] = [];
  const formats: number[] = [];
  for (const name of (await readdir(folder)).sort()) {
    // Written by us, and never changed.
    const home = JSON.parse(await readFile(join(folder, name), "utf8")) as StoredHome;
    const format = Number(home.files["format"]);
    formats.push(format);
    await using opened = await temporaryFolder();
    await unpack(home, opened.path);
    await using t = await startTestDaemon({ home: opened.path });
    const note = (when: string, problems: readonly string[]) =>
      lost.push(...problems.map(problem => `${name}, ${when}: ${problem}`));
    note("opened", await lossIn(t, home));
    const history = (await t.owner.call("history/list", { repo: "shop" })).result;
    // Format 1 stored no history: it begins with the current values. Later formats keep all of it.
    const revisions = history.map(({ revision, source }) => `${revision} ${source}`);
    const expected = format === 1 ? 1 : 5;
    if (history.length < expected) note("opened", [`the history is ${revisions}`]);
    await t.restart();
    note("opened again", await lossIn(t, home));
    if (Number(await readFile(join(opened.path, "format"), "utf8")) !== homeFormat) note("opened", ["the old format"]);
    const set = await t.owner.call("config/set", { repo: "shop", "svc.timeout": 61 });
    if (set.errors.length > 0 || (set.result[0]?.revision ?? 0) <= (history[0]?.revision ?? 0))
      note("opened", [`a set gets ${JSON.stringify(set)}`]);
  }
  const note = `homes of formats ${formats.join(", ")}`;
  reportPromise({ row: "R15", tried: formats.length, failed: lost.length, note });
  expect(lost).toEqual([]);
  expect(Math.max(...formats)).toBe(homeFormat);
  // A number that meant something else before would be opened by the version that used it.
  const used = [...formats, ...sharedFormats].sort((one, other) => one - other);
  expect(used).toEqual(Array.from({ length: sharedHomeFormat }, (_, index) => index + 1));
});

/** A set of the timeout to 61 as the daemon of format 2 made it: first a record in the journal, then the file. */
const crashes: { readonly title: string; readonly timeout: number; leave(home: string): Promise<void> }[] = [
  {
    title: "in the middle of its record",
    timeout: 60,
    leave: async home => {
      const { path, line } = await recordOfSet(home);
      await appendFile(path, line.slice(0, line.length / 2));
    },
  },
  {
    title: "between its record and its file",
    timeout: 60,
    leave: async home => {
      const { path, line, text } = await recordOfSet(home);
      await appendFile(path, line);
      await mkdir(join(home, "tmp"), { recursive: true });
      await writeFile(join(home, "tmp/shop.json.0123456789ab.tmp"), text);
    },
  },
  {
    title: "between its file and its reply",
    timeout: 61,
    leave: async home => {
      const { path, line, text } = await recordOfSet(home);
      await appendFile(path, line);
      await writeFile(join(home, "repos/shop.json.new"), text);
      await rename(join(home, "repos/shop.json.new"), join(home, "repos/shop.json"));
    },
  },
];

async function recordOfSet(home: string): Promise<{ path: string; line: string; text: string }> {
  const [file, path] = [join(home, "repos/shop.json"), join(home, "journal/shop.0-0.jsonl")];
  const text = (await readFile(file, "utf8")).replace(`"timeout": 60`, `"timeout": 61`);
  const previous = (await readFile(path, "utf8")).trimEnd().split("\n").at(-1)?.split(" ")[0] ?? "";
  const { size, mtimeMs, ino } = await stat(file);
  const record: ChangeRecord = {
    kind: "change",
    revision: 6,
    time: "2026-11-21T21:22:00.000Z",
    actor: { kind: "key", id: "owner", name: "owner" },
    source: "set",
    changes: [{ scope: "svc", field: "timeout", before: 60, after: 61 }],
    text: hashText(text),
    replaces: { size, mtimeMs, ino },
  };
  return { path, line: formatLines([record], previous).text, text };
}

test.each(crashes)(
  "R15 a home of format 2 whose daemon died during a set opens without damage: $title",
  async ({ timeout, leave }) => {
    const home = JSON.parse(await readFile(join(folder, "format-2.json"), "utf8")) as StoredHome;
    await using opened = await temporaryFolder();
    await unpack(home, opened.path);
    await leave(opened.path);
    await using t = await startTestDaemon({ home: opened.path });
    const timeoutNow = async () =>
      (await t.owner.call("config/list", { repo: "shop", field: "svc.timeout" })).result["svc"]?.["timeout"];
    expect(await timeoutNow()).toBe(timeout);
    expect(await t.readRepository("shop")).toBe(
      home.files["repos/shop.json"]?.replace(`"timeout": 60`, `"timeout": ${timeout}`),
    );
    const recordedRevisions = async () =>
      (await t.owner.call("history/list", { repo: "shop", field: "svc.timeout" })).result.map(
        ({ revision }) => revision,
      );
    const [newest = 0] = await recordedRevisions();
    expect(newest).toBe(timeout === 61 ? 6 : 5);
    expect((await t.owner.call("config/set", { repo: "shop", "svc.timeout": 62, flush: true })).errors).toEqual([]);
    await t.restart();
    expect(await timeoutNow()).toBe(62);
    expect((await recordedRevisions()).length).toBeGreaterThan(1);
    expect(await readdir(join(opened.path, "tmp"))).toEqual([]);
  },
);
