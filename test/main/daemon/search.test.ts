import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Grants } from "../../../shared/grants.ts";
import type { SearchHit } from "../../../shared/protocol.ts";
import { breakFile } from "../../helpers/broken-file.ts";
import { startTestDaemon, type TestClient, type TestDaemon } from "../../helpers/daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const pluginSchema = {
  type: "object",
  properties: {
    colour: { title: "Paint", description: "What it looks like.", type: "string", default: "green" },
    token: { title: "Access", type: "string", "x-masked": true, default: "" },
  },
};

/** Three repositories: `a` (name shop), `b` (name blog, broken), `c` (name attic, nothing stored). */
async function startSearched(): Promise<TestDaemon> {
  const home = await temporaryFolder();
  await mkdir(join(home.path, "scopes"), { recursive: true });
  await writeFile(join(home.path, "scopes/plugin.schema.json"), JSON.stringify(pluginSchema));
  const t = await startTestDaemon({ home: home.path });
  const path = join(home.path, "ann/src/shop");
  await mkdir(path, { recursive: true });
  await t.owner.call("repo/add", { id: "a", name: "Shop", path });
  await t.owner.call("repo/add", { id: "b", name: "Blog" });
  await t.owner.call("repo/add", { id: "c", name: "Attic" });
  await t.owner.call("config/set", {
    repo: "a",
    "svc.timeout": 1234,
    "svc.domain": "shop.example",
    "svc.application_path": "C:\\Work\\Shop",
    "svc.services": { web: { ready: 'curl -f "http://localhost"', image: "nginx:1.27" } },
    "svc.envvars": [{ name: "PASSWORD", value: "hunter2" }],
    "plugin.token": "topsecret",
    "plugin.colour": "Crimson",
  });
  await t.owner.call("config/set", { repo: "b", "svc.timeout": 1234, "svc.provider": "elsewhere" });
  await breakFile(t, "b");
  const dispose = t[Symbol.asyncDispose];
  return Object.assign(t, {
    [Symbol.asyncDispose]: async () => {
      await dispose();
      await home[Symbol.asyncDispose]();
    },
  });
}

const t = await startSearched();
afterAll(() => t[Symbol.asyncDispose]());

async function find(query: string, client: TestClient = t.owner): Promise<readonly SearchHit[]> {
  const { result, errors, next } = await client.call("config/search", { query, limit: 1000 });
  expect(errors).toEqual([]);
  expect(next).toBeUndefined();
  return result;
}

/** Hits as `repo`, or `repo scope.field`. */
async function places(query: string, client: TestClient = t.owner): Promise<string[]> {
  const hits = await find(query, client);
  return hits.map(({ repo, scope, field }) => (field === undefined ? repo : `${repo} ${scope}.${field}`));
}

describe("config/search finds", () => {
  test.each<[title: string, query: string, expected: readonly string[]]>([
    ["a repository by its name, whatever the case", "ATTIC", ["c"]],
    ["a repository by part of its path", "ann/src", ["a"]],
    ["a field by its name", "refresh_hour", ["a svc.refresh_hour", "b svc.refresh_hour", "c svc.refresh_hour"]],
    ["a field by scope and name", "svc.refresh_d", ["a svc.refresh_day", "b svc.refresh_day", "c svc.refresh_day"]],
    ["a plugin's field by its title", "paint", ["a plugin.colour", "b plugin.colour", "c plugin.colour"]],
    ["a field by its value", "1234", ["a svc.timeout", "b svc.timeout"]],
    ["a value whatever the case", "crimson", ["a plugin.colour"]],
    ["a default that serves", "green", ["b plugin.colour", "c plugin.colour"]],
    ["a text inside a value", "nginx", ["a svc.services"]],
    ["a name inside a value", "web", ["a svc.services"]],
    ["a path with backslashes, as a person types it", "c:\\work\\shop", ["a svc.application_path"]],
    ["a text with quotes, as a person types it", '"http://localhost"', ["a svc.services"]],
    ["a switch as the screen shows it", "shop proxy_https_redirect off", ["a svc.proxy_https_redirect"]],
    ["a number by its name", "attic sunday", ["c svc.refresh_day"]],
    ["a number with what it counts", "shop 1234 seconds", ["a svc.timeout"]],
    ["nothing for what is nowhere", "nowhere", []],
    ["all words, in any order and anywhere in a field", "1234 timeout", ["a svc.timeout", "b svc.timeout"]],
    ["only what has every word", "timeout nowhere", []],
    ["a field of one repository, by both their names", "shop refresh_hour", ["a svc.refresh_hour"]],
    ["the fields of a repository by scope", "attic plugin", ["c plugin.colour", "c plugin.token"]],
    ["every repository for nothing", "", ["a", "b", "c"]],
    ["every repository for blanks", " \t ", ["a", "b", "c"]],
  ])("%s", async (_title, query, expected) => {
    expect(await places(query)).toEqual(expected);
  });

  test("a repository and its fields beside each other, the repository first", async () => {
    expect(await places("shop")).toEqual(["a", "a svc.application_path", "a svc.domain"]);
  });

  test("fields with their effective value", async () => {
    expect(await find("svc.timeout")).toEqual([
      { repo: "a", scope: "svc", field: "timeout", value: 1234 },
      { repo: "b", scope: "svc", field: "timeout", value: 1234 },
      { repo: "c", scope: "svc", field: "timeout", value: 900 },
    ]);
  });
});

