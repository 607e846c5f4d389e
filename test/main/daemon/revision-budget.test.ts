import { expect, test } from "vitest";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { TestClock } from "../../helpers/test-clock.ts";

const everything = [{ repos: "*" as const, fields: ["*"], right: "write" as const }];

/** A daemon whose histories keep so few revisions that a key's share is the least there is: 100, and 1 MiB. */
async function startSmall() {
  const clock = new TestClock({ timers: "run" });
  const settings = { history: { revisions: 500, bytes: 4_194_304 } };
  const files = { "settings.json": settings };
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
  expect(first.find(({ errors }) => errors.length > 0)?.errors).toMatchObject([
    { repo: "shop", details: { retryAfter: 36 } },
  ]);
  const oldest = (await t.owner.call("history/list", { repo: "shop", limit: 1_000 })).result.map(
    ({ revision }) => revision,
  );
  expect(oldest).toContain(2);
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
