import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Grants } from "../../../shared/grants.ts";
import type { SearchHit } from "../../../shared/protocol.ts";
import { breakFile } from "../../helpers/broken-file.ts";
import { startTestDaemon, type TestClient, type TestDaemon } from "../../helpers/daemon.ts";
import { TestClock } from "../../helpers/test-clock.ts";

const pluginSchema = {
  type: "object",
  properties: {
    colour: { title: "Paint", description: "What it looks like.", type: "string", default: "green" },
    token: { title: "Access", type: "string", "x-masked": true, default: "" },
    login: { $ref: "#/$defs/login", default: {} },
  },
  $defs: { login: { type: "object", properties: { password: { type: "string", "x-masked": true } } } },
};

/** Three repositories: `a` (name shop), `b` (name blog, broken), `c` (name attic, nothing stored). */
async function startSearched(): Promise<TestDaemon> {
  const t = await startTestDaemon({ files: { "scopes/plugin.schema.json": pluginSchema } });
  const path = join(t.homeFolder, "ann/src/shop");
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
    "plugin.login": { password: "innersecret" },
    "plugin.colour": "Crimson",
  });
  await t.owner.call("config/set", { repo: "b", "svc.timeout": 1234, "svc.provider": "elsewhere" });
  await breakFile(t, "b");
  return t;
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
    ["a plugin's field by its title", "paint", ["a plugin.colour", "b plugin.colour", "c plugin.colour"]],
    ["a field by its value", "1234", ["a svc.timeout", "b svc.timeout"]],
    ["a value whatever the case", "crimson", ["a plugin.colour"]],
    ["a default in effect", "green", ["b plugin.colour", "c plugin.colour"]],
    ["a text inside a value", "nginx", ["a svc.services"]],
    ["a path with backslashes, as a person types it", "c:\\work\\shop", ["a svc.application_path"]],
    ["a text with quotes, as a person types it", '"http://localhost"', ["a svc.services"]],
    ["a switch as the screen shows it", "shop proxy_https_redirect off", ["a svc.proxy_https_redirect"]],
    ["a number with its unit", "shop 1234 seconds", ["a svc.timeout"]],
    ["nothing for an unknown word", "nowhere", []],
    ["all words, in any order and anywhere in a field", "1234 timeout", ["a svc.timeout", "b svc.timeout"]],
    ["a field of one repository, by both their names", "shop refresh_hour", ["a svc.refresh_hour"]],
    ["the fields of a repository by scope", "attic plugin", ["c plugin.colour", "c plugin.token", "c plugin.login"]],
    ["every repository for an empty query", "", ["a", "b", "c"]],
    ["a repository first, then its fields", "shop", ["a", "a svc.application_path", "a svc.domain"]],
  ])("%s", async (_title, query, expected) => {
    expect(await places(query)).toEqual(expected);
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
    const svc = ["timeout", "domain", "application_path", "services", "envvars"].map(field => `a svc.${field}`);
    const plugin = ["token", "login", "colour"].map(field => `a plugin.${field}`);
    const stored = [...svc, ...plugin, "b svc.timeout", "b svc.provider"];
    expect((await places("@modified")).sort()).toEqual(stored.sort());
    expect(await places("@modified timeout")).toEqual(["a svc.timeout", "b svc.timeout"]);
    expect(await places("blog @Modified")).toEqual(["b"]);
    expect(await places("@modified refresh_hour")).toEqual([]);
  });

  test("@broken finds the repositories with a problem, and with words their fields", async () => {
    expect(await places("@broken")).toEqual(["b"]);
    expect(await places("@broken attic")).toEqual([]);
    expect(await places("timeout @BROKEN")).toEqual(["b svc.timeout"]);
    expect((await places("@broken @modified")).sort()).toEqual(["b svc.provider", "b svc.timeout"]);
  });

  test("a repository whose file was broken from the start is found by name, and has no values to find", async () => {
    await using daemon = await startTestDaemon({ files: { "repos/odd.json": "{ half" } });
    expect(await places("odd", daemon.owner)).toEqual(["odd"]);
    expect(await places("@broken", daemon.owner)).toEqual(["odd"]);
    expect(await places("timeout", daemon.owner)).toEqual([]);
  });
});

