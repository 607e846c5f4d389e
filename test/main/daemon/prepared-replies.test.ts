import { describe, expect, test } from "vitest";
import { PreparedReplies, replyParser } from "../../../main/daemon/prepared-replies.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";

/** An object that counts how often it is made into JSON. */
function counting(value: string) {
  const counted = { times: 0, toJSON: () => ({ value, times: ++counted.times && undefined }) };
  return counted;
}

describe("prepared replies", () => {
  test("hold what the reply would: the result first, then the rest", () => {
    const replies = new PreparedReplies();
    const result = { svc: { domain: 'a "quoted" \u2028 line\n', ä: null } };
    const { text } = replies.of(result, { revision: 3, errors: [] });
    expect(JSON.parse(text)).toEqual({ result, revision: 3, errors: [] });
    expect(Object.keys(JSON.parse(text))).toEqual(["result", "revision", "errors"]);
    expect(replies.of(result, {}).text).toBe(JSON.stringify({ result }));
  });

  test("make a result into text once, and another one anew", () => {
    const replies = new PreparedReplies();
    const [one, other] = [counting("one"), counting("other")];
    const first = replies.of(one, { errors: [] });
    expect(replies.of(one, { errors: [] })).toEqual(first);
    expect(replies.of(other, { errors: [] }).text).toContain("other");
    expect([one.times, other.times]).toEqual([1, 1]);
  });

  test("keep no more than so many characters", () => {
    const replies = new PreparedReplies(100);
    const results = Array.from({ length: 10 }, () => counting("x".repeat(30)));
    for (const result of results) replies.of(result, {});
    const [first, last] = [results[0], results.at(-1)];
    if (first === undefined || last === undefined) throw new Error("unreachable");
    replies.of(last, {});
    expect(last.times).toBe(1);
    replies.of(first, {});
    expect(first.times).toBe(2);
  });

  test("are put into the packet as they are, in any namespace; all else is Socket.IO's", () => {
    const encoder = new replyParser.Encoder();
    const reply = new PreparedReplies().of({ a: 1 }, { errors: [] });
    expect(encoder.encode({ type: 3, nsp: "/", id: 7, data: [reply] })).toEqual([`37[{"result":{"a":1},"errors":[]}]`]);
    expect(encoder.encode({ type: 3, nsp: "/admin", id: 7, data: [reply] })).toEqual([
      `3/admin,7[{"result":{"a":1},"errors":[]}]`,
    ]);
    expect(encoder.encode({ type: 3, nsp: "/", id: 7, data: [{ a: 1 }] })).toEqual([`37[{"a":1}]`]);
    expect(encoder.encode({ type: 2, nsp: "/", data: ["svc", "config"] })).toEqual([`2["svc","config"]`]);
  });
});

test("a list is answered the same the first and the second time, by each key what it may read, and anew after a change", async () => {
  await using t = await startTestDaemon();
  const repo = await t.addRepository();
  await t.owner.call("config/set", { repo, "svc.timeout": 5, "svc.domain": "ä\u2028.test" });
  const limited = await t.connectWith([{ repos: "*", fields: ["svc.timeout"], right: "read" }]);
  const list = (client = t.owner, args = {}) => client.call("config/list", { repo, ...args });
  const first = await list();
  expect(first).toMatchObject({ result: { svc: { timeout: 5, domain: "ä\u2028.test" } }, revision: 2, errors: [] });
  expect(await list()).toEqual(first);
  for (const _ of [1, 2]) {
    expect((await list(limited)).result).toEqual({ svc: { timeout: 5 } });
    expect((await list(limited, { stored: true })).result).toEqual({ svc: { timeout: 5 } });
    expect((await list(t.owner, { stored: true })).result).toEqual({ svc: { timeout: 5, domain: "ä\u2028.test" } });
  }
  await t.owner.call("config/set", { repo, "svc.timeout": 6 });
  for (const client of [t.owner, limited])
    expect(await list(client)).toMatchObject({ result: { svc: { timeout: 6 } }, revision: 3, errors: [] });
});
