import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { noRescans, startTestDaemon, until } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { freezeHome } from "../../helpers/frozen-home.ts";
import { after, before, deployOf, deployText, putDeploy, startDeploy } from "../../helpers/renamed-scope.ts";
import { saveByRename } from "../../helpers/shop.ts";

/*
 * A file that has a field by its old name, and operations that use the new one: whatever happens in between, both names mean
 * one field.
 */

const set = { repo: "shop" };

/** A home that is frozen, as by kill -9, after `changes` whose outcome is in the log and not in the file. */
async function frozenBehind(
  changes: readonly (readonly ["config/set" | "config/unset", object])[],
  properties = after,
) {
  const fileSystem = watchFileSystem();
  await using t = await startDeploy(properties, deployText, { fileSystem });
  const gate = Promise.withResolvers<void>();
  // Neither history nor file is written.
  fileSystem.before = ({ path, operation }) => {
    const isMirror = path.includes("/journal/") || path.endsWith("/tmp/shop.json");
    return isMirror && operation !== "read" ? gate.promise : undefined;
  };
  for (const [name, fields] of changes) expect((await t.owner.call(name, { ...set, ...fields })).errors).toEqual([]);
  expect(await readFile(t.repositoryFile("shop"), "utf8")).toBe(deployText);
  const frozen = await freezeHome(t.homeFolder);
  gate.resolve();
  return frozen;
}

/** The values served from a home and the text of its file, which two starts must agree on. */
async function openedTwice(home: string) {
  const seen: { values: object; text: string }[] = [];
  for (let starts = 0; starts < 2; starts++) {
    await using t = await startTestDaemon({ ...noRescans, home });
    const { values } = await deployOf(t);
    seen.push({ values, text: await t.readRepository("shop") });
  }
  const [first, second] = seen;
  expect(second).toEqual(first);
  return { values: {}, text: "", ...first };
}

const workersText = (workers: number) => deployText.replace(`"jobs": 30`, `"workers": ${workers}`);
const southern = (text: string) => text.replace("north", "south");
type Change = readonly ["config/set" | "config/unset", object];
const setTo = (workers: number): Change => ["config/set", { "deploy.workers": workers }];

