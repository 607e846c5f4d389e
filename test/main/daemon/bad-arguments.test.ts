import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { argumentSchemas, grantsSchema } from "../../../main/daemon/socket/argument-schemas.ts";
import { settingsSchema } from "../../../main/home/settings.ts";
import type { OperationName } from "../../../shared/protocol.ts";
import { svcSchema } from "../../../shared/scopes/svc.ts";
import { startTestDaemon, type TestClient, type TestDaemon } from "../../helpers/daemon.ts";
import { names } from "../../helpers/every-operation.ts";
import { homeFiles } from "../../helpers/home-files.ts";
import { emptyResult, protocolCodes } from "../../helpers/protocol-table.ts";

let t: TestDaemon;
let client: TestClient;
let neighbour: TestClient;
let before: Record<string, string>;
let stops = 0;
const repo = "repository-1";

beforeAll(async () => {
  t = await startTestDaemon({ onStop: () => void stops++ });
  await t.addRepository(repo);
  client = t.owner;
  neighbour = await t.connect();
  before = await homeFiles(t.homeFolder);
});
afterAll(() => t[Symbol.asyncDispose]());

/** What must hold after each bad message. */
async function expectNothingHappened(): Promise<void> {
  expect([await homeFiles(t.homeFolder), stops]).toEqual([before, 0]);
  expect(client.socket.connected).toBe(true);
  expect((await client.call("config/list", { repo, field: "svc.timeout" })).result).toEqual({ svc: { timeout: 900 } });
  expect((await neighbour.call("config/list", { repo, field: "svc.timeout" })).errors).toEqual([]);
}

function failure(name: OperationName, code: number, more: object = {}): object {
  const error = { code, name: protocolCodes[code], message: expect.stringMatching(/\S/), ...more };
  return { result: emptyResult(name), errors: [expect.objectContaining(error)] };
}

/** In place of the arguments: what is not an object, or contains binary data. */
const noArguments: readonly unknown[] = [
  ...[[{ repo }], [], repo, "", 7, true, false],
  Buffer.from("{}"),
  { repo: Buffer.from(repo) },
  { repo, other: [{ deep: new Uint8Array([1, 2]) }] },
  { repo, "svc.timeout": Buffer.from("7") },
];

const notText = [7, true, ["a"], { a: "b" }];
const notBoolean = [0, 1, "true", "", [], {}];
const notRepositories = [7, true, {}, { id: repo }, [7], [null], [repo, null], [[repo]]];
const notRevision = ["1", "", 1.5, -1, true, [1], { [repo]: "1" }, { [repo]: -1 }, { [repo]: 1.5 }, { [repo]: null }];
const notLimit = [0, -1, 1001, 1.5, "10", true, []];
const tooLong = "x".repeat(1001);
const notPath = [...notText, "relative", "./x", "/nul\0", "/half\ud800", `/${"x".repeat(4_096)}`];
const notFields = ["svc.timeout", 7, true, {}, [7], [null], [["svc.timeout"]]];
/** Of each operation that changes values. */
const notOptions = {
  revision: [...notRevision, { [repo]: 1 }],
  atomic: notBoolean,
  dryRun: notBoolean,
  reason: [...notText, tooLong],
  // Also a good path, beside `repo`.
  path: [...notPath, "/"],
};

