import { readdir } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { argumentSchemas } from "../../../main/daemon/socket/argument-schemas.ts";
import type { OperationName } from "../../../shared/protocol.ts";
import { svcSchema } from "../../../shared/scopes/svc.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { operationNames, protocolCodes } from "../../helpers/protocol-table.ts";

const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000_000);
const runs = 1_000;

const fieldNames = Object.keys(svcSchema.properties).map(name => `svc.${name}`);
const strangeTexts = [
  "",
  "__proto__",
  "constructor",
  ".",
  "..",
  "svc.",
  ".timeout",
  "svc.timeout.x",
  "\0",
  "\ud800",
  "*",
];
const strangeText = fc.constantFrom(...strangeTexts);
const text = fc.oneof(strangeText, fc.string({ unit: "binary", maxLength: 20 }));
const json = fc.jsonValue({ maxDepth: 4, depthSize: "small" });
const id = fc.oneof({ weight: 5, arbitrary: fc.constantFrom("one", "two", "three") }, text);
const fieldName = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...fieldNames) }, text);
const count = fc.oneof(fc.nat(5), fc.constantFrom(-1, 0.5, 1000, 1001, 2 ** 53, 1e300));
const service = fc.record({ ready: text, image: text }, { requiredKeys: [] });
const value = fc.oneof(
  fc.boolean(),
  count,
  text,
  fc.dictionary(fc.oneof(text, fc.constantFrom("a", "b")), service, { maxKeys: 3 }),
  fc.array(fc.record({ name: fc.oneof(text, fc.constantFrom("A", "B")), value: text }), { maxLength: 3 }),
  fc.array(text, { maxLength: 3 }),
  json,
);
const anyField = fc.tuple(fieldName, value);
const goodField = fc.oneof(
  fc.tuple(fc.constant("svc.timeout"), fc.nat(86_400)),
  fc.tuple(fc.constantFrom("svc.proxy_http", "svc.refresh_anchors"), fc.boolean()),
  fc.tuple(fc.constantFrom("svc.provider", "svc.proxy_url"), text),
  fc.tuple(fc.constantFrom("svc.default", "svc.application"), fc.constantFrom("", "a", "b")),
  fc.tuple(
    fc.constant("svc.services"),
    fc.dictionary(fc.constantFrom("a", "b", "__proto__"), fc.record({ ready: text, image: text })),
  ),
);
const grant = fc.record(
  {
    repos: fc.oneof(fc.constant("*"), fc.array(id, { maxLength: 2 })),
    fields: fc.array(fc.oneof(fieldName, fc.constantFrom("*", "svc.*", "svc.proxy_*")), { maxLength: 2 }),
    right: fc.constantFrom("read", "write", "owner"),
  },
  { requiredKeys: ["repos", "fields"] },
);

type Member = {
  [Name in OperationName]: keyof (typeof argumentSchemas)[Name]["properties"];
}[OperationName];

/** Plausible values of each argument, by name; a name means much the same in every operation. */
const members: { readonly [name in Member]: fc.Arbitrary<unknown> } = {
  repo: fc.oneof({ weight: 4, arbitrary: id }, fc.array(id, { maxLength: 3 })),
  scope: fc.oneof(fc.constant("svc"), text),
  field: fieldName,
  fields: fc.array(fieldName, { maxLength: 4 }),
  stored: fc.boolean(),
  revision: fc.oneof(count, fc.dictionary(id, count, { maxKeys: 2 })),
  to: count,
  since: fc.oneof(count, fc.dictionary(id, count, { maxKeys: 2 })),
  position: text,
  progress: fc.boolean(),
  unset: fc.array(fieldName, { maxLength: 2 }),
  edits: fc.array(
    fc.record({ field: fieldName, op: fc.constantFrom("set", "unset", "add", "remove"), path: text, value: json }),
    { maxLength: 2 },
  ),
  flush: fc.boolean(),
  atomic: fc.boolean(),
  dryRun: fc.boolean(),
  reason: text,
  name: fc.oneof(fc.constantFrom("a tool", "a repository"), text),
  // Never an existing folder and never in-tree: not even a failing test may write outside the home.
  path: fc.oneof(fc.constantFrom("/not/there", "relative", "/not/../there"), strangeText),
  inTree: fc.constant(false),
  id,
  limit: count,
  after: text,
  query: text,
  batch: text,
  text,
  expected: text,
  drafts: fc.array(
    fc.oneof(fc.record({ repo: id, field: fieldName, value: json }), fc.record({ repo: id, text, base: text })),
    { maxLength: 3 },
  ),
  removed: fc.array(fc.record({ repo: id, field: fieldName }, { requiredKeys: ["repo"] }), { maxLength: 3 }),
  label: text,
  hash: text,
  byAddress: fc.boolean(),
  grants: fc.array(grant, { maxLength: 2 }),
  expires: fc.oneof(fc.constantFrom("2999-01-01T00:00:00Z", "2000-01-01T00:00:00Z", "tomorrow"), text),
};

