import { afterAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import type { ValueEdit } from "../../../shared/value-edit.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";

const open = { type: "object", properties: { any: { default: {} }, list: { type: "array", default: ["first"] } } };
const t = await startTestDaemon({ files: { "scopes/open.schema.json": open } });
afterAll(() => t[Symbol.asyncDispose]());

const web = { ready: "true", image: "node:24" };

async function withServices(): Promise<string> {
  const repo = await t.addRepository();
  await t.owner.call("config/set", { repo, "svc.services": { web } });
  return repo;
}

async function storedAt(repo: string, scope: string): Promise<unknown> {
  return (await t.owner.call("config/list", { repo, stored: true })).result[scope];
}

const edit = (repo: string | readonly string[], ...edits: readonly ValueEdit[]) =>
  t.owner.call("config/set", { repo, edits });

describe("config/set: changes inside values (docs/protocol.md, edits)", () => {
  test("changes a place inside a value, and the reply has the whole field; the same again makes no new revision", async () => {
    const repo = await withServices();
    const reply = await edit(repo, { field: "svc.services", path: "/web/image", op: "set", value: "node:25" });
    const services = { web: { ready: "true", image: "node:25" } };
    expect(reply).toMatchObject({
      result: [{ repo, revision: 3, config: { svc: { services: { value: services } } } }],
    });
    expect(await storedAt(repo, "svc")).toEqual({ services });
    const again = await edit(repo, { field: "svc.services", path: "/web/image", op: "set", value: "node:25" });
    expect(again).toMatchObject({ result: [{ revision: 3 }], errors: [] });
  });

  test("concurrent edits all count, however many there are", async () => {
    const repo = await t.addRepository();
    const names = Array.from({ length: 50 }, (_, index) => `a${index}.test`);
    const add = (name: string) => edit(repo, { field: "svc.proxy_aliases", op: "add", value: name });
    const replies = await Promise.all(names.map(add));
    expect(replies.flatMap(({ errors }) => errors)).toEqual([]);
    expect(await storedAt(repo, "svc")).toEqual({ proxy_aliases: names });
  });

  test("an edit of a field that stores nothing starts from its default", async () => {
    const repo = await t.addRepository();
    await edit(repo, { field: "open.list", op: "add", value: "second" });
    expect(await storedAt(repo, "open")).toEqual({ list: ["first", "second"] });
    await edit(repo, { field: "open.list", op: "remove", value: "first" });
    expect(await storedAt(repo, "open")).toEqual({ list: ["second"] });
  });

  test("several edits of one field build on each other, beside fields that are set and unset, in one revision", async () => {
    const repo = await withServices();
    await t.owner.call("config/set", { repo, "svc.domain": "d" });
    const reply = await t.owner.call("config/set", {
      repo,
      "svc.timeout": 5,
      unset: ["svc.domain"],
      edits: [
        { field: "svc.services", path: "/db", op: "set", value: web },
        { field: "svc.services", path: "/db/image", op: "set", value: "postgres:17" },
        { field: "svc.services", path: "/web", op: "unset" },
        { field: "svc.proxy_aliases", op: "add", value: "a.test" },
      ],
    });
    expect(reply).toMatchObject({ result: [{ revision: 4 }], errors: [] });
    const services = { db: { ready: "true", image: "postgres:17" } };
    expect(await storedAt(repo, "svc")).toEqual({ services, timeout: 5, proxy_aliases: ["a.test"] });
  });

  test("an edit that does not fit the value gives 1103 at its place, and the rest is set", async () => {
    const repo = await withServices();
    const reply = await edit(
      repo,
      { field: "svc.services", path: "/web/image/tag", op: "set", value: "25" },
      { field: "svc.proxy_aliases", op: "add", value: "a.test" },
    );
    expect(reply.errors).toEqual([
      {
        code: 1103,
        name: "Invalid Configuration Value",
        message: "svc.services.web.image is neither an object nor a list, so it contains nothing.",
        repo,
        field: "svc.services",
        details: { path: "/web/image", rule: "edits", given: "string" },
      },
    ]);
    expect(await storedAt(repo, "svc")).toEqual({ services: { web }, proxy_aliases: ["a.test"] });
  });

  test("in several repositories each edit starts from that repository's own value", async () => {
    const repos = [await withServices(), await t.addRepository()];
    const { result } = await edit(repos, { field: "svc.services", path: "/db", op: "set", value: web });
    expect(result.map(({ config }) => Object.keys(Object(config["svc"]?.["services"]?.value)))).toEqual([
      ["web", "db"],
      ["db"],
    ]);
  });

  test.each<readonly [string, readonly object[], number]>([
    ["a field that does not exist", [{ field: "svc.nope", op: "add", value: 1 }], 1007],
    ["a name without a dot", [{ field: "nope", op: "add", value: 1 }], 1008],
    ["no operation", [{ field: "svc.services", value: 1 }], 1101],
    ["no value", [{ field: "svc.services", op: "set" }], 1101],
    ["a value with an unset", [{ field: "svc.services", op: "unset", value: 1 }], 1101],
    ["a path that is not a JSON pointer", [{ field: "svc.services", path: "web", op: "unset" }], 1101],
    ["a wrong escape", [{ field: "svc.services", path: "/~2", op: "unset" }], 1101],
    ["too many edits", Array(limits.editsPerSet + 1).fill({ field: "svc.proxy_aliases", op: "add", value: "a" }), 1107],
  ])("%s is refused", async (_title, edits, code) => {
    const repo = await t.addRepository();
    const reply = await t.owner.emit("svc", "config", "set", { repo, edits });
    expect(reply).toMatchObject({ result: [], errors: [{ code }] });
  });

  test("a field cannot be set and edited at once", async () => {
    const repo = await t.addRepository();
    const edits = [{ field: "svc.timeout", op: "set", value: 5 }] as const;
    for (const beside of [{ "svc.timeout": 6 }, { unset: ["svc.timeout"] }])
      expect(await t.owner.call("config/set", { repo, ...beside, edits })).toMatchObject({ errors: [{ code: 1101 }] });
  });

  test("a key changes only what it may write", async () => {
    const repo = await withServices();
    const client = await t.connectWith([{ repos: [repo], fields: ["svc.proxy_*"], right: "write" }]);
    const add = (field: string) => client.call("config/set", { repo, edits: [{ field, op: "add", value: "a.test" }] });
    expect(await add("svc.proxy_aliases")).toMatchObject({ result: [{ revision: 3 }], errors: [] });
    expect(await add("svc.services")).toMatchObject({ result: [], errors: [{ code: 1007, field: "svc.services" }] });
  });

  test("a value can grow to the limits of a set value, and no further", async () => {
    const repo = await t.addRepository();
    const set = (path: string, value: JsonValue) => edit(repo, { field: "open.any", path, op: "set", value });
    const refused = { result: [], errors: [{ code: 1107, field: "open.any", repo }] };
    expect(await set("/a".repeat(200_000), 1)).toMatchObject(refused);
    const large = "x".repeat(limits.valueBytes - 10);
    await set("/a", large);
    expect(await set("/b", "12")).toMatchObject(refused);
    expect(await storedAt(repo, "open")).toEqual({ any: { a: large } });
  });

  test("a dry run returns what would be", async () => {
    const repo = await withServices();
    const edits = [{ field: "svc.services", path: "/web", op: "unset" }] as const;
    const reply = await t.owner.call("config/set", { repo, dryRun: true, edits });
    expect(reply).toMatchObject({ result: [{ revision: 3, config: { svc: { services: { value: {} } } } }] });
    expect(await storedAt(repo, "svc")).toEqual({ services: { web } });
  });
});