describe("@modified and @broken", () => {
  test("@modified finds every stored field, and words narrow it", async () => {
    const stored = [
      "a svc.timeout",
      "a svc.domain",
      "a svc.application_path",
      "a svc.services",
      "a svc.envvars",
      "a plugin.token",
      "a plugin.colour",
      "b svc.timeout",
      "b svc.provider",
    ];
    expect((await places("@modified")).sort()).toEqual([...stored].sort());
    expect(await places("@modified timeout")).toEqual(["a svc.timeout", "b svc.timeout"]);
    expect(await places("blog @Modified")).toEqual(["b"]);
    expect(await places("@modified refresh_hour")).toEqual([]);
  });

  test("@broken finds the repositories with a problem, and words their fields", async () => {
    expect(await places("@broken")).toEqual(["b"]);
    expect(await places("@broken attic")).toEqual([]);
    expect(await places("timeout @BROKEN")).toEqual(["b svc.timeout"]);
    expect((await places("@broken @modified")).sort()).toEqual(["b svc.provider", "b svc.timeout"]);
  });

  test("a repository whose file was broken from the start is found by name, and has no values to find", async () => {
    await using home = await temporaryFolder();
    await mkdir(join(home.path, "repos"), { recursive: true });
    await writeFile(join(home.path, "repos/odd.json"), "{ half");
    await using daemon = await startTestDaemon({ home: home.path });
    expect(await places("odd", daemon.owner)).toEqual(["odd"]);
    expect(await places("@broken", daemon.owner)).toEqual(["odd"]);
    expect(await places("timeout", daemon.owner)).toEqual([]);
  });
});

describe("masked values", () => {
  test.each(["hunter2", "PASSWORD", "topsecret", "top"])("are not searched: %s", async query => {
    expect(await places(query)).toEqual([]);
  });

  test("are not told where the field is found by its name", async () => {
    for (const query of ["envvars", "plugin.token", "@modified"]) {
      const text = JSON.stringify(await find(query));
      expect(text).toContain(query === "envvars" ? "envvars" : "token");
      expect(text).not.toMatch(/hunter2|PASSWORD|topsecret/);
    }
    expect(await find("plugin.token")).toContainEqual({ repo: "a", scope: "plugin", field: "token" });
  });
});

describe("pages", () => {
  test("end between two repositories, go on after the last, and together are the whole", async () => {
    const whole = await find("svc");
    const pages: SearchHit[][] = [];
    let after: string | undefined;
    do {
      const reply = await t.owner.call("config/search", { query: "svc", limit: 1, ...(after && { after }) });
      pages.push([...reply.result]);
      after = reply.next;
    } while (after !== undefined);
    expect(pages.map(page => [...new Set(page.map(({ repo }) => repo))])).toEqual([["a"], ["b"], ["c"]]);
    expect(pages.flat()).toEqual(whole);
  });

  test("have a next only while there is more", async () => {
    const reply = await t.owner.call("config/search", { query: "svc", limit: 20, after: "b" });
    expect(reply.result.every(({ repo }) => repo === "c")).toBe(true);
    expect(reply).not.toHaveProperty("next");
    expect(await t.owner.call("config/search", { query: "", after: "zzz" })).toEqual({ result: [], errors: [] });
  });
});

