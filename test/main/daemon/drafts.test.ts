import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { startTestDaemon, type TestClient, type TestDaemon, until } from "../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { homeFiles } from "../../helpers/home-files.ts";

const tokenSchema = {
  type: "object",
  properties: {
    token: { type: "string", default: "", "x-masked": true },
    hosts: {
      type: "array",
      default: [],
      items: { type: "object", properties: { password: { type: "string", "x-masked": true } } },
    },
    region: { type: "string", default: "" },
    login: { $ref: "#/$defs/login", default: {} },
  },
  $defs: {
    login: { type: "object", properties: { password: { $ref: "#/$defs/secret" } } },
    secret: { type: "string", "x-masked": true },
  },
};

const timeout = { repo: "shop", field: "svc.timeout", value: 60, base: 30 };
const domain = { repo: "shop", field: "svc.domain" };
const text = {
  repo: "shop",
  text: `{ "name": "shop", "config": { "svc": { "timeout": 61 } } }`,
  base: `{ "name": "shop" }`,
};

async function list(client: TestClient) {
  return (await client.call("draft/list")).result;
}

async function set(client: TestClient, args: { readonly [name: string]: unknown }) {
  const { result, errors } = await client.call("draft/set", args);
  expect(errors).toEqual([]);
  return result;
}

describe("draft/set and draft/list", () => {
  let t: TestDaemon;
  beforeAll(async () => {
    t = await startTestDaemon();
    for (const id of ["shop", "store"]) await t.addRepository(id);
  });
  afterAll(() => t[Symbol.asyncDispose]());

  test("keep each draft separately, in the order in which drafts were started", async () => {
    expect((await t.owner.call("draft/list")).result).toEqual([]);
    expect(await set(t.owner, { drafts: [timeout, domain] })).toEqual({ revision: 1, inMemory: [], behind: [] });
    const other = await t.connect();
    expect(await set(other, { drafts: [{ ...domain, repo: "store" }, text, { ...timeout, value: null }] })).toEqual({
      revision: 2,
      inMemory: [],
      behind: [],
    });
    const { result, revision } = await t.owner.call("draft/list");
    expect(result).toEqual([{ ...timeout, value: null }, domain, { ...domain, repo: "store" }, text]);
    expect(revision).toBe(2);
    await set(t.owner, { drafts: [timeout], removed: [domain, { repo: "shop" }, { repo: "shop", field: "svc.port" }] });
    expect(await list(other)).toEqual([timeout, { ...domain, repo: "store" }]);
    // What is kept already is no change.
    const again = { drafts: [timeout], removed: [{ repo: "shop" }] };
    expect(await set(t.owner, again)).toEqual({ revision: 3, inMemory: [], behind: [] });
  });

  test("stay as they are if the sender does not know their last change, and are named", async () => {
    await t.addRepository("late");
    const name = { repo: "late", field: "svc.timeout" };
    const { revision: known } = await set(t.owner, { drafts: [name] });
    const { revision } = await set(await t.connect(), { drafts: [{ ...name, value: 1, known }] });
    const mine = { ...name, value: 2 };
    // A revision that is yet to come is one of a daemon before this one.
    for (const one of [{ drafts: [{ ...mine, known }] }, { drafts: [{ ...mine, known: revision + 1 }] }])
      expect(await set(t.owner, one)).toEqual({ revision, inMemory: [], behind: [name] });
    const both = await set(t.owner, { drafts: [{ ...name, field: "svc.a", known }], removed: [{ ...name, known }] });
    expect(both).toMatchObject({ revision: revision + 1, behind: [name] });
    expect(await list(t.owner)).toContainEqual({ ...name, value: 1 });
    expect(await set(t.owner, { removed: [{ ...name, known: revision }] })).toMatchObject({ behind: [] });
    await set(t.owner, { removed: [{ ...name, field: "svc.a" }] });
  });

  test("are only for the owner and the owner's sessions (1105), and so is the event", async () => {
    const tool = await t.connectWith([{ repos: "*", fields: ["*"], right: "write" }]);
    const session = await t.connect((await t.owner.call("session/create", { label: "browser" })).result);
    await set(t.owner, { drafts: [timeout, { ...domain, repo: "store" }] });
    for (const client of [t.owner, session, tool]) await client.call("config/watch");
    const refused = { result: null, errors: [{ code: 1105 }] };
    expect(await tool.call("draft/list")).toMatchObject(refused);
    expect(await tool.call("draft/set", { drafts: [{ ...timeout, value: 7 }] })).toMatchObject(refused);
    const change = { drafts: [{ ...timeout, value: 8 }], removed: [{ ...domain, repo: "store" }] };
    const { revision } = await set(session, change);
    for (const client of [t.owner, session]) {
      await until(() => client.events.some(([resource]) => resource === "draft"), "the event");
      expect(client.events.filter(([resource]) => resource === "draft")).toEqual([
        ["draft", "changed", { revision, ...change }],
      ]);
    }
    // Everything sent before this reply has arrived.
    await tool.call("key/self");
    expect(tool.events).toEqual([]);
  });

  test("drop the drafts of a removed repository, and notify the owner", async () => {
    await t.addRepository("brief");
    await set(t.owner, { drafts: [timeout, text].map(draft => ({ ...draft, repo: "brief" })) });
    await t.owner.call("config/watch");
    await t.owner.call("repo/remove", { repo: "brief" });
    await until(
      () => t.owner.events.some(event => event[0] === "draft" && event[2].removed.some(({ repo }) => repo === "brief")),
      "the event",
    );
    expect((await list(t.owner)).filter(({ repo }) => repo === "brief")).toEqual([]);
    expect(await readFile(join(t.homeFolder, "drafts.json"), "utf8")).not.toContain("brief");
  });

  test("refuse an unknown repository (1102) and too many or large drafts (1107), and keep nothing of that message", async () => {
    const before = await list(t.owner);
    const unknown = await t.owner.call("draft/set", { drafts: [timeout, { ...timeout, repo: "none" }] });
    expect(unknown).toMatchObject({ result: null, errors: [{ code: 1102, repo: "none" }] });
    const many = Array.from({ length: limits.drafts }, (_, at) => ({ repo: "store", field: `svc.f${at}`, value: at }));
    const tooMany = await t.owner.call("draft/set", { drafts: [...many, { repo: "store", field: "svc.more" }] });
    expect(tooMany.errors).toMatchObject([{ code: 1107, message: expect.stringContaining("drafts") }]);
    const large = (at: number) => ({ repo: "store", field: `svc.f${at}`, value: "x".repeat(900_000) });
    for (let at = 0; at < 4; at++) await set(t.owner, { drafts: [large(at)] });
    const tooLarge = await t.owner.call("draft/set", { drafts: [large(4)] });
    expect(tooLarge.errors).toMatchObject([{ code: 1107, message: expect.stringContaining("bytes of drafts") }]);
    await set(t.owner, { removed: [0, 1, 2, 3].map(at => ({ repo: "store", field: `svc.f${at}` })) });
    expect(await list(t.owner)).toEqual(before);
  });
});

