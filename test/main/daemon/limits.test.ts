import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { untilHealth } from "../../helpers/broken-file.ts";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { saveByRename } from "../../helpers/shop.ts";

/** The numbers of protocol page 10, repeated here because programs rely on them. */
const nesting = 32;
const messageBytes = 1_000_000;
const fieldsPerSet = 256;
const repositoriesPerSet = 1_000;
const valueBytes = 256 * 1024;
const fileBytes = 4 * 1024 * 1024;
const fileBytesOfKey = 3 * 1024 * 1024;

let t: TestDaemon;
let repo: string;
beforeAll(async () => {
  t = await startTestDaemon();
  repo = await t.addRepository();
});
afterAll(() => t[Symbol.asyncDispose]());

type Arguments = { readonly [name: string]: unknown };

/** An error that names the limit, in words and with its number. */
function beyond(words: RegExp, limit: number, more: object = {}): object {
  const message = expect.stringMatching(new RegExp(`(?=.*${words.source})(?=.*\\b${limit}\\b)`));
  return { code: 1107, name: "Limit Exceeded", message, ...more };
}

function ids(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `r${index}`);
}

function fields(count: number): Arguments {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`svc.f${index}`, 1]));
}

/** The arguments, with `name` padded until all of them are `bytes` bytes of JSON. */
function ofBytes(bytes: number, args: Arguments, name: string): Arguments {
  const length = bytes - Buffer.byteLength(JSON.stringify({ ...args, [name]: "" }));
  return { ...args, [name]: "x".repeat(length) };
}

/** Arguments nested `levels` deep, where the arguments themselves are the first level. */
function nested(levels: number): Arguments {
  let value: Arguments = {};
  for (let level = 2; level < levels; level++) value = { a: value };
  return { repo, field: "svc.timeout", deep: value };
}

describe("a set", () => {
  // The repositories and fields do not exist: 1007 shows that the check passed. The next larger sets are refused in promises/limits.
  test.each<[what: string, args: Arguments]>([
    ["256 fields", { repo: "r0", ...fields(256) }],
    ["1,000 repositories", { repo: ids(1_000), "svc.timeout": 1 }],
    ["one repository 1,001 times, which counts once", { repo: Array(1_001).fill("r0"), "svc.timeout": 1 }],
    ["10,000 repositories times fields", { repo: ids(100), ...fields(100) }],
    ["16 MB of repositories times bytes", ofBytes(160_000, { repo: ids(100) }, "svc.padding")],
    ["256 KiB in a value", { repo: "r0", "svc.padding": "x".repeat(valueBytes - 2) }],
  ])("may have %s", async (_, args) => {
    const { errors } = await t.owner.call("config/set", args);
    expect([...new Set(errors.map(error => error.code))]).toEqual([1007]);
  });

  test("beyond a limit sets nothing, also where repository and field exist, and an unset has the same limits", async () => {
    const refused = { result: [], errors: [beyond(/repositories/, repositoriesPerSet)] };
    const args = { repo: [repo, ...ids(1_000)], "svc.timeout": 1 };
    expect(await t.owner.call("config/set", args)).toMatchObject(refused);
    expect((await t.owner.call("config/list", { repo, stored: true })).result).toEqual({});
    const unset = { repo: args.repo, fields: ["svc.timeout"] };
    expect(await t.owner.call("config/unset", unset)).toMatchObject(refused);
    const reply = await t.owner.call("config/unset", { repo: "r0", fields: Object.keys(fields(257)) });
    expect(reply.errors).toMatchObject([beyond(/fields/, fieldsPerSet)]);
  });

  test("a value's bytes count as UTF-8, the error names the field, and a value at the limit is set", async () => {
    const id = await t.addRepository();
    // { "a": { "ready": "", "image": "" } } and then two bytes for each letter.
    const service = (letters: number) => ({ a: { ready: "é".repeat(letters), image: "" } });
    const letters = (valueBytes - JSON.stringify(service(0)).length) / 2;
    const tooMuch = await t.owner.call("config/set", { repo: id, "svc.services": service(Math.floor(letters) + 1) });
    expect(tooMuch.errors).toMatchObject([beyond(/bytes in a value/, valueBytes, { field: "svc.services" })]);
    const reply = await t.owner.call("config/set", { repo: id, "svc.services": service(Math.floor(letters)) });
    expect(reply.errors).toEqual([]);
  });
});

test("a message may be 1 MB and nested 32 levels, and no more, whatever the operation", async () => {
  const ofSize = (bytes: number) => ofBytes(bytes, { repo, field: "svc.timeout" }, "padding");
  for (const [within, above, problem] of [
    [ofSize(messageBytes), ofSize(messageBytes + 1), beyond(/bytes in a message/, messageBytes)],
    [nested(nesting), nested(nesting + 1), beyond(/nested/, nesting)],
  ] as const) {
    expect(await t.owner.call("config/list", within)).toMatchObject({ result: { svc: { timeout: 900 } }, errors: [] });
    expect(await t.owner.call("config/list", above)).toMatchObject({ result: {}, errors: [problem] });
  }
});

describe("a repository file", () => {
  /** A file of `bytes` bytes, most of them in a comment. */
  const fileOf = (bytes: number, timeout: number) => {
    const text = (comment: string) =>
      `{\n  // ${comment}\n  "name": "large", "config": { "svc": { "timeout": ${timeout} } }\n}\n`;
    return text("x".repeat(bytes - text("").length));
  };

  test.each([
    ["4 MiB", "the owner", fileBytes],
    ["3 MiB, unless it was larger before and nothing is added,", "a key", fileBytesOfKey],
  ])("may be %s after a set by %s, and no more, also as a dry run", async (_size, who, most) => {
    const id = await t.addRepository();
    await t.writeRepository(id, fileOf(most - 1, 1));
    await until(async () => (await timeoutOf(t, id)) === 1, "the edit by hand");
    const tool = await t.connectWith([{ repos: [id], fields: ["*"], right: "write" }]);
    const client = who === "a key" ? tool : t.owner;
    const set = (timeout: number, more = {}) =>
      client.call("config/set", { repo: id, "svc.timeout": timeout, ...more });
    expect((await set(22)).errors).toEqual([]);
    const before = await t.readRepository(id);
    expect(Buffer.byteLength(before)).toBe(most);
    const refused = { result: [], errors: [beyond(/repository.* file/, most, { repo: id })] };
    for (const dryRun of [true, false]) expect(await set(333, { dryRun })).toMatchObject(refused);
    expect(await timeoutOf(t, id)).toBe(22);
    expect(await t.readRepository(id)).toBe(before);
    if (who === "a key") {
      expect((await t.owner.call("config/set", { repo: id, "svc.timeout": 333 })).errors).toEqual([]);
      expect((await set(444)).errors).toEqual([]);
    }
    expect((await set(4)).errors).toEqual([]);
  });

  test("that a hand edit makes larger keeps its last valid values and is reported as broken", async () => {
    const id = await t.addRepository("too-large");
    await t.writeRepository(id, fileOf(fileBytes, 5));
    await until(async () => (await timeoutOf(t, id)) === 5, "the edit by hand");
    // Atomically, because a part of it would be a valid file.
    await saveByRename(t.repositoryFile(id), fileOf(fileBytes + 1, 6));
    await untilHealth(t, id, ([problem]) => problem?.code === 1106 && problem.message.includes(String(fileBytes)));
    expect(await timeoutOf(t, id)).toBe(5);
    expect((await t.owner.call("config/set", { repo: id, "svc.timeout": 7 })).errors).toMatchObject([{ code: 1106 }]);
  });
});
