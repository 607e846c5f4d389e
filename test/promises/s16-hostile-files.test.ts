import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { JsonTextError, parseJsonText } from "../../main/files/json-text.ts";
import { compileScope, Scopes } from "../../main/scopes/scopes.ts";
import { isConfig } from "../../main/store/mirror/repository-files.ts";
import { interpretConfig, type Locate } from "../../main/store/values/interpret.ts";
import type { JsonValue } from "../../shared/json.ts";
import { SpareSteps } from "../../shared/schema/step-budget.ts";
import { connectClient, startTestDaemon, type TestClient, until } from "../helpers/daemon.ts";
import { hostileFiles, hostileSchemas, hostileScopes, hostileValues, many } from "../helpers/hostile-files.ts";
import { amount, judge, torture } from "../helpers/promise.ts";
import { saveByRename } from "../helpers/shop.ts";
import { type SpawnedDaemon, spawnDaemon } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const bytes = amount(100_000, 1_000_000);
/** Also its text after the daemon's use: a set and an unset leave it unchanged. */
const otherText = `{ "name": "other", "config": { "svc": {} } }`;
/** The maximum time that the event loop may be blocked, in milliseconds. */
const bar = 100;
const mostProblems = 100;

function allScopes(): Scopes {
  const scopes = new Scopes();
  for (const [name, schema] of Object.entries(hostileScopes)) scopes.set(compileScope(name, schema));
  return scopes;
}

