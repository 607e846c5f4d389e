import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noRescans, startTestDaemon, until } from "../../helpers/daemon.ts";
import { git } from "../../helpers/git.ts";
import { healthOf, placeIn } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const switches = process.env["REPOCONF_TORTURE"] === "1" ? 50 : 10;

const mainText = `{\n  // of main\n  "config": { "svc": { "timeout": 30, "domain": "main.test" } }\n}\n`;
const otherText = `{\n  "config": {\n    "svc": { "timeout": 60, "domain": "other.test", "refresh_day": 3 }\n  }\n}\n`;

/** A work tree with the branches `main` and `other`, whose files differ, and `bare` without one; `main` is checked out. */
async function startGitTree() {
  const { path: folder, [Symbol.asyncDispose]: dispose } = await temporaryFolder();
  const file = join(folder, ".repoconf.json");
  const run = (...args: readonly string[]) => git(folder, ...args);
  const commit = async (text: string) => {
    await writeFile(file, text);
    await run("add", ".");
    await run("commit", "--quiet", "--message", "configuration");
  };
  await run("init", "--quiet", "--initial-branch", "main");
  await run("commit", "--quiet", "--allow-empty", "--message", "begin");
  await run("branch", "bare");
  await commit(mainText);
  await run("switch", "--quiet", "--create", "other");
  await commit(otherText);
  await run("switch", "--quiet", "main");
  const t = await startTestDaemon(noRescans);
  const { errors } = await t.owner.call("repo/add", { id: "site", name: "site", path: folder, inTree: true });
  expect(errors).toEqual([]);
  await t.owner.call("config/watch", { repo: "site" });
  return {
    t,
    file,
    git: run,
    /** Writes the file and commits it. */
    commit,
    values: async (): Promise<{ readonly [field: string]: unknown }> =>
      (await t.owner.call("config/list", { repo: "site", stored: true })).result["svc"] ?? {},
    history: async () => (await t.owner.call("history/list", { repo: "site", limit: 1_000 })).result.toReversed(),
    /** The changes that the owner received. */
    changes: () =>
      t.owner.events.flatMap(([resource, , payload]) => {
        if (resource !== "config") return [];
        const { repo: _, position: __, ...entry } = payload;
        return [entry];
      }),
    /** The daemon's temporary files beside the file. */
    leftovers: async () => (await readdir(folder)).filter(name => name.startsWith(".repoconf.json.")),
    [Symbol.asyncDispose]: async () => {
      await t[Symbol.asyncDispose]();
      await dispose();
    },
  };
}

const mainValues = { timeout: 30, domain: "main.test" };
const otherValues = { timeout: 60, domain: "other.test", refresh_day: 3 };

test(`${switches} git switches back and forth make one revision and one event each, and leave a clean status`, async () => {
  await using tree = await startGitTree();
  expect(await tree.values()).toEqual(mainValues);
  for (let index = 1; index <= switches; index++) {
    const [branch, values] = index % 2 === 1 ? ["other", otherValues] : ["main", mainValues];
    await tree.git("switch", "--quiet", branch);
    await until(() => tree.changes().length === index, `the event of switch ${index}`);
    expect(await tree.values()).toEqual(values);
    expect(await tree.git("status", "--porcelain")).toBe("");
    expect(await readFile(tree.file, "utf8")).toBe(branch === "main" ? mainText : otherText);
  }
  const history = await tree.history();
  expect(history.map(({ revision }) => revision)).toEqual(
    Array.from({ length: switches + 1 }, (_, index) => index + 1),
  );
  expect(history.slice(1)).toEqual(tree.changes());
  for (const [index, change] of tree.changes().entries()) {
    const timeout = index % 2 === 0 ? { value: 60, previous: 30 } : { value: 30, previous: 60 };
    expect(change).toMatchObject({ actor: "file", source: "file", changes: { svc: { timeout } } });
  }
  expect(await tree.leftovers()).toEqual([]);
  expect(await healthOf(tree.t, "site")).toEqual([]);
});