describe("a kill between the log and the file", () => {
  const unset: Change = ["config/unset", { fields: ["deploy.workers"] }];
  const changed = southern(deployText).replace("30, //", "35, //");
  const renamed = southern(deployText).replace(`"jobs"`, `"workers"`);
  test.each<[title: string, changes: Change[], edited: string | undefined, workers: number, text: string | RegExp]>([
    ["a set is active, and the file gets only the new name", [setTo(40)], undefined, 40, workersText(40)],
    ["neither a set nor one that reverts it is lost", [setTo(40), setTo(30)], undefined, 30, workersText(30)],
    ["an unset is not undone", [unset], undefined, 1, /^(?!.*(jobs|workers)).*$/s],
    ["a field that an edit left alone keeps the set", [setTo(40)], southern(deployText), 40, southern(workersText(40))],
    ["a field that an edit changed keeps the edit", [setTo(40)], changed, 35, changed],
    ["a field that an edit only renamed keeps the set", [setTo(40)], renamed, 40, southern(workersText(40))],
  ])("and, in some, a hand edit before the next start: %s", async (_title, changes, edited, workers, text) => {
    await using home = await frozenBehind(changes);
    if (edited !== undefined) await saveByRename(join(home.path, "repos/shop.json"), edited);
    const opened = await openedTwice(home.path);
    expect(opened.values).toEqual({ workers, region: edited === undefined ? "north" : "south" });
    expect(opened.text).toEqual(typeof text === "string" ? text : expect.stringMatching(text));
  });

  test("and a hand edit and a new schema before the next start: a value set by the old name is written by the new one", async () => {
    await using home = await frozenBehind([["config/set", { "deploy.jobs": 40 }]], before);
    await saveByRename(join(home.path, "repos/shop.json"), southern(deployText));
    await putDeploy(home.path, after);
    const { values, text } = await openedTwice(home.path);
    expect(values).toEqual({ workers: 40, region: "south" });
    expect(text).toBe(southern(workersText(40)));
  });

  test("after a hand edit that is in the log and uses an old name: the next start adds only later sets to the file", async () => {
    const fileSystem = watchFileSystem();
    await using t = await startDeploy(after, deployText, { fileSystem });
    const gate = Promise.withResolvers<void>();
    fileSystem.before = ({ path, operation }) =>
      path.includes("/journal/") && operation !== "read" ? gate.promise : undefined;
    const edited = deployText.replace("30, //", "31, //");
    await saveByRename(t.repositoryFile("shop"), edited);
    await until(async () => (await deployOf(t)).values["workers"] === 31, "the edit");
    expect((await t.owner.call("config/set", { ...set, "svc.timeout": 60 })).errors).toEqual([]);
    await using home = await freezeHome(t.homeFolder);
    gate.resolve();
    await using again = await startTestDaemon({ ...noRescans, home: home.path });
    expect((await deployOf(again)).values).toEqual({ workers: 31, region: "north" });
    expect(await again.readRepository("shop")).toBe(edited.replace(`"timeout": 30`, `"timeout": 60`));
    const { result } = await again.owner.call("repo/list");
    expect(result[0]?.health.map(({ code }) => code)).toEqual([1115, 1115]);
  });

  test("and a new schema before the next start: a change by the old name is served by the new one", async () => {
    for (const [change, workers] of [
      [["config/set", { "deploy.jobs": 50 }], 50],
      [["config/unset", { fields: ["deploy.jobs"] }], 1],
    ] as const) {
      await using home = await frozenBehind([change], before);
      await putDeploy(home.path, after);
      expect((await openedTwice(home.path)).values).toEqual({ workers, region: "north" });
    }
  });
});

test("a kill after a schema change leaves the file unchanged, even if the schema rejects the value", async () => {
  const refusing = { workers: { type: "string", default: "none", "x-renamedFrom": "jobs" } };
  for (const properties of [after, refusing, { jobs: { type: "string", default: "none" } }]) {
    const fileSystem = watchFileSystem();
    await using t = await startDeploy(before, deployText, { fileSystem });
    const { revision = 0 } = await deployOf(t);
    const gate = Promise.withResolvers<void>();
    fileSystem.before = ({ path, operation }) =>
      path.includes("/journal/") && operation !== "read" ? gate.promise : undefined;
    await putDeploy(t.homeFolder, properties);
    await until(async () => (await deployOf(t)).revision === revision + 1, "the revision");
    await using home = await freezeHome(t.homeFolder);
    gate.resolve();
    expect((await openedTwice(home.path)).text).toBe(deployText);
  }
});

describe("a hand edit during a set", () => {
  test("of the same field wins, by the old name; one of another field leaves the set", async () => {
    for (const [edited, workers, region] of [
      [deployText.replace("30, //", "35, //"), 35, "north"],
      [deployText.replace("north", "south"), 40, "south"],
    ] as const) {
      const fileSystem = watchFileSystem();
      await using t = await startDeploy(after, deployText, { fileSystem });
      let isEdited = false;
      // At the last moment before the file is written.
      fileSystem.before = async ({ operation, path }) => {
        if (isEdited || operation !== "open" || !path.endsWith("/tmp/shop.json")) return;
        isEdited = true;
        await saveByRename(t.repositoryFile("shop"), edited);
      };
      await t.owner.call("config/set", { ...set, flush: true, "deploy.workers": 40 });
      expect((await deployOf(t)).values).toEqual({ workers, region });
      await t.restart();
      expect((await deployOf(t)).values).toEqual({ workers, region });
      expect((await t.readRepository("shop")).includes("jobs")).toBe(workers === 35);
    }
  });
});