describe("S16: a hostile file or schema cannot freeze the daemon:", () => {
  const scopes = allScopes();

  test.each(hostileFiles(bytes))(
    "$title: at most 100 problems are reported, and their positions are searched for once",
    ({ text }) => {
      let searches = 0;
      let health: readonly unknown[] = [];
      try {
        const { value, locate } = parseJsonText(text);
        const { config } = value;
        if (!isConfig(config)) throw new Error("the test's file has no values");
        const locateOnce: Locate = paths => {
          searches += 1;
          expect(paths.length).toBeLessThanOrEqual(mostProblems);
          return locate(paths.map(path => ["config", ...path]));
        };
        ({ health } = interpretConfig(config, undefined, { scopes, isTrusted: () => true }, { locate: locateOnce }));
      } catch (error) {
        if (!(error instanceof JsonTextError)) throw error;
      }
      expect(health.length).toBeLessThanOrEqual(mostProblems + 1);
      expect(searches).toBe(health.length === 0 ? 0 : 1);
    },
  );

  test.each(hostileValues(bytes))(
    "$title: its check ends after a bounded number of steps",
    ({ scope, value, isEnded }) => {
      const spare = new SpareSteps();
      const before = spare.left;
      const problem = scopes.field(scope, "field")?.validate(value, spare);
      expect(problem?.rule === "steps").toBe(isEnded);
      expect(spare.left).toBeGreaterThanOrEqual(0);
      expect(spare.left).toBeLessThanOrEqual(before);
    },
  );

  test("the values of one file share a budget for their checks", () => {
    const spare = new SpareSteps();
    const every = hostileValues(bytes).find(({ scope }) => scope === "every");
    const field = scopes.field("every", "field");
    expect(field?.validate(every?.value ?? 1, spare)?.rule).toBe("steps");
    expect(spare.left).toBe(0);
    // The steps that a value's size justifies are always available.
    expect(field?.validate(2, spare)).toBeUndefined();
  });

  test("new values in a file share a budget for their checks, and values that were set have their own", () => {
    const config = { costly: { a: numbers, b: numbers } };
    const costly = new Scopes();
    costly.set(compileScope("costly", costlySchema));
    const rules = { scopes: costly, isTrusted: () => true };
    const { stored, health } = interpretConfig(config, undefined, rules);
    expect(stored).toEqual({ costly: { a: numbers } });
    expect(health).toMatchObject([
      { code: 1103, field: "costly.b", message: expect.stringContaining("too many steps") },
    ]);
    expect(interpretConfig(config, config, rules).health).toEqual([]);
    expect(interpretConfig(config, undefined, rules, { acknowledged: config }).health).toEqual([]);
  });

  test("values that were set are served after a restart, beside rejected values, and once their scope is back, however much all checks cost", async () => {
    await using t = await startCostly();
    for (const field of ["a", "b"]) await t.set(field);
    await t.restart();
    expect(await t.served()).toMatchObject({ a: numbers, b: numbers });
    expect(await t.health()).toEqual([]);
    await t.putSchema("{ a slip");
    await until(async () => (await t.health())?.length === 1, "the scope's end");
    await t.putSchema(JSON.stringify(costlySchema));
    await until(async () => (await t.health())?.length === 0, "the scope");
    expect(await t.served()).toMatchObject({ a: numbers, b: numbers });
    // Invalid values precede it and are as expensive to check.
    await t.edit({ a: [...numbers, 0.5], b: [...numbers, 0.5] });
    await until(async () => (await t.health())?.length === 2, "the edit");
    await t.set("c");
    await t.set("d", longName);
    expect(await t.served()).toMatchObject({ a: numbers, b: numbers, c: numbers, d: longName });
  });

  test("a value that took too long to check beside another one becomes active when it is set, and with no other set", async () => {
    await using t = await startCostly();
    await t.edit({ a: numbers, b: numbers });
    await until(async () => (await t.health())?.length === 1, "the edit");
    await t.owner.call("config/set", { repo: "shop", "svc.timeout": 1 });
    expect(await t.health()).toMatchObject([{ field: "costly.b" }]);
    const { result } = await t.owner.call("history/list", { repo: "shop", limit: 1 });
    expect(result[0]?.changes).toEqual({ svc: { timeout: expect.anything() } });
    await t.set("b");
    expect(await t.served()).toMatchObject({ a: numbers, b: numbers });
    expect(await t.health()).toEqual([]);
  });

  test("rejected values of one scope hide no problem of another, and values that wait for trust are reported in full", () => {
    const scope = (name: string, field: object) =>
      compileScope(name, {
        type: "object",
        properties: Object.fromEntries(many(150, index => [`f${index}`, field])),
      });
    const known = new Scopes();
    const command = { type: "string", default: "", "x-command": true };
    for (const name of ["first", "second"]) known.set(scope(name, { type: "integer", default: 1 }));
    known.set(scope("third", command));
    const values = (value: string) => Object.fromEntries(many(150, index => [`f${index}`, value]));
    const config = { first: values("x"), second: values("x"), third: values("x"), fourth: values("x") };
    const { health } = interpretConfig(config, undefined, { scopes: known, isTrusted: () => false });
    const count = (code: number, scopeName: string) =>
      health.filter(problem => problem.code === code && problem.field?.startsWith(`${scopeName}.`)).length;
    expect([count(1114, "third"), count(1103, "first"), count(1103, "second")]).toEqual([
      150,
      mostProblems,
      mostProblems,
    ]);
    expect(health.at(-1)?.message).toContain("101 more values");
  });

  test("a daemon keeps answering, and so does the next one on that home", async () => {
    await using home = await temporaryFolder();
    const files = torture
      ? hostileFiles(bytes)
      : hostileFiles(bytes).filter(({ title }) =>
          /^(unknown fields|.* always new .*|branches that all hold)$/.test(title),
        );
    await mkdir(join(home.path, "repos"), { recursive: true });
    await mkdir(join(home.path, "scopes"), { recursive: true });
    for (const [name, schema] of Object.entries(hostileScopes))
      await writeFile(join(home.path, "scopes", `${name}.schema.json`), JSON.stringify(schema));
    await writeFile(join(home.path, "repos/other.json"), otherText);
    const figures: Figure[] = [];
    // The first use takes longer with any file, because the daemon reads its own program.
    const own = torture ? await startAlone() : 0;
    // In the short form one daemon gets all files, one after the other, and the next one starts on the last of them.
    for (const group of torture ? files.map(file => [file]) : [files]) {
      for (const when of ["edited", "started"] as const) {
        const used = when === "edited" ? group : group.slice(-1);
        const put = (text: string) => saveByRename(join(home.path, "repos/shop.json"), text);
        if (when === "started") for (const { text } of used) await put(text);
        const use = async (client: TestClient) => {
          for (const { title, text } of used) {
            if (when === "edited") await put(text);
            await usesAll(client, "shop", text).catch(cause => {
              throw new Error(`${title}, ${when}`, { cause });
            });
          }
        };
        figures.push(...(await measured(home.path, group[0]?.title ?? "", when, own, use)));
      }
    }
    if (torture) report(figures, "files of 1 MB, edited and found at a start");
  });

  test("a daemon keeps answering while it reads the schema of a scope, and at the next start", async () => {
    await using home = await temporaryFolder();
    const schemas = torture ? hostileSchemas(bytes) : hostileSchemas(bytes / 10).slice(0, 1);
    await mkdir(join(home.path, "repos"), { recursive: true });
    await mkdir(join(home.path, "scopes"), { recursive: true });
    await writeFile(join(home.path, "repos/other.json"), otherText);
    const figures: Figure[] = [];
    const own = torture ? await startAlone() : 0;
    for (const { title, text } of schemas) {
      await rm(join(home.path, "scopes/hostile.schema.json"), { force: true });
      for (const when of ["edited", "started"] as const) {
        const use = async (client: TestClient) => {
          if (when === "edited") await saveByRename(join(home.path, "scopes/hostile.schema.json"), text);
          await until(async () => {
            const { result } = await client.call("scope/list");
            const { problems } = (await client.call("daemon/status")).result;
            return (
              result.some(one => one.scope === "hostile") || problems?.some(one => one.includes("hostile")) === true
            );
          }, `the scope to be read or refused: ${title}`);
          await usesAll(client, "other", otherText);
        };
        figures.push(...(await measured(home.path, title, when, own, use)));
      }
    }
    if (torture) report(figures, "schemas of 1 MB, edited and found at a start");
  });
});

