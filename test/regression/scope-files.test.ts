import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const schema = (defaultValue: string) =>
  JSON.stringify({ type: "object", properties: { keys: { type: "string", default: defaultValue } } });

describe("a scope file by the name of what every object has", () => {
  test.each(["constructor", "toString", "hasOwnProperty", "valueOf"])(
    "%s.schema.json is reported and not used, and Object.keys stays a function",
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

describe("a scope file saved by delete and create, 60 ms apart, never drops the scope", () => {
  const beforehand: { readonly [when: string]: (file: string) => Promise<void> } = {
    "when nothing reads it": () => delay(150),
    // Being waited for, as half a file is, it is listed and then gone.
    "while it is being read": async file => {
      await delay(150);
      await writeFile(file, schema("eu").slice(0, 20));
      await delay(10);
    },
  };
  test.each(Object.entries(beforehand))("%s", async (_when, prepare) => {
    await using t = await startTestDaemon();
    const file = join(t.homeFolder, "scopes/deploy.schema.json");
    const scopeEvents = () => t.owner.events.filter(([resource]) => resource === "scope");
    await t.addRepository("shop");
    await t.owner.call("config/watch");
    await writeFile(file, schema("eu"));
    await until(() => scopeEvents().length === 1, "the scope to be taken up");
    await prepare(file);
    await rm(file);
    const end = Date.now() + 60;
    do {
      const { errors } = await t.owner.call("config/set", { repo: "shop", "deploy.keys": "during the save" });
      expect(errors).toEqual([]);
      await delay(5);
    } while (Date.now() < end);
    // The next thing told of the scope is what is really new.
    await writeFile(file, schema("us"));
    await until(() => scopeEvents().length > 1, "the change to be told");
    expect((await t.owner.call("config/list", { repo: "shop" })).result["deploy"]?.["keys"]).toBe("during the save");
    expect(scopeEvents()).toHaveLength(2);
  });
});