describe("the query language", () => {
  const quoted = (begin: string, text: string) => `${begin}"${text.replaceAll('"', '""')}"`;
  test.each<[title: string, query: string, expected: readonly string[]]>([
    ["a field by its full name", "field:svc.timeout", ["a svc.timeout", "b svc.timeout", "c svc.timeout"]],
    ["no field by part of a name with a dot", "field:svc.timeou", []],
    ["fields by part of their name", "field:refresh_h repo:a", ["a svc.refresh_hour"]],
    ["a value as JSON", "field:svc.timeout=1234", ["a svc.timeout", "b svc.timeout"]],
    ["a value as text, whatever the case", "field:colour=CRIMSON", ["a plugin.colour"]],
    ["a value by a pattern", "field:colour=crim*", ["a plugin.colour"]],
    ["an empty value", 'field:svc.provider="" repo:a', ["a svc.provider"]],
    ["a switch as it is shown", "field:svc.proxy_https=off repo:a", ["a svc.proxy_https"]],
    ["a number by its name", "field:svc.refresh_day=sunday repo:c", ["c svc.refresh_day"]],
    ["a number with its unit", 'field:svc.timeout="1234 seconds"', ["a svc.timeout", "b svc.timeout"]],
    [
      "an object, however its members are ordered",
      quoted("field:svc.services=", '{"web":{"image":"nginx:1.27","ready":"curl -f \\"http://localhost\\""}}'),
      ["a svc.services"],
    ],
    ["an object by a pattern of its JSON", 'field:svc.services={"web":{"image":"nginx:1.27",*', ["a svc.services"]],
    ["a place inside a value", "field:svc.services.web.image=nginx*", ["a svc.services"]],
    ["a place that is there, whatever its value", "field:svc.services.web.ready", ["a svc.services"]],
    ["no place that is not there", "field:svc.services.web.nope", []],
    ["no value at a place of a masked field", "field:svc.envvars[0].value=hunter2", []],
    ["all but a field's value", "field:svc.timeout -field:svc.timeout=1234", ["c svc.timeout"]],
    ["repositories by a pattern of name or id", "repo:*o*", ["a", "b"]],
    ["a repository by its full id", "repo:b", ["b"]],
    ["all repositories but some", "-repo:shop", ["b", "c"]],
    ["nothing that matches an excluded word, in repository or field", "timeout -shop -blog", ["c svc.timeout"]],
    ["only what matches no excluded word", "shop -domain -path", ["a"]],
    ["what is not broken", "-broken", ["a", "c"]],
    ["fields by a word of the repository and a field filter", "shop field:svc.timeout", ["a svc.timeout"]],
  ])("finds %s", async (_title, query, expected) => {
    expect(await places(query)).toEqual(expected);
  });

  test("refuses a query that cannot be parsed, with the place and a correction", async () => {
    const { result, errors } = await t.owner.call("config/search", { query: 'shop "half' });
    expect(result).toBeNull();
    expect(errors).toMatchObject([{ code: 1101, details: { at: 5, length: 5, instead: '"half"' } }]);
  });
});

