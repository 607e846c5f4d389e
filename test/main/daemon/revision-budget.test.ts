import { expect, test } from "vitest";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { TestClock } from "../../helpers/test-clock.ts";

const everything = [{ repos: "*" as const, fields: ["*"], right: "write" as const }];

/** A daemon whose histories keep so few revisions that a key's share is the least there is: 100, and 1 MiB. */
async function startSmall(more: object = {}) {
  const clock = new TestClock({ timers: "run" });
  const settings = { history: { revisions: 500, bytes: 4_194_304 } };
  const files = { "settings.json": settings, ...more };
  const t = await startTestDaemon({ clock, files, repositories: ["shop", "store"] });
  return Object.assign(t, { clock, tool: await t.connectWith(everything, "busy") });
}

test("a key may make a tenth of what a history keeps at once, and as much again in an hour; the others go on", async () => {
  await using t = await startSmall();
  await t.owner.call("config/set", { repo: "shop", "svc.domain": "the owner's" });
  const set = (value: number, more: object = {}) =>
    t.tool.call("config/set", { repo: "shop", "svc.timeout": value, ...more });
  const codes = (reply: Awaited<ReturnType<typeof set>>) => reply.errors.map(({ code }) => code);
  const first = await Promise.all(Array.from({ length: 150 }, (_, at) => set(at)));
  expect(first.filter(({ errors }) => errors.length === 0)).toHaveLength(100);
  expect(first.flatMap(codes)).toEqual(Array(50).fill(1107));
  const [refused] = first.flatMap(({ errors }) => errors);
  expect(refused).toMatchObject({ repo: "shop", details: { retryAfter: 36 } });
  const kept = (await t.owner.call("history/list", { repo: "shop", limit: 1_000 })).result;
  expect(kept.map(({ revision }) => revision)).toContain(2);
  // What changes nothing, or would only do so, is no revision; other repositories, keys and the owner have their own.
  const { result } = await t.owner.call("config/list", { repo: "shop", field: "svc.timeout" });
  expect(codes(await set(Number(result["svc"]?.["timeout"])))).toEqual([]);
  expect(codes(await set(7_000, { dryRun: true }))).toEqual([]);
  expect(codes(await set(7_000, { repo: ["shop", "store"], atomic: true }))).toEqual([1107]);
  expect(codes(await set(7_000, { repo: ["shop", "store"] }))).toEqual([1107]);
  expect((await t.owner.call("config/set", { repo: "shop", "svc.timeout": 8_000 })).errors).toEqual([]);
  const other = await t.connectWith(everything, "quiet");
  expect((await other.call("config/set", { repo: "shop", "svc.timeout": 8_001 })).errors).toEqual([]);
  t.clock.advance(36_000);
  expect(codes(await set(9_000))).toEqual([]);
  expect(codes(await set(9_001))).toEqual([1107]);
});

test("a key may not push a history out by large values either", async () => {
  await using t = await startSmall();
  const set = async (letter: string) =>
    (await t.tool.call("config/set", { repo: "shop", "svc.proxy_aliases": [letter.repeat(200_000)] })).errors;
  const replies = [];
  for (const letter of "abcdef") replies.push(await set(letter));
  // Each has the value before and after.
  expect(replies.map(errors => errors.length)).toEqual([0, 0, 0, 1, 1, 1]);
});

test("proposals count as well: each is a write", async () => {
  await using t = await startSmall();
  const agent = await t.connectWith(everything, "agent", []);
  const propose = async (count: number) => {
    const services = { web: { ready: `${count}`, image: "node:24" } };
    const { errors } = await agent.call("config/set", { repo: "shop", "svc.services": services });
    return errors[0]?.code;
  };
  const codes: unknown[] = [];
  for (let count = 0; count <= 100; count++) codes.push(await propose(count));
  expect(codes).toEqual([...Array(100).fill(1007), 1107]);
  // The same again is no write.
  expect(await propose(99)).toBe(1007);
  t.clock.advance(36_000);
  expect(await propose(101)).toBe(1007);
});

test("what is left of its share does not tell a key how long a value is that it may not see", async () => {
  const token = { type: "string", default: "", "x-masked": true };
  await using t = await startSmall({ "scopes/vault.schema.json": { type: "object", properties: { token } } });
  const agent = await t.connectWith(everything, "agent", []);
  const left: unknown[] = [];
  for (const [repo, length] of [["shop", 10] as const, ["store", 3_900] as const]) {
    await t.owner.call("config/set", { repo, "vault.token": "x".repeat(length) });
    // A restore brings the value back, which is counted too.
    await agent.call("config/set", { repo, "vault.token": "mine" });
    await agent.call("history/restore", { repo, to: 2, fields: ["vault.token"] });
    const set = () => agent.call("config/set", { repo, "vault.token": "y".repeat(250_000) });
    const errors = [await set(), await set(), await set()].flatMap(reply => reply.errors);
    left.push(errors.map(({ code, details }) => [code, details]));
  }
  expect(left[0]).toEqual([[1107, { retryAfter: expect.any(Number) }]]);
  expect(left[1]).toEqual(left[0]);
});
