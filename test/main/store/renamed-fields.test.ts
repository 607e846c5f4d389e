import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { freezeHome } from "../../helpers/frozen-home.ts";
import { PowerLoss } from "../../helpers/power-loss.ts";
import { randomNumbers } from "../../helpers/random.ts";
import {
  after,
  before,
  deployOf,
  deployText,
  putDeploy,
  replaceDeploy,
  startDeploy,
} from "../../helpers/renamed-scope.ts";
import { saveByRename } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

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
    await using t = await startTestDaemon({ home, rescanInterval: 3_600_000 });
    const { values } = await deployOf(t);
    seen.push({ values, text: await t.readRepository("shop") });
  }
  const [first, second] = seen;
  expect(second).toEqual(first);
  return { values: {}, text: "", ...first };
}

describe("a kill between the log and the file", () => {
  test("leaves a set active, and the file gets only the new name", async () => {
    await using home = await frozenBehind([["config/set", { "deploy.workers": 40 }]]);
    const { values, text } = await openedTwice(home.path);
    expect(values).toEqual({ workers: 40, region: "north" });
    expect(text).toContain(`"workers": 40`);
    expect(text).toBe(deployText.replace(`"jobs": 30`, `"workers": 40`));
  });

  test("loses neither a set nor one that reverts it", async () => {
    await using home = await frozenBehind([
      ["config/set", { "deploy.workers": 40 }],
      ["config/set", { "deploy.workers": 30 }],
    ]);
    const { values, text } = await openedTwice(home.path);
    expect(values).toEqual({ workers: 30, region: "north" });
    expect(text).toContain(`"workers": 30`);
    expect(text).not.toContain("jobs");
  });

  test("does not undo an unset", async () => {
    await using home = await frozenBehind([["config/unset", { fields: ["deploy.workers"] }]]);
    const { values, text } = await openedTwice(home.path);
    expect(values).toEqual({ workers: 1, region: "north" });
    expect(text).not.toMatch(/jobs|workers/);
  });

  test("and a hand edit before the next start: a field that the edit left alone keeps the set, by its new name; one that it changed keeps the edit", async () => {
    for (const [edited, workers] of [
      [deployText.replace("north", "south"), 40],
      [deployText.replace("north", "south").replace("30, //", "35, //"), 35],
      [deployText.replace("north", "south").replace(`"jobs"`, `"workers"`), 40],
    ] as const) {
      await using home = await frozenBehind([["config/set", { "deploy.workers": 40 }]]);
      await saveByRename(join(home.path, "repos/shop.json"), edited);
      const { values, text } = await openedTwice(home.path);
      expect(values).toEqual({ workers, region: "south" });
      expect(text.includes("jobs"), text).toBe(workers === 35);
    }
  });

  test("and a hand edit and a new schema before the next start: a value set by the old name is written by the new one", async () => {
    await using home = await frozenBehind([["config/set", { "deploy.jobs": 40 }]], before);
    await saveByRename(join(home.path, "repos/shop.json"), deployText.replace("north", "south"));
    await putDeploy(home.path, after);
    const { values, text } = await openedTwice(home.path);
    expect(values).toEqual({ workers: 40, region: "south" });
    expect(text).toBe(deployText.replace("north", "south").replace(`"jobs": 30`, `"workers": 40`));
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
    await using again = await startTestDaemon({ home: home.path, rescanInterval: 3_600_000 });
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

  test("that broke the file before the set was written keeps the set once it is fixed", async () => {
    await using home = await frozenBehind([["config/set", { "deploy.workers": 40 }]]);
    const file = join(home.path, "repos/shop.json");
    await saveByRename(file, "{ half");
    await using t = await startTestDaemon({ home: home.path, rescanInterval: 3_600_000 });
    expect((await deployOf(t)).values["workers"]).toBe(40);
    await saveByRename(file, deployText.replace("north", "south"));
    await t.owner.call("file/read", set);
    expect((await deployOf(t)).values).toEqual({ workers: 40, region: "south" });
    expect(await t.readRepository("shop")).not.toContain("jobs");
  });
});

test("a power loss while a renamed field is set leaves the old value or the new one, and the rest of the file as people wrote it", async () => {
  await using folder = await temporaryFolder();
  const loss = new PowerLoss(folder.path);
  const options = { home: folder.path, fileSystem: loss.fileSystem };
  await using t = await startDeploy(before, deployText, options);
  await replaceDeploy(t, after);
  await using _vault = await loss.begin();
  await t.owner.call("config/set", { ...set, "deploy.workers": 40 });
  loss.acknowledge();
  await t.readRepository("shop");
  await t[Symbol.asyncDispose]();
  loss.end();
  const served = new Set<unknown>();
  for (const state of loss.states(randomNumbers(1), 3)) {
    await using lost = await loss.make(state);
    const { values, text } = await openedTwice(lost.path);
    const { workers } = values as { workers?: unknown };
    served.add(workers);
    expect(loss.isAcknowledged(state) ? [40] : [30, 40], state.label).toContain(workers);
    expect(values).toMatchObject({ region: "north" });
    expect(text, state.label).toContain(workers === 40 ? `"workers": 40` : `"jobs": 30`);
    expect(text).toContain("// by hand");
  }
  expect(served).toEqual(new Set([30, 40]));
});