/** Occasionally replaces a value with a bad one, so that most requests have only one thing wrong. */
function mostly(arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 30, arbitrary },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: json },
  );
}

function nearlyRight(operation: OperationName): fc.Arbitrary<object> {
  const { properties, required = [] }: { readonly properties: object; readonly required?: readonly string[] } =
    argumentSchemas[operation];
  const names = Object.keys(properties) as Member[];
  return fc
    .record({
      args: fc.record(Object.fromEntries(names.map(name => [name, mostly(members[name])])), {
        requiredKeys: names.filter(name => name === "repo" || required.includes(name)),
      }),
      fields: operation === "config/set" ? fc.array(fc.oneof(goodField, anyField), { maxLength: 4 }) : fc.constant([]),
      more: fc.oneof({ weight: 9, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(anyField) }),
    })
    .map(({ args, fields, more }) => ({ ...args, ...Object.fromEntries([...fields, ...more]) }));
}

const message = fc.constantFrom(...operationNames.filter(name => name !== "daemon/stop")).chain(operation =>
  fc.record({
    operation: fc.constant(operation),
    args: fc.oneof({ weight: 9, arbitrary: nearlyRight(operation) }, { weight: 1, arbitrary: json }),
    callback: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  }),
);

const codes = Object.keys(protocolCodes).map(Number);
const expectOnlyMembers = (allowed: readonly string[], value: object) =>
  expect(Object.keys(value).filter(name => !allowed.includes(name))).toEqual([]);

function expectWellFormed(reply: unknown): void {
  expect(reply).toMatchObject({ result: expect.toSatisfy(() => true), errors: expect.any(Array) });
  const { errors, ...rest } = reply as { errors: Record<string, unknown>[] };
  expectOnlyMembers(["result", "revision", "next"], rest);
  for (const error of errors) {
    expectOnlyMembers(["code", "name", "message", "repo", "field", "details"], error);
    const { code, name, message, repo = "", field = "", details = {} } = error;
    expect(codes).toContain(code);
    expect(code, "an argument is never a reason to fail unexpectedly").not.toBe(1500);
    expect(name).toBe(protocolCodes[Number(code)]);
    expect(message).toEqual(expect.stringMatching(/\S/));
    expect([typeof repo, typeof field, typeof details]).toEqual(["string", "string", "object"]);
  }
}

test(`for any arguments, the reply is well-formed and no other client is affected (SEED=${seed})`, async () => {
  await using t = await startTestDaemon();
  await t.addRepository("one");
  await t.addRepository("neighbours");
  const neighbour = await t.connectWith([{ repos: ["neighbours"], fields: ["*"], right: "write" }], "the neighbour");
  await neighbour.call("config/set", { repo: "neighbours", "svc.timeout": 77 });
  const before = await neighbour.call("config/list", { repo: "neighbours" });
  const prototype = Object.getOwnPropertyNames(Object.prototype);
  let replies = 0;
  let asked = 0;
  t.owner.socket.io.engine.on("packet", ({ data }) => {
    if (typeof data === "string" && /^[36]/.test(data)) replies++;
  });

  await fc.assert(
    fc.asyncProperty(message, async ({ operation, args, callback }) => {
      const [resource = "", name = ""] = operation.split("/");
      if (!callback) {
        t.owner.socket.emit("svc", resource, name, args);
        return;
      }
      asked++;
      expectWellFormed(await t.owner.emit("svc", resource, name, args));
    }),
    { seed, numRuns: runs, endOnFailure: true },
  );

  const answer = await t.owner.call("config/set", { repo: "neighbours", "svc.timeout": 78, dryRun: true });
  expect(answer.errors).toEqual([]);
  expect(replies, "replies to messages without a callback").toBe(asked + 1);
  expect(await neighbour.call("config/list", { repo: "neighbours" })).toEqual(before);
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(prototype);
  expect((await fetch(`${t.url}/readyz`)).status).toBe(200);
  for (const entry of (await t.owner.call("repo/list", { limit: 1000 })).result) expect(entry.health).toEqual([]);
  // Whatever ids the requests named, the folder holds only repository files.
  const files = await readdir(join(t.homeFolder, "repos"));
  expect(files.filter(file => !/^[A-Za-z0-9][A-Za-z0-9_-]*\.json$/.test(file))).toEqual([]);
});