describe("what a key may not read", () => {
  const read = (repos: "*" | string[], ...fields: string[]): Grants => [{ repos, fields, right: "read" }];

  test("is not found by a limited key, neither by name, nor by value, nor by title", async () => {
    const tool = await t.connectWith(read("*", "svc.timeout"));
    for (const query of [
      "domain",
      "shop.example",
      "nginx",
      "services",
      "plugin",
      "paint",
      "crimson",
      "envvars",
      "token",
    ])
      expect(await places(query, tool)).toEqual([]);
    expect(await places("svc", tool)).toEqual(["a svc.timeout", "b svc.timeout", "c svc.timeout"]);
    expect(await places("@modified", tool)).toEqual(["a svc.timeout", "b svc.timeout"]);
  });

  test("a repository in which it may read nothing is not there, by name or path or id", async () => {
    const tool = await t.connectWith(read(["c"], "*"));
    for (const query of ["shop", "blog", "ann", "@broken", "1234", "@modified"])
      expect(await places(query, tool)).toEqual([]);
    expect(await places("", tool)).toEqual(["c"]);
    expect(await places("", await t.connectWith([]))).toEqual([]);
  });

  test("a repository that is modified only where it may not read is not modified to it", async () => {
    const tool = await t.connectWith(read("*", "svc.refresh_hour"));
    expect(await places("@modified", tool)).toEqual([]);
    expect(await places("@modified shop", tool)).toEqual([]);
    expect(await places("shop", tool)).toEqual(["a"]);
  });

  test("a problem of a field that it may not read makes no repository broken to it", async () => {
    await using daemon = await startTestDaemon();
    await daemon.addRepository("x");
    const text = JSON.stringify({ name: "x", config: { svc: { timeout: "long", domain: "d" } } });
    await daemon.writeRepository("x", text);
    await expect.poll(() => places("@broken", daemon.owner)).toEqual(["x"]);
    const [blind, seeing] = [
      await daemon.connectWith(read("*", "svc.domain")),
      await daemon.connectWith(read("*", "svc.timeout")),
    ];
    expect(await places("@broken", blind)).toEqual([]);
    expect(await places("@broken", seeing)).toEqual(["x"]);
  });

  test("a limited key's hits are the owner's, less what it may not read, in every query", async () => {
    const grants: Grants = [
      { repos: ["a"], fields: ["svc.d*", "plugin.*"], right: "read" },
      { repos: ["b"], fields: ["svc.timeout"], right: "write" },
    ];
    const tool = await t.connectWith(grants);
    const may = ({ repo, scope, field }: SearchHit) =>
      (repo === "a" && (field === undefined || scope === "plugin" || field.startsWith("d"))) ||
      (repo === "b" && (field === undefined || field === "timeout"));
    for (const query of [
      "",
      "svc",
      "plugin",
      "1234",
      "shop",
      "e",
      "o",
      "default",
      "blog timeout",
      "@modified",
      "@broken",
    ])
      expect({ query, hits: await find(query, tool) }).toEqual({ query, hits: (await find(query)).filter(may) });
  });

  test("pages of a limited key tell of no repository between those that it sees", async () => {
    const tool = await t.connectWith(read(["a", "c"], "svc.timeout"));
    const { result, next } = await tool.call("config/search", { query: "timeout", limit: 1 });
    expect(result.map(({ repo }) => repo)).toEqual(["a"]);
    expect(next).toBe("a");
    const last = await tool.call("config/search", { query: "timeout", limit: 1, after: "a" });
    expect(last.result.map(({ repo }) => repo)).toEqual(["c"]);
    expect(last).not.toHaveProperty("next");
  });
});