/** Invalid values of each argument, sent with otherwise valid arguments. null counts as omitted where that is allowed. */
const wrongTypes: { [Name in OperationName]: [good: object, wrong: { [argument: string]: readonly unknown[] }] } = {
  "config/list": [
    { repo },
    {
      repo: notText,
      scope: notText,
      field: notText,
      stored: notBoolean,
      path: [...notPath, "/"],
      revision: ["1", 1.5, -1, true, [], {}],
    },
  ],
  "config/set": [
    { repo, "svc.timeout": 7 },
    { repo: notRepositories, unset: notFields, ...notOptions },
  ],
  "config/unset": [
    { repo, fields: ["svc.timeout"] },
    { repo: notRepositories, fields: notFields, ...notOptions },
  ],
  "config/explain": [
    { repo, field: "svc.timeout" },
    { repo: notText, field: notText, path: [...notPath, "/"], inside: [...notText, "x", "/~2"] },
  ],
  "config/hook": [
    { path: "/", shell: "zsh" },
    { path: [...notPath, null, ""], shell: [...notText, "sh"] },
  ],
  "config/watch": [{ repo }, { repo: notRepositories, since: [...notRevision, { [repo]: 1 }], progress: notBoolean }],
  "config/unwatch": [{}, { repo: notRepositories }],
  "history/list": [
    { repo },
    { repo: notText, field: notText, path: [...notPath, "/"], limit: notLimit, after: [...notText, "x", "-1", "1.5"] },
  ],
  "history/search": [
    { query: "x" },
    { query: [...notText, null, "x".repeat(1001), '"x'], limit: notLimit, after: [...notText, "x", "-1", "AAAA"] },
  ],
  "history/restore": [
    { repo, to: 1 },
    {
      repo: notText,
      to: ["1", null, 1.5, -1, true, [], {}],
      undo: [1, "1", [], [0], ["1"], [1.5], {}, [1]],
      fields: notFields,
      ...notOptions,
    },
  ],
  "history/forget": [
    { repo, field: "svc.timeout" },
    { repo: notText, field: notText },
  ],
  "scope/list": [{}, {}],
  "repo/find": [{}, { path: [...notPath, null, ""] }],
  "repo/list": [{}, { path: notPath, limit: notLimit, after: notText }],
  "repo/add": [
    { name: "added" },
    {
      name: [...notText, null, "", "x".repeat(201)],
      path: [...notText, "relative", "../up", "/nul\0", "/no/such/folder"],
      id: [
        ...[...notText, "..", "../a", "a/b", "a\\b", ".a", "-a", "a b", "a.json", "a\0", "é", "x".repeat(65)],
        ...["con", "NUL", "__proto__"],
      ],
      inTree: [...notBoolean, true],
    },
  ],
  "repo/update": [
    { repo, name: "renamed" },
    {
      repo: notText,
      name: [...notText, "", null, "x".repeat(201)],
      path: [...notText, "relative", "/nul\0"],
      favourite: notBoolean,
    },
  ],
  "repo/remove": [{ repo }, { repo: notText }],
  "config/search": [{ query: "x" }, { query: [...notText, null, "x".repeat(1001)], limit: notLimit, after: notText }],
  "config/matrix": [{ query: "x" }, { query: [...notText, null, "x".repeat(1001), '"x'], after: notText }],
  "config/cells": [
    { repo, fields: ["svc.timeout"] },
    { repo: notRepositories, fields: notFields, after: notText },
  ],
  "repo/scan": [
    { path: "/not/there" },
    { path: [...notText, null, undefined, "", "relative", "~/src", "/nul\0", "/not/there", import.meta.filename] },
  ],
  "repo/look": [{ path: "/not/there" }, { path: [...notText, null, undefined, "", "relative", "~nobody", "/nul\0"] }],
  "file/read": [{ repo }, { repo: notText }],
  "file/write": [
    { repo, text: "{}", expected: "" },
    { repo: notText, text: [...notText, null, "\ud800"], expected: notText },
  ],
  "file/restore": [{ repo }, { repo: notText }],
  "trust/list": [{}, { repo: notText }],
  "trust/accept": [
    { repo, field: "svc.services", hash: "" },
    { repo: notText, field: notText, hash: [...notText, null, undefined] },
  ],
  "trust/preview": [
    { scope: "build", text: '{ "type": "object", "properties": {} }' },
    { scope: [...notText, null, undefined], text: [...notText, null, undefined, "", "{", "{}"] },
  ],
  "proposal/list": [{}, { repo: notText }],
  "proposal/accept": [
    { id: "0b1c2d", hash: "0" },
    { id: [...notText, null, undefined], hash: [...notText, null, undefined] },
  ],
  "proposal/remove": [{ id: "0b1c2d" }, { id: [...notText, null, undefined] }],
  "draft/list": [{}, {}],
  "draft/set": [
    {},
    {
      drafts: [
        {},
        "*",
        [null],
        [{ field: "svc.timeout" }],
        [{ repo, field: 7 }],
        [{ repo, field: "timeout" }],
        [{ repo, field: "x".repeat(194) }],
        [{ repo, field: "svc.timeout", other: 1 }],
        [{ repo, text: "{}" }],
        [{ repo, text: "{}", base: null, field: "svc.timeout" }],
        [{ repo, text: "{}", base: null, value: 7 }],
      ],
      removed: [{}, "*", [null], [{}], [{ repo: 7 }], [{ repo, field: 7 }], [{ repo, text: "{}" }]],
    },
  ],
  "session/create": [
    { label: "browser" },
    { label: [...notText, null, undefined, "", "A", "a)", "a\nb", "x".repeat(32)] },
  ],
  "session/link": [{}, { byAddress: notBoolean }],
  "session/touch": [{}, {}],
  "key/self": [{}, {}],
  "key/list": [{}, { limit: notLimit, after: notText }],
  "key/create": [
    { name: "made", grants: [] },
    {
      name: [...notText, null, "", "x".repeat(101), "owner", "Owner (browser)", "file", "this key", "Another key"],
      grants: [
        null,
        {},
        "*",
        [null],
        [{ repos: ["*"], fields: ["*"], right: "read" }],
        [{ repos: [7], fields: ["*"], right: "read" }],
        [{ repos: "*", fields: [], right: "read" }],
        [{ repos: "*", fields: ["svc.*.x"], right: "read" }],
        [{ repos: "*", fields: ["**"], right: "read" }],
        [{ repos: "*", fields: ["*.timeout"], right: "read" }],
        [{ repos: "*", fields: [""], right: "read" }],
        [{ repos: ["a*"], fields: ["*"], right: "read" }],
        [{ repos: "*", fields: ["*"], right: "read", more: true }],
      ],
      expires: [
        ...[...notText, "tomorrow", "2027", "2027-01-31", "2000-01-01T00:00:00Z", "9999-99-99T00:00:00Z"],
        // Without a time zone, and on a day that does not exist.
        ...["2999-01-31T12:00:00", "2999-02-31T12:00:00Z"],
      ],
    },
  ],
  "key/revoke": [{}, { id: [...notText, null, undefined] }],
  "daemon/status": [{}, {}],
  "daemon/dismiss": [{ id: "000000" }, { id: [...notText, null, undefined] }],
  "daemon/stop": [{}, {}],
};

test.each(names)("%s: arguments of the wrong type or form get 1101, and nothing happens", async name => {
  const [good, wrong] = wrongTypes[name];
  const bad = Object.entries(wrong).flatMap(([argument, values]) =>
    values.map(value => ({ ...good, [argument]: value })),
  );
  for (const args of [...noArguments, ...bad])
    expect(await client.emit("svc", ...name.split("/"), args), JSON.stringify(args)).toEqual(failure(name, 1101));
  await expectNothingHappened();
});

// The daemon skips this check at startup, as these schemas are part of the program (dispatch.ts).
const schemas = {
  "of the settings": settingsSchema,
  "of grants": grantsSchema,
  "of svc": svcSchema,
  ...argumentSchemas,
};

test.each(Object.entries(schemas))("the schema %s is a valid JSON Schema", (_name, schema) => {
  const ajv = new Ajv2020();
  expect(ajv.validateSchema(schema), ajv.errorsText()).toBe(true);
});