describe("the last change of a field, by whom and when", () => {
  const clock = new TestClock({ timers: "run" });

  async function startChanged(): Promise<TestDaemon> {
    const daemon = await startTestDaemon({ clock, repositories: ["one", "two"] });
    const everything: Grants = [{ repos: "*", fields: ["*"], right: "write" }];
    const [ci, bot] = [await daemon.connectWith(everything, "ci"), await daemon.connectWith(everything, "release bot")];
    await ci.call("config/set", { repo: "one", "svc.timeout": 1, "svc.domain": "x" });
    clock.advance(3_600_000);
    await bot.call("config/set", { repo: ["one", "two"], "svc.timeout": 2 });
    clock.advance(3_600_000);
    await daemon.owner.call("config/set", { repo: "two", "svc.provider": "y" });
    return daemon;
  }

  test("is found by name and by time", async () => {
    await using daemon = await startChanged();
    const found = (query: string) => places(query, daemon.owner);
    expect(await found("by:ci")).toEqual(["one svc.domain"]);
    expect(await found('by:"release bot"')).toEqual(["one svc.timeout", "two svc.timeout"]);
    expect(await found("by:r*t repo:two")).toEqual(["two svc.timeout"]);
    expect(await found("by:OWNER")).toEqual(["two svc.provider"]);
    expect(await found("since:30m")).toEqual(["two svc.provider"]);
    expect(await found("since:90m")).toEqual(["one svc.timeout", "two svc.timeout", "two svc.provider"]);
    expect(await found("since:90m -since:30m")).toEqual(["one svc.timeout", "two svc.timeout"]);
    expect(await found("field:svc.timeout by:ci")).toEqual([]);
    expect(await found("modified -by:ci repo:one")).toEqual(["one svc.timeout"]);
    // A field that never changed was changed by nobody.
    expect(await found("field:svc.application -by:ci")).toEqual(["one svc.application", "two svc.application"]);
    const session = await daemon.owner.call("session/create", { label: "browser" });
    const window = await daemon.connect(session.result);
    await window.call("config/set", { repo: "two", "svc.domain": "z" });
    expect(await found("by:owner")).toEqual(["two svc.domain", "two svc.provider"]);
    expect(await found('by:"owner (browser)"')).toEqual(["two svc.domain"]);
  });

  test("is found by the names that the key may see, in fields that it may read", async () => {
    await using daemon = await startChanged();
    const tool = await daemon.connectWith([{ repos: "*", fields: ["svc.timeout"], right: "read" }]);
    for (const query of ["by:ci", "by:*bot*", "by:owner"]) expect(await places(query, tool)).toEqual([]);
    expect(await places('by:"another key"', tool)).toEqual(["one svc.timeout", "two svc.timeout"]);
    expect(await places("since:30m", tool)).toEqual([]);
  });

  test("is searched for in 1,000 repositories per page, which may be empty and still have a next", async () => {
    const files = Array.from({ length: 1_001 }, (_, index) => [`repos/r${1_000 + index}.json`, "{}"]);
    await using daemon = await startTestDaemon({ files: Object.fromEntries(files) });
    await daemon.owner.call("config/set", { repo: "r2000", "svc.timeout": 1 });
    const first = await daemon.owner.call("config/search", { query: "by:owner" });
    expect(first).toEqual({ result: [], next: "r1999", errors: [] });
    const second = await daemon.owner.call("config/search", { query: "by:owner", after: "r1999" });
    expect(second.result).toMatchObject([{ repo: "r2000", field: "timeout" }]);
    expect(second).not.toHaveProperty("next");
  });
});

describe("masked values", () => {
  test.each(["field:svc.envvars=*hunter2*", 'field:plugin.token="topsecret"', "field:plugin.token=*"])(
    "match no comparison: %s",
    async query => {
      expect(await places(query)).toEqual([]);
      // Nor does the negation reveal that they differ.
      expect(await places(`repo:a ${query.slice(0, query.indexOf("="))} -${query}`)).toHaveLength(1);
    },
  );

  test("are not searched, and not shown when the field is found by its name", async () => {
    for (const query of ["hunter2", "PASSWORD", "topsecret", "top", "innersecret"])
      expect(await places(query)).toEqual([]);
    for (const query of ["envvars", "plugin.token", "plugin.login", "@modified"]) {
      const text = JSON.stringify(await find(query));
      expect(text).toMatch(/envvars|token|login/);
      expect(text).not.toMatch(/hunter2|PASSWORD|topsecret|innersecret/);
    }
    expect(await find("plugin.token")).toContainEqual({ repo: "a", scope: "plugin", field: "token" });
  });
});

test("pages end between two repositories, continue after the last one, and together are complete", async () => {
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

test("pages of a limited key reveal no repository between those that it sees", async () => {
  const tool = await t.connectWith([{ repos: ["a", "c"], fields: ["svc.timeout"], right: "read" }]);
  const { result, next } = await tool.call("config/search", { query: "timeout", limit: 1 });
  expect(result.map(({ repo }) => repo)).toEqual(["a"]);
  expect(next).toBe("a");
  const last = await tool.call("config/search", { query: "timeout", limit: 1, after: "a" });
  expect(last.result.map(({ repo }) => repo)).toEqual(["c"]);
  expect(last).not.toHaveProperty("next");
});
