import { writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../shared/json.ts";
import { noRescans, startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { putDeploy, replaceDeploy } from "../../helpers/renamed-scope.ts";

type Fields = { readonly [field: string]: { readonly [keyword: string]: JsonValue } };

const text = { type: "string", default: "" } as const;
const variable = { ...text, "x-env": "TOOLS" } as const;

/** `shop` and `cellar`, in the home; only `shop` has a value of `deploy.tools`. */
async function startShops(properties: Fields): Promise<TestDaemon> {
  const t = await startTestDaemon({ ...noRescans, repositories: ["shop", "cellar"] });
  await replaceDeploy(t, properties);
  await t.owner.call("config/set", { repo: "shop", "deploy.tools": "/opt" });
  return t;
}

async function preview(t: TestDaemon, properties: Fields) {
  const args = { scope: "deploy", text: JSON.stringify({ type: "object", properties }) };
  const { result, errors } = await t.owner.call("trust/preview", args);
  expect(errors).toEqual([]);
  return result.map(({ field, value, stored, repos }) => [field, value, stored ? "stored" : "default", ...repos]);
}

describe("trust/preview", () => {
  test("lists what a scope would make a variable of: its default, and the stored values of all repositories, also old names", async () => {
    await using t = await startShops({ tools: text });
    expect(await preview(t, { tools: text, other: text })).toEqual([]);
    // null sets no variable, nor does a field without a default.
    const [none, unset] = [
      { "x-env": "NONE", default: null },
      { type: "string", "x-env": "UNSET" },
    ];
    expect(await preview(t, { tools: text, none, unset })).toEqual([]);
    expect(await preview(t, { tools: variable })).toEqual([
      ["deploy.tools", "", "default", "cellar"],
      ["deploy.tools", "/opt", "stored", "shop"],
    ]);
    expect(await preview(t, { path: { ...variable, "x-renamedFrom": "tools" } })).toEqual([
      ["deploy.path", "", "default", "cellar"],
      ["deploy.path", "/opt", "stored", "shop"],
    ]);
    // Nothing has changed.
    expect((await t.owner.call("config/list", { repo: "shop" })).result["deploy"]).toEqual({ tools: "/opt" });
  });

  test("lists nothing that is active in the same way already, but another effect, and a new default even if none uses it", async () => {
    await using t = await startShops({ tools: variable });
    expect(await preview(t, { tools: { ...variable, title: "Tools" } })).toEqual([]);
    expect(await preview(t, { tools: { ...variable, "x-env": "PATH" } })).toHaveLength(2);
    expect(await preview(t, { tools: { ...variable, "x-command": true } })).toHaveLength(2);
    await t.owner.call("config/set", { repo: "cellar", "deploy.tools": "/usr" });
    expect(await preview(t, { tools: { ...variable, default: "./bin" } })).toEqual([
      ["deploy.tools", "./bin", "default"],
    ]);
  });

  test("lists the values that files have for a scope or a field that was unknown, and none that the schema refuses", async () => {
    await using t = await startShops({ tools: text });
    await t.writeRepository("cellar", JSON.stringify({ name: "cellar", config: { deploy: { later: "./x" } } }));
    expect(await preview(t, { later: variable })).toContainEqual(["deploy.later", "./x", "stored", "cellar"]);
    expect(await preview(t, { later: { ...variable, maxLength: 2 } })).toEqual([
      ["deploy.later", "", "default", "cellar", "shop"],
    ]);
    // Local values need no trust, so they would be active at once.
    await t.owner.call("config/set", { repo: "shop", "deploy.tools": "/own", layer: "local" });
    expect(await preview(t, { tools: variable })).toContainEqual(["deploy.tools", "/own", "stored", "shop"]);
    // A broken file: its last valid values are active.
    await writeFile(t.daemon.home.repositories.concat("/shop.json"), "{");
    expect(await preview(t, { tools: variable })).toContainEqual(["deploy.tools", "/opt", "stored", "shop"]);
  });

  test("refuses a schema that cannot be used, with the reason", async () => {
    await using t = await startTestDaemon();
    await putDeploy(t.homeFolder, {});
    for (const [scope, schema, reason] of [
      ["svc", "{}", "built-in scope"],
      ["deploy", "{", "cannot be used"],
      ["deploy", '{ "type": "object", "properties": { "a": { "default": 1, "type": "string" } } }', "default"],
      ["../deploy", "{}", "not a valid scope name"],
    ] as const) {
      const { errors } = await t.owner.call("trust/preview", { scope, text: schema });
      expect(errors).toMatchObject([{ code: 1101, message: expect.stringContaining(reason) }]);
    }
  });
});
