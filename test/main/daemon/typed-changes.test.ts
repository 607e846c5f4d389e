import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TypedChange } from "../../../shared/typed-changes.ts";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";

let t: TestDaemon;
beforeAll(async () => {
  t = await startTestDaemon({ repositories: ["shop"] });
});
afterAll(() => t[Symbol.asyncDispose]());

const list = (args: object) => t.owner.call("config/list", { repo: "shop", ...args });
const set = (typed: readonly TypedChange[], more = {}) =>
  t.owner.call("config/set", { repo: "shop", typed, schemas: true, ...more });

describe("schemas: true adds the schemas of the fields in the result", () => {
  test("to a list, as scope/list has them", async () => {
    const [svc] = (await t.owner.call("scope/list", {})).result;
    const schema = (field: string) => svc?.schema.properties[field];
    expect((await list({ field: "svc.timeout", schemas: true })).schemas).toEqual({ "svc.timeout": schema("timeout") });
    const all = await list({ schemas: true });
    expect(Object.keys(all.schemas ?? {})).toHaveLength(20);
    expect(all.schemas?.["svc.envvars"]).toEqual(schema("envvars"));
    expect(await list({})).not.toHaveProperty("schemas");
  });

  test("to a set, but only of fields that the key may read somewhere", async () => {
    const grants = [
      { repos: ["shop"], fields: ["svc.timeout", "svc.domain"], right: "write" as const },
      { repos: ["shop"], fields: ["svc.refresh_day"], right: "read" as const },
    ];
    const { key } = (await t.owner.call("key/create", { name: "tool", grants })).result;
    const tool = await t.connect(key);
    const args = { repo: "shop", typed: [{ place: "svc.timeout", op: "set" as const, text: "7" }], schemas: true };
    const reply = await tool.call("config/set", args);
    expect(reply).toMatchObject({ result: [{ config: { svc: { timeout: { value: 7 } } } }], errors: [] });
    expect(Object.keys(reply.schemas ?? {})).toEqual(["svc.timeout"]);
    const listed = await tool.call("config/list", { repo: "shop", schemas: true });
    expect(Object.keys(listed.schemas ?? {}).sort()).toEqual(["svc.domain", "svc.refresh_day", "svc.timeout"]);
    // What it may not read has no schema for it, so a place inside it is unknown.
    const place = { place: "svc.envvars.PORT", op: "set" as const, text: "1" };
    const hidden = await tool.call("config/set", { repo: "shop", typed: [place] });
    expect(hidden).toMatchObject({ result: [], errors: [{ code: 1011, field: "svc.envvars" }] });
  });
});

describe("typed changes are read by the schemas", () => {
  test("as values, edits and unset fields, of which the reply tells", async () => {
    const reply = await set([
      { place: "svc.timeout", op: "set", text: "30" },
      { place: "svc.domain", op: "set", text: "30" },
      { place: "svc.refresh_day", op: "unset" },
      { place: "svc.envvars.PORT", op: "set", text: "8080" },
      { place: "svc.proxy_aliases", op: "add", text: "www.shop.test" },
      { place: "svc.proxy_aliases", op: "remove", text: "old.shop.test" },
    ]);
    expect(reply.errors).toEqual([]);
    expect(reply.typed).toEqual([
      { field: "svc.timeout", op: "set", value: 30 },
      { field: "svc.domain", op: "set", value: "30" },
      { field: "svc.refresh_day", op: "unset", absent: true },
      { field: "svc.envvars", path: "/PORT/value", op: "set", value: "8080" },
      { field: "svc.proxy_aliases", path: "", op: "add", value: "www.shop.test" },
      { field: "svc.proxy_aliases", path: "", op: "remove", value: "old.shop.test", absent: true },
    ]);
    expect((await list({ stored: true })).result).toEqual({
      svc: {
        timeout: 30,
        domain: "30",
        envvars: [{ name: "PORT", value: "8080" }],
        proxy_aliases: ["www.shop.test"],
      },
    });
  });

  test("with json as JSON", async () => {
    await set([{ place: "svc.proxy_aliases", op: "set", text: `["a.test"]`, json: true }]);
    expect((await list({ field: "svc.proxy_aliases" })).result).toEqual({ svc: { proxy_aliases: ["a.test"] } });
  });

  test("a set of which all is unset has this source", async () => {
    await set([{ place: "svc.timeout", op: "set", text: "31" }]);
    await set([{ place: "svc.timeout", op: "unset" }]);
    const { result } = await t.owner.call("history/list", { repo: "shop", limit: 2 });
    expect(result.map(({ source }) => source)).toEqual(["unset", "set"]);
  });

  test.each<[code: number, typed: TypedChange[], more?: object]>([
    [1101, [{ place: "svc.services", op: "set", text: "{" }]],
    [1101, [{ place: "svc.timeout", op: "set", text: "9007199254740993" }]],
    [1101, [{ place: "svc.timeout", op: "set" }]],
    [1101, [{ place: "svc.timeout", op: "unset", text: "1" }]],
    [1101, [{ place: "", op: "unset" }]],
    [1101, [{ place: "svc.services[", op: "set", text: "1" }]],
    [1101, [{ place: "svc.timeout", op: "set", text: "1" }], { "svc.timeout": 2 }],
    [1101, [{ place: "svc.timeout", op: "unset" }], { unset: ["svc.timeout"] }],
    [
      1101,
      [
        { place: "svc.timeout", op: "set", text: "1" },
        { place: "svc.timeout", op: "set", text: "2" },
      ],
    ],
    [
      1101,
      [
        { place: "svc.services", op: "set", text: "{}" },
        { place: "svc.services.web.image", op: "set", text: "a" },
      ],
    ],
    [1011, [{ place: "svc.nothing.inside", op: "set", text: "1" }]],
    [1007, [{ place: "svc.nothing", op: "set", text: "1" }]],
    [1107, Array.from({ length: 257 }, (_, at) => ({ place: `svc.envvars.N${at}`, op: "set" as const, text: "" }))],
    [1107, Array.from({ length: 33 }, (_, at) => ({ place: `svc.envvars.N${at}`, op: "set" as const, text: "" }))],
    [1008, []],
  ])("%d refuses %j, and nothing is set", async (code, typed, more) => {
    const before = await list({ stored: true });
    expect(await set(typed, more)).toMatchObject({ result: [], errors: [{ code }] });
    expect(await list({ stored: true })).toEqual(before);
  });
});
