import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { svcSchema } from "../../../shared/scopes/svc.ts";
import { untilHealth } from "../../helpers/broken-file.ts";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { saveByRename } from "../../helpers/shop.ts";

const repo = "shop";

const deploy = {
  type: "object",
  title: "Deploy",
  properties: {
    color: { type: "string", enum: ["red", "green"], default: "red", description: "The colour that is live." },
    "net.timeout": { type: "integer", default: 7 },
    secret: { $ref: "#/$defs/text", default: "" },
    size: { $ref: "#/$defs/pair", default: 1 },
  },
  required: ["secret"],
  $defs: { text: { type: "string" }, pair: { allOf: [{ $ref: "#/$defs/number" }] }, number: { type: "integer" } },
};

const startWithDeploy = () => startTestDaemon({ files: { "scopes/deploy.schema.json": deploy }, repositories: [repo] });
const fileOf = (t: TestDaemon, scope: string) => join(t.homeFolder, "scopes", `${scope}.schema.json`);
const put = (t: TestDaemon, scope: string, schema: unknown) =>
  saveByRename(fileOf(t, scope), typeof schema === "string" ? schema : JSON.stringify(schema));

async function scopeNames(t: TestDaemon): Promise<string[]> {
  return (await t.owner.call("scope/list")).result.map(({ scope }) => scope);
}
const untilScopes = (t: TestDaemon, ...names: string[]) =>
  until(async () => (await scopeNames(t)).join() === names.join(), `the scopes ${names.join()}`);
async function problemsOf(t: TestDaemon): Promise<readonly string[]> {
  return (await t.owner.call("daemon/status")).result.problems ?? [];
}

describe("a scope's file", () => {
  test("is picked up while the daemon runs: its fields are listed, set and checked like those of svc", async () => {
    await using t = await startTestDaemon({ repositories: [repo] });
    expect(await scopeNames(t)).toEqual(["svc"]);
    await t.owner.call("config/watch");
    await put(t, "deploy", `// how it is deployed\n${JSON.stringify(deploy)}`);
    await untilScopes(t, "svc", "deploy");
    expect((await t.owner.call("scope/list")).result).toEqual([
      { scope: "svc", schema: svcSchema },
      { scope: "deploy", schema: deploy },
    ]);
    await until(() => t.owner.events.length > 0, "the event of the scope");
    expect(t.owner.events).toEqual([["scope", "changed", { scope: "deploy" }]]);

    const list = await t.owner.call("config/list", { repo });
    expect(Object.keys(list.result)).toEqual(["svc", "deploy"]);
    expect(list.result["deploy"]).toEqual({ color: "red", "net.timeout": 7, secret: "", size: 1 });
    const set = { repo, "deploy.color": "green", "deploy.net.timeout": 8, "deploy.secret": 5, "svc.timeout": 5 };
    const { result, errors } = await t.owner.call("config/set", set);
    expect(errors).toMatchObject([{ code: 1103, field: "deploy.secret" }]);
    expect(result[0]?.config).toMatchObject({
      deploy: { color: { value: "green", description: "The colour that is live." }, "net.timeout": { value: 8 } },
      svc: { timeout: { value: 5 } },
    });
  });

  test("is checked by editors as by the daemon, although referenced parts are moved in the schema for editors", async () => {
    await using t = await startTestDaemon();
    const tree = { type: "object", additionalProperties: { $ref: "#/$defs/tree" } };
    const part = { $id: "part", $defs: { size: { type: "string" } }, $ref: "#/$defs/size" };
    const properties = {
      size: { $ref: "#/$defs/size", default: 1 },
      tree: { $ref: "#/$defs/tree", default: {} },
      like: { type: "object", default: { $ref: "#/$defs/size" } },
    };
    await put(t, "deploy", { type: "object", properties, $defs: { size: { type: "integer" }, tree, part } });
    await untilScopes(t, "svc", "deploy");
    const path = join(t.homeFolder, "repository.schema.json");
    await until(async () => (await readFile(path, "utf8")).includes("part"), "the schema for editors");
    const editors = JSON.parse(await readFile(path, "utf8"));
    expect(editors.properties.config.properties.deploy.properties.like.default).toEqual({ $ref: "#/$defs/size" });
    // An $id starts a resource of its own for the references in it, which not every editor supports.
    const place = "#/properties/config/properties/deploy/$defs/part";
    expect(editors.properties.config.properties.deploy.$defs.part).toEqual({
      $defs: part.$defs,
      $ref: `${place}/$defs/size`,
    });
    const check = new Ajv2020({ strict: false }).compile(editors);
    const isGood = (values: object) => check({ config: { deploy: values } });
    expect(isGood({ size: 2, tree: { a: { b: {} } } })).toBe(true);
    for (const wrong of [{ size: "x" }, { tree: { a: { b: 1 } } }]) expect(isGood(wrong)).toBe(false);
  });

  test("reduced to what a key may read has no other field, not even in required, and only the definitions that it refers to", async () => {
    await using t = await startWithDeploy();
    const { color, size } = deploy.properties;
    const tool = await t.connectWith([{ repos: "*", fields: ["deploy.color", "deploy.size"], right: "read" }]);
    const { pair, number } = deploy.$defs;
    const schema = { type: "object", title: "Deploy", properties: { color, size }, $defs: { pair, number } };
    expect((await tool.call("scope/list")).result).toEqual([{ scope: "deploy", schema }]);
  });

  test("sends its event to keys that may read something in the scope", async () => {
    await using t = await startTestDaemon();
    const reader = await t.connectWith([{ repos: "*", fields: ["deploy.color"], right: "read" }]);
    const other = await t.connectWith([{ repos: "*", fields: ["svc.*"], right: "write" }]);
    for (const client of [reader, other]) await client.call("config/watch");
    await put(t, "deploy", deploy);
    await until(() => reader.events.length > 0, "the event of the scope");
    await other.call("key/self");
    expect(reader.events).toEqual([["scope", "changed", { scope: "deploy" }]]);
    expect(other.events).toEqual([]);
  });

  test("may have thousands of fields, and a field's own dialect is ignored", async () => {
    await using t = await startTestDaemon({ repositories: [repo] });
    const names = Array.from({ length: 4_000 }, (_, index) => `field_${index}`);
    const old = { $schema: "http://json-schema.org/draft-07/schema#", type: "integer", default: 1 };
    const properties = Object.fromEntries(names.map(name => [name, old]));
    await put(t, "wide", { type: "object", title: "Wide", properties });
    await untilScopes(t, "svc", "wide");
    const { errors } = await t.owner.call("config/set", { repo, "wide.field_3999": "no number" });
    expect(errors).toMatchObject([{ code: 1103, field: "wide.field_3999" }]);
    await t.owner.call("config/set", { repo, "wide.field_3999": 2 });
    const { result } = await t.owner.call("config/list", { repo, scope: "wide", stored: true });
    expect(result).toEqual({ wide: { field_3999: 2 } });
  });

  test("is reported when it is removed and a repository's file still names it without a field, also after sets of other scopes", async () => {
    await using t = await startWithDeploy();
    // Each is flushed: a set and an unset before the file is written would leave nothing in it.
    await t.owner.call("config/set", { repo, "deploy.color": "green", flush: true });
    await t.owner.call("config/unset", { repo, fields: ["deploy.color"], flush: true });
    await rm(fileOf(t, "deploy"));
    await untilHealth(t, repo, health => health[0]?.code === 1011);
    await t.owner.call("config/set", { repo, "svc.timeout": 5, flush: true });
    expect((await t.owner.call("repo/list", {})).result).toMatchObject([{ health: [{ code: 1011, field: "deploy" }] }]);
  });
});

