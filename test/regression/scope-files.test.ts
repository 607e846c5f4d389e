import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { saveByRename } from "../helpers/shop.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";
import { TestClock } from "../helpers/test-clock.ts";

const schema = (defaultValue: string) =>
  JSON.stringify({ type: "object", properties: { keys: { type: "string", default: defaultValue } } });

describe("a scope file named like an inherited member of every object", () => {
  test.each(["constructor", "toString", "hasOwnProperty", "valueOf"])(
    "is reported and not used, and leaves Object.keys alone: %s.schema.json",
    async name => {
      await using home = await temporaryFolder();
      const file = join(home.path, `scopes/${name}.schema.json`);
      const { keys } = Object;
      await mkdir(join(home.path, "scopes"), { mode: 0o700 });
      await writeFile(file, schema("at the start"));
      await using t = await startTestDaemon({ home: home.path });
      await t.addRepository("shop");
      const problems = async () =>
        ((await t.owner.call("daemon/status")).result.problems ?? []).filter(problem => problem.startsWith(file));
      const notUsed = async () => {
        expect((await t.owner.call("scope/list")).result.map(scope => scope.scope)).toEqual(["svc"]);
        const made = await t.owner.call("key/create", {
          name: "tool",
          grants: [{ repos: ["shop"], fields: [`${name}.keys`], right: "write" }],
        });
        for (const value of ["one", "two"]) {
          const { errors } = await t.owner.call("config/set", { repo: "shop", [`${name}.keys`]: value });
          expect(errors).toHaveLength(1);
        }
        if (made.errors.length === 0) await t.connect(made.result.key);
        expect(Object.keys).toBe(keys);
        expect(Reflect.get(Object.prototype, "keys")).toBeUndefined();
      };
      expect(await problems()).toHaveLength(1);
      await notUsed();
      await rm(file);
      await until(async () => (await problems()).length === 0, "the problem to be over");
      await writeFile(file, schema("while it runs"));
      await until(async () => (await problems()).length === 1, "the file to be reported");
      await notUsed();
    },
  );
});

describe("a scope file saved by delete and create, with a short gap, never drops the scope", () => {
  test.each(["when nothing reads it", "while it is being read"])("%s", async when => {
    const clock = new TestClock();
    await using t = await startTestDaemon({ clock });
    const file = join(t.homeFolder, "scopes/deploy.schema.json");
    const scopeEvents = () => t.owner.events.filter(([resource]) => resource === "scope");
    const untilNextCheck = async (pause: number) => {
      await until(() => clock.waiting(pause) > 0, "the daemon to wait before its next check");
      clock.advance(pause);
    };
    const set = async (value: string) => {
      expect((await t.owner.call("config/set", { repo: "shop", "deploy.keys": value })).errors).toEqual([]);
    };
    await t.addRepository("shop");
    await t.owner.call("config/watch");
    await saveByRename(file, schema("eu"));
    await until(() => scopeEvents().length === 1, "the scope to be applied");
    if (when === "while it is being read") {
      // The daemon waits for the rest of an incomplete file, which is then deleted.
      await writeFile(file, schema("eu").slice(0, 20));
      await until(() => clock.waiting(20) > 0, "the incomplete file to be read");
    }
    await rm(file);
    await untilNextCheck(20);
    await until(() => clock.waiting(80) > 0, "the daemon to find the file missing once more");
    await set("during the save");
    // The next event of the scope is the actual change.
    await saveByRename(file, schema("us"));
    await untilNextCheck(80);
    await until(() => scopeEvents().length > 1, "the change to be published");
    expect((await t.owner.call("config/list", { repo: "shop" })).result["deploy"]?.["keys"]).toBe("during the save");
    expect(scopeEvents()).toHaveLength(2);
  });
});