interface Figure {
  readonly title: string;
  /** The longest time that the loop was blocked, in milliseconds of processor time and of clock time. */
  readonly longest: number;
  readonly byClock: number;
}

/**
 * Starts a daemon, uses it, and kills it. In full mode, returns how long its loop was blocked: during the start, minus `own`, if
 * the hostile file existed by then, and during the use.
 */
async function measured(
  home: string,
  title: string,
  when: "edited" | "started",
  own: number,
  use: (client: TestClient) => Promise<void>,
): Promise<readonly Figure[]> {
  await using daemon = await startMeasured(home);
  const client = await connectClient(daemon.url, daemon.ownerKey);
  const figures: Figure[] = [];
  if (torture && when === "started") {
    const started = await stoodStill(daemon);
    figures.push({ title: `${title}, the start itself`, ...started, longest: started.longest - own });
  }
  await usesAll(client, "other", otherText);
  if (torture) await stoodStill(daemon);
  await use(client);
  if (torture) figures.push({ title: `${title}, ${when}`, ...(await stoodStill(daemon)) });
  return figures;
}

function report(figures: readonly Figure[], what: string): void {
  const failed = figures.filter(({ longest }) => longest >= bar);
  const [worst] = figures.toSorted((one, other) => other.longest - one.longest);
  const note = `${what}; the event loop was blocked for at most ${worst?.longest} ms (${worst?.title})`;
  judge("S16", figures.length, failed, note);
}

/** How long the loop is blocked in a start with nothing to read. */
async function startAlone(): Promise<number> {
  await using home = await temporaryFolder();
  const figures: number[] = [];
  for (let round = 0; round < 3; round++) {
    await using daemon = await startMeasured(home.path);
    figures.push((await stoodStill(daemon)).longest);
  }
  return Math.min(...figures);
}

const rules = many(200, index => ({ type: "integer", minimum: -index }));
const costlyField = { type: "array", items: { allOf: rules }, default: [] };
const nameField = { type: "string", pattern: "^[a-z0-9.-]*$", default: "" };
const costlySchema = { type: "object", properties: { a: costlyField, b: costlyField, c: costlyField, d: nameField } };
/** Checking it costs more than half of what a request may use. */
const numbers = many(1_200, index => index);
/** Checking it costs more than its size justifies. */
const longName = "machine-1.example.com.".repeat(1_000);

/** A daemon with a repository and the scope whose values are expensive to check. */
async function startCostly() {
  const t = await startTestDaemon({ files: { "scopes/costly.schema.json": costlySchema } });
  const putSchema = (text: string) => writeFile(join(t.homeFolder, "scopes/costly.schema.json"), text);
  await t.addRepository("shop");
  return {
    ...t,
    get owner() {
      return t.owner;
    },
    putSchema,
    set: async (field: string, value: JsonValue = numbers) => {
      const { errors } = await t.owner.call("config/set", { repo: "shop", [`costly.${field}`]: value });
      expect(errors).toEqual([]);
    },
    edit: (costly: object) => t.writeRepository("shop", JSON.stringify({ name: "shop", config: { costly } })),
    served: async () => (await t.owner.call("config/list", { repo: "shop" })).result["costly"],
    health: async () => (await t.owner.call("repo/list")).result[0]?.health,
  };
}

/** Reads the file, sets and unsets a value, lists, and accepts a rejection if the file is broken. */
async function usesAll(client: TestClient, repo: string, text: string): Promise<void> {
  await until(async () => (await client.call("file/read", { repo })).result?.text === text, "the file as it is");
  await client.call("repo/list");
  await client.call("config/list", { repo });
  const { errors } = await client.call("config/set", { repo, "svc.timeout": 30, flush: true });
  if (errors.length > 0) expect(errors[0]?.code).toBe(1106);
  await client.call("config/unset", { repo, fields: ["svc.timeout"], flush: true });
  await client.call("config/list", { repo });
}

function startMeasured(home: string): Promise<SpawnedDaemon> {
  const measure = resolve(import.meta.dirname, "../helpers/stand-still-process.ts");
  return spawnDaemon(["--port", "0"], home, torture ? ["--import", measure] : []);
}

async function stoodStill(daemon: SpawnedDaemon): Promise<{ readonly longest: number; readonly byClock: number }> {
  const before = daemon.errorOutput().length;
  daemon.process.kill("SIGUSR2");
  const found = () => /stood still (\S+) (\S+)\n/.exec(daemon.errorOutput().slice(before));
  await until(() => found() !== null, "how long it stood still");
  const [, longest, byClock] = found() ?? [];
  return { longest: Number(longest), byClock: Number(byClock) };
}