describe("an unusable scope file", () => {
  const withField = (field: unknown, name = "a") => ({ type: "object", properties: { [name]: field } });
  const text = (more: object = {}) => withField({ type: "string", default: "", ...more });
  const unusable: { readonly [title: string]: unknown } = {
    "invalid JSON": '{\n  "type": nonsense\n}',
    "an array": "[]",
    "no properties": { type: "object" },
    "an unknown dialect": { ...withField({ type: "string" }), $schema: "http://json-schema.org/draft-03/schema#" },
    "a default that its schema rejects": text({ default: 5 }),
    "a default that is not a key as x-keyOf requires": text({ default: "x", "x-keyOf": "a" }),
    "an invalid pattern": text({ pattern: "(" }),
    "a $ref to the web": withField({ $ref: "https://example.com/a.json", default: "" }),
    "a $ref to a schema that every validator knows": withField({ $ref: svcSchema.$schema, default: {} }),
    "more than 4,000,000 bytes": withField({ default: "", description: "d".repeat(4_000_000) }),
    "a field called __proto__": '{ "type": "object", "properties": { "__proto__": { "default": 1 } } }',
  };
  test("is reported with its path until it is fixed, and not used, whatever is wrong with it; other extensions are ignored", async () => {
    await using t = await startTestDaemon({
      files: { "scopes/notes.json": deploy, "scopes/deploy.schema.json~": "no JSON" },
    });
    const files: readonly (readonly [scope: string, title: string, schema: unknown])[] = [
      ...Object.entries(unusable).map(([title, schema], index) => [`broken${index}`, title, schema] as const),
      ["9broken", "an invalid scope name", text()],
      ["bro.ken", "a name with a dot", text()],
      ["svc", "the name of the built-in scope", text()],
    ];
    for (const [scope, , schema] of files) await put(t, scope, schema);
    await put(t, "usable", text());
    await until(async () => (await problemsOf(t)).length === files.length, "all reports");
    await untilScopes(t, "svc", "usable");
    const problems = await problemsOf(t);
    for (const [scope, title] of files) {
      expect(problems, title).toContainEqual(expect.stringContaining(fileOf(t, scope)));
      expect(t.log.join("")).toContain(`${scope}.schema.json`);
    }
    expect(problems).toContainEqual(expect.stringMatching(/broken0\.schema\.json, line 2, column 11: /));
    expect((await t.owner.call("scope/list")).result[0]?.schema).toEqual(svcSchema);
    await put(t, "broken0", deploy);
    await untilScopes(t, "svc", "usable", "broken0");
    expect(await problemsOf(t)).toHaveLength(files.length - 1);
  });
});
