import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { noRescans, startTestDaemon, type TestDaemonOptions, until } from "../../helpers/daemon.ts";
import { holdCalls, watchFileSystem } from "../../helpers/file-system.ts";
import { freezeHome } from "../../helpers/frozen-home.ts";
import { putDeploy } from "../../helpers/renamed-scope.ts";
import { TestClock } from "../../helpers/test-clock.ts";
import { startWorkTree } from "../../helpers/work-tree.ts";

/*
 * A schema that makes a value inactive removes it from no file: not from the home's, a local layer's or a work tree's, and however the
 * daemon that read the schema ended. The next starts used to take such a revision for a change that the file lacks, and removed the value.
 */

const text = { type: "string" } as const;
const plain = { text, other: text };
/** By how they make the value inactive, the last one in a work tree. */
const rules = [
  ["is too long", { text: { ...text, maxLength: 3 } }],
  ["is of no field", {}],
  ["runs as a command", { text: { ...text, "x-command": true } }],
] as const;

/** A daemon with a value in the three kinds of files. */
async function startWithValues(options: TestDaemonOptions = {}) {
  const scope = JSON.stringify({ type: "object", properties: plain });
  const site = await startWorkTree(undefined, { files: { "scopes/deploy.schema.json": scope }, ...options });
  const { t, home, file } = site;
  await t.addRepository("shop");
  const set = async (args: { readonly [name: string]: unknown }) =>
    expect((await t.owner.call("config/set", args)).errors).toEqual([]);
  const setAll = async (fields: object, flush: boolean) => {
    const all = { ...fields, flush };
    for (const where of [{ repo: "site" }, { repo: "shop", layer: "shared" }, { repo: "shop", layer: "local" }])
      await set({ ...where, ...all });
  };
  /** The values of the home's file, the local layer's and the work tree's. */
  const values = async (folder = home) => {
    const texts = [join(folder, "repos/shop.json"), join(folder, "local/shop.json"), file].map(path =>
      readFile(path, "utf8"),
    );
    return (await Promise.all(texts))
      .map(one => /"deploy": (?<deploy>\{[^}]*\})/.exec(one)?.groups?.["deploy"])
      .map(deploy => JSON.parse(deploy ?? "null"));
  };
  return { t, home, setAll, values, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() };
}

/** Starts twice on a home. */
async function startTwice(home: string): Promise<void> {
  for (let starts = 0; starts < 2; starts++) {
    await using t = await startTestDaemon({ ...noRescans, home });
    for (const repo of ["shop", "site"]) await t.owner.call("file/read", { repo });
  }
}

const each = <Value>(value: Value) => [value, value, value];

describe.each(rules)("a value that by a new schema %s stays in each file", (how, changed) => {
  const properties = { other: text, ...changed };

  // The reload and the stop take turns of the event loop, so these find different moments of the stop.
  test.each([1, 3])("if the daemon stops while it reads the schema: %i ms later", async pause => {
    await using all = await startWithValues();
    await all.setAll({ "deploy.text": "a text" }, false);
    await putDeploy(all.home, properties);
    await delay(pause);
    await all.t.daemon.close();
    await startTwice(all.home);
    expect(await all.values()).toEqual(each({ text: "a text" }));
  });

  test("if the daemon is killed when it has read the schema", async () => {
    await using all = await startWithValues();
    await all.setAll({ "deploy.text": "a text" }, true);
    await putDeploy(all.home, properties);
    await until(() => all.t.log.some(line => line.includes("a scope changed")), "the schema");
    await using killed = await freezeHome(all.home);
    await all.t.daemon.close();
    await startTwice(killed.path);
    expect(await all.values(killed.path)).toEqual(each({ text: "a text" }));
  });

  test.each(["stopped", "killed"])("if the daemon was %s before", async end => {
    await using all = await startWithValues();
    await all.setAll({ "deploy.text": "a text" }, false);
    if (end === "stopped") await all.t.daemon.close();
    await using ended = await freezeHome(all.home);
    await all.t.daemon.close();
    await putDeploy(ended.path, properties);
    await startTwice(ended.path);
    expect(await all.values(ended.path)).toEqual(each({ text: "a text" }));
  });

  test("if the daemon is killed just before it replaces a file that lacks an earlier set", async () => {
    const [fileSystem, clock] = [watchFileSystem(), new TestClock()];
    await using all = await startWithValues({ fileSystem, clock });
    const { t } = all;
    await all.setAll({ "deploy.text": "a text" }, true);
    await all.setAll({ "deploy.other": "too" }, false);
    await putDeploy(all.home, properties);
    const value = async () => (await t.owner.call("config/list", { repo: "shop" })).result["deploy"]?.["text"];
    // In the home, a command is active.
    await until(async () => how === "runs as a command" || typeof (await value()) !== "string", "the schema");
    const isFile = ({ operation, path }: { readonly operation: string; readonly path: string }) =>
      operation === "rename" && path.includes("shop");
    const held = holdCalls(fileSystem, isFile);
    fileSystem.calls.length = 0;
    void t.owner.call("file/read", { repo: "shop" });
    clock.advance(10_000);
    await until(() => fileSystem.calls.filter(isFile).length === 2, "both writes");
    await using killed = await freezeHome(all.home);
    held.release();
    await t.daemon.close();
    await startTwice(killed.path);
    expect(await all.values(killed.path)).toEqual(each({ text: "a text", other: "too" }));
  });
});