test("a switch right after a committed set is taken as it is: git decides, and nothing is merged", async () => {
  await using tree = await startGitTree();
  for (let index = 0; index < 3; index++) {
    await tree.t.owner.call("config/set", { repo: "site", "svc.timeout": 100 + index });
    expect(await tree.git("status", "--porcelain")).toBe(" M .repoconf.json\n");
    await tree.git("commit", "--quiet", "--all", "--message", "a set");
    const begin = tree.changes().length;
    await tree.git("switch", "--quiet", "other");
    await until(async () => (await tree.values())["timeout"] === 60, "the other branch");
    expect(await tree.values()).toEqual(otherValues);
    await tree.git("switch", "--quiet", "main");
    await until(async () => (await tree.values())["timeout"] === 100 + index, "main again");
    expect(await tree.git("status", "--porcelain")).toBe("");
    await until(() => tree.changes().length === begin + 2, "an event for each switch");
  }
  expect(new Set(tree.changes().map(({ source }) => source))).toEqual(new Set(["set", "file"]));
  expect(await tree.leftovers()).toEqual([]);
});

test("a branch without the file has no stored values, and switching to it and back makes one event each", async () => {
  await using tree = await startGitTree();
  await tree.git("switch", "--quiet", "bare");
  await until(() => tree.changes().length === 1, "the event");
  expect(await tree.values()).toEqual({});
  expect(await healthOf(tree.t, "site")).toEqual([]);
  expect(await tree.git("status", "--porcelain")).toBe("");
  await tree.git("switch", "--quiet", "other");
  await until(() => tree.changes().length === 2, "the event");
  expect(await tree.values()).toEqual(otherValues);
  expect(tree.changes()).toMatchObject([
    { revision: 2, source: "file", changes: { svc: { timeout: { value: 900, previous: 30, stored: false } } } },
    { revision: 3, source: "file", changes: { svc: { timeout: { value: 60, previous: 900, stored: true } } } },
  ]);
});

test("during a merge conflict in the file, health reports 1106 and the last valid values are served, until someone fixes it", async () => {
  await using tree = await startGitTree();
  await tree.git("merge", "other", "--message", "merge");
  await until(() => tree.changes().length === 1, "the successful merge");
  await tree.git("switch", "--quiet", "--create", "third");
  await tree.commit(otherText.replace("60", "61"));
  await tree.git("switch", "--quiet", "other");
  await tree.commit(otherText.replace("60", "62"));
  await until(async () => (await tree.values())["timeout"] === 62, "the values before the merge");
  const begin = tree.changes().length;
  await expect(tree.git("merge", "third")).rejects.toThrow();
  const conflict = await readFile(tree.file, "utf8");
  expect(conflict).toContain("<<<<<<<");
  await until(async () => (await healthOf(tree.t, "site")).length > 0, "health to report it");
  expect(await healthOf(tree.t, "site")).toMatchObject([{ code: 1106, ...placeIn(conflict, "<<<<<<<") }]);
  expect((await tree.values())["timeout"]).toBe(62);
  const { errors } = await tree.t.owner.call("config/set", { repo: "site", "svc.timeout": 5 });
  expect(errors).toMatchObject([{ code: 1106 }]);
  expect(await readFile(tree.file, "utf8")).toBe(conflict);
  expect(await tree.git("status", "--porcelain")).toBe("UU .repoconf.json\n");
  // The last valid values come from the journal after a restart.
  await tree.t.restart();
  expect((await tree.values())["timeout"]).toBe(62);
  await tree.t.owner.call("config/watch", { repo: "site" });

  await tree.commit(otherText.replace("60", "63"));
  await until(async () => (await tree.values())["timeout"] === 63, "the fixed values");
  expect(await healthOf(tree.t, "site")).toEqual([]);
  expect(tree.changes()).toMatchObject([
    { source: "file", changes: { svc: { timeout: { value: 63, previous: 62 } } } },
  ]);
  expect((await tree.history()).at(-1)?.revision).toBe(begin + 2);
  expect(await tree.git("status", "--porcelain")).toBe("");
});