describe("drafts.json", () => {
  test("is accessible only to its owner and restores the drafts, except those of missing repositories", async () => {
    await using t = await startTestDaemon({ repositories: ["shop", "store"] });
    await set(t.owner, { drafts: [timeout, domain, text, { ...timeout, repo: "store" }] });
    const file = join(t.homeFolder, "drafts.json");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await t.restart();
    expect(await list(t.owner)).toEqual([timeout, domain, text, { ...timeout, repo: "store" }]);
    await writeFile(file, (await readFile(file, "utf8")).replace(`"store"`, `"moved"`));
    await t.restart();
    expect(await list(t.owner)).toEqual([timeout, domain, text]);
    expect(await readFile(file, "utf8")).not.toContain("moved");
  });

  test("is moved aside if it is not JSON, of an unexpected form, or an array", async () => {
    await using t = await startTestDaemon({ repositories: ["shop"] });
    const file = join(t.homeFolder, "drafts.json");
    for (const broken of ["{", `{ "drafts": [{ "repo": "shop" }] }`, "[]"]) {
      await set(t.owner, { drafts: [timeout] });
      await writeFile(file, broken);
      await t.restart();
      expect(await list(t.owner)).toEqual([]);
      expect(await readFile(`${file}.broken`, "utf8")).toBe(broken);
    }
    const finding = (await t.owner.call("daemon/status")).result.findings?.[0];
    expect(finding?.message).toContain("drafts.json is invalid");
    expect(finding?.kept).toBe(`${file}.broken`);
  });

  test("that cannot be written gives 1108 and changes nothing, and the next attempt saves the draft", async () => {
    const fileSystem = watchFileSystem();
    await using t = await startTestDaemon({ fileSystem, repositories: ["shop"] });
    await set(t.owner, { drafts: [domain] });
    fileSystem.before = ({ operation, path }) => {
      if (operation === "open" && path.includes("drafts.json")) throw systemError("ENOSPC");
    };
    const { errors } = await t.owner.call("draft/set", { drafts: [timeout] });
    expect(errors).toMatchObject([{ code: 1108, message: expect.stringContaining("full") }]);
    expect(await list(t.owner)).toEqual([domain]);
    fileSystem.before = () => {};
    await set(t.owner, { drafts: [timeout] });
    await t.restart();
    expect(await list(t.owner)).toEqual([domain, timeout]);
  });
});

