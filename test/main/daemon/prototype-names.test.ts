import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OperationName } from "../../../shared/protocol.ts";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { homeFiles } from "../../helpers/home-files.ts";
import { emptyResult, protocolCodes } from "../../helpers/protocol-table.ts";

let t: TestDaemon;
const repo = "repository-1";
beforeAll(async () => {
  t = await startTestDaemon();
  await t.addRepository(repo);
});
afterAll(() => t[Symbol.asyncDispose]());

const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];

/** Sends arguments given as JSON text, as JSON.parse creates a real `__proto__` member. They must have no effect. */
async function expectRefusal(operation: OperationName, text: string, code: number): Promise<void> {
  const before = await homeFiles(t.homeFolder);
  const members = Object.getOwnPropertyNames(Object.prototype).sort();
  expect(await t.owner.call(operation, JSON.parse(text)), text).toEqual({
    result: emptyResult(operation),
    errors: [expect.objectContaining({ code, name: protocolCodes[code], message: expect.stringMatching(/\S/) })],
  });
  expect(await homeFiles(t.homeFolder)).toEqual(before);
  // The daemon runs in this process, so a polluted prototype would show here.
  expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(members);
}

/** Beside the places in which S9 and the tests of list and set send such names. */
test.each<[OperationName, string, number]>([
  ["config/list", `{ "NAME": { "repo": "${repo}" } }`, 1006],
  ["config/set", `{ "repo": "${repo}", "NAME": { "svc.timeout": 7 } }`, 1008],
  ["config/set", `{ "repo": "${repo}", "svc.services": { "a": { "NAME": "", "ready": "", "image": "" } } }`, 1103],
  ["config/explain", `{ "repo": "${repo}", "field": "svc.NAME" }`, 1011],
  ["config/watch", `{ "repo": ["${repo}"], "since": { "NAME": 0 } }`, 1102],
  ["key/revoke", `{ "id": "NAME" }`, 1112],
  // Where any other name may be chosen.
  ["config/set", `{ "repo": "${repo}", "svc.services": { "__proto__": { "ready": "", "image": "" } } }`, 1103],
  ["key/create", `{ "name": "a", "grants": [{ "repos": ["__proto__"], "fields": ["*"], "right": "read" }] }`, 1101],
  ["key/create", `{ "name": "a", "grants": [{ "repos": "*", "fields": ["__proto__"], "right": "read" }] }`, 1101],
  [
    "key/create",
    `{ "name": "a", "grants": [{ "__proto__": { "repos": "*", "fields": ["*"], "right": "read" } }] }`,
    1101,
  ],
])("a name that JavaScript objects inherit is refused: %s %s gets %i", async (operation, text, code) => {
  for (const name of text.includes("NAME") ? names : [""])
    await expectRefusal(operation, text.replaceAll("NAME", name), code);
});

describe("inherited names that are valid", () => {
  test.each(["constructor", "toString", "valueOf"])("a repository called %s works like any other", async id => {
    expect(await t.addRepository(id)).toBe(id);
    const set = await t.owner.call("config/set", { repo: [id], revision: { [id]: 1 }, "svc.timeout": 7 });
    expect(set).toMatchObject({ result: [{ repo: id, revision: 2 }], errors: [] });
    const list = await t.owner.call("config/list", { repo: id, field: "svc.timeout" });
    expect(list).toMatchObject({ result: { svc: { timeout: 7 } }, errors: [] });
    const watching = await t.connect();
    const watch = await watching.call("config/watch", { repo: [id], since: { [id]: 2 } });
    expect(watch).toEqual({ result: { revisions: { [id]: 2 }, position: expect.any(String) }, errors: [] });
    await t.owner.call("config/unset", { repo: id, fields: ["svc.timeout"] });
    expect(await watching.nextChange()).toMatchObject({ repo: id, revision: 3 });
    expect((await t.owner.call("repo/list", { limit: 1000 })).result.map(entry => entry.id)).toContain(id);
  });

  test.each(["constructor", "toString"])(
    "a service called %s can be set, made the default, stored and read from the file",
    async name => {
      const id = await t.addRepository();
      const services = { [name]: { ready: "true", image: "x" } };
      const set = await t.owner.call("config/set", { repo: id, "svc.services": services, "svc.default": name });
      expect(set.errors).toEqual([]);
      expect(JSON.parse(await t.readRepository(id)).config.svc).toEqual({ services, default: name });
      expect((await t.owner.call("config/list", { repo: id, stored: true })).result).toEqual({
        svc: { services, default: name },
      });
    },
  );
});