describe("a masked value", () => {
  const hush = "hush-71c2";
  const masked = [
    { repo: "shop", field: "deploy.token", value: hush },
    { repo: "shop", field: "deploy.token", value: "", base: hush },
    { repo: "shop", field: "deploy.hosts", value: [{ password: hush }] },
    { repo: "shop", field: "deploy.login", value: { password: hush } },
    { repo: "shop", field: "gone.field", value: hush },
    { repo: "shop", text: `{ "config": { "deploy": { "token": "${hush}" } } }`, base: null },
    { repo: "shop", text: "{}", base: `{ "config": { "deploy": { "token": "${hush}" } } }` },
    { repo: "shop", text: `{ "config": { "gone": { "field": "${hush}" } } }`, base: null },
    { repo: "shop", text: `{ "config": ["${hush}"] }`, base: null },
    { repo: "shop", text: `{ "config": { "svc": "${hush}" } }`, base: null },
    { repo: "shop", text: `{ "config": { "svc": { "domain": "${hush}`, base: "{}" },
  ];

  const startWithScope = () =>
    startTestDaemon({ files: { "scopes/deploy.schema.json": tokenSchema }, repositories: ["shop"] });

  test("is never written to disk and is lost when the daemon stops", async () => {
    await using t = await startWithScope();
    for (const draft of masked) {
      const name = { repo: "shop", ...(draft.field !== undefined && { field: draft.field }) };
      expect(await set(t.owner, { drafts: [timeout, draft] })).toMatchObject({ inMemory: [name] });
      expect(await list(t.owner)).toEqual([timeout, { ...draft, inMemory: true }]);
      expect(JSON.stringify(await homeFiles(t.homeFolder))).not.toContain(hush);
      await t.restart();
      expect(await list(t.owner)).toEqual([timeout]);
    }
  });

  test("is removed from disk when an edit of its draft or a changed schema makes it masked, and stays so", async () => {
    await using t = await startWithScope();
    const file = join(t.homeFolder, "drafts.json");
    const region = { repo: "shop", field: "deploy.region", value: hush };
    await set(t.owner, { drafts: [text, region] });
    expect(await readFile(file, "utf8")).toContain(hush);
    await set(t.owner, { drafts: [{ ...text, text: `${text.text} and more` }] });
    expect(await readFile(file, "utf8")).not.toContain("timeout");
    const properties = { ...tokenSchema.properties, region: { type: "string", default: "", "x-masked": true } };
    const scope = join(t.homeFolder, "scopes/deploy.schema.json");
    await writeFile(scope, JSON.stringify({ type: "object", properties }));
    await until(async () => !(await readFile(file, "utf8")).includes(hush), "the value to leave the disk");
    expect(await list(t.owner)).toMatchObject([{ inMemory: true }, { ...region, inMemory: true }]);
    const plain = { type: "object", properties: { region: { type: "string", default: "now" } } };
    await writeFile(scope, JSON.stringify(plain));
    const known = async () => (await t.owner.call("scope/list")).result.find(one => one.scope === "deploy")?.schema;
    await until(async () => (await known())?.properties["region"]?.default === "now", "the schema");
    const late = { repo: "shop", field: "deploy.token", value: hush, masks: "{}" };
    await set(t.owner, { drafts: [timeout, late] });
    expect(await list(t.owner)).toMatchObject([{ inMemory: true }, { inMemory: true }, timeout, { inMemory: true }]);
    expect(await readFile(file, "utf8")).not.toContain(hush);
  });
});
