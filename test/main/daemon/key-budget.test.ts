import { describe, expect, test } from "vitest";
import type { Caller } from "../../../main/daemon/keys/caller.ts";
import { ConcurrencyLimit } from "../../../main/daemon/socket/fairness/concurrency-limit.ts";
import { type ConnectionLease, KeyBudget } from "../../../main/daemon/socket/fairness/key-budget.ts";

/** The numbers of the protocol page, "Limits", repeated here because programs rely on them. */
const sockets = 1_000;
const keptForOwner = 100;
const socketsPerKey = 64;
const running = 128;
const waiting = 1_000;
const requestBytes = 16_000_000;
const unreadBytes = 64 * 1024 * 1024;

function caller(keyId: string, owner = false): Caller {
  return { keyId, name: keyId, owner, actor: { kind: "key", id: keyId, name: keyId }, grants: [], rights: [] };
}
const owner = caller("owner", true);
const tool = caller("tool");
const small = { bytes: 100, work: 100 };

/** Requests that run until the test ends them. */
function holding(budget: KeyBudget) {
  const ends: (() => void)[] = [];
  let begun = 0;
  const ask = (who: Caller, cost = small) =>
    Promise.resolve(
      budget.run(who, cost, () => {
        begun += 1;
        return new Promise<void>(resolve => ends.push(resolve));
      }),
    );
  return { ask, begun: () => begun, endOne: () => ends.shift()?.() };
}

const refused = (words: RegExp, limit: number) =>
  expect.objectContaining({
    code: 1107,
    message: expect.stringMatching(words),
    details: expect.objectContaining({ limit }),
  });

describe("connections", () => {
  test("one key has at most 64, and may open another once it has closed one", () => {
    const budget = new KeyBudget();
    const leases = Array.from({ length: socketsPerKey }, () => budget.admit(tool, "port"));
    expect(() => budget.admit(tool, "port")).toThrow(refused(/one key/, socketsPerKey));
    expect(() => budget.admit(caller("other"), "port")).not.toThrow();
    for (let again = 0; again < 3; again++) leases[0]?.end();
    budget.admit(tool, "port");
    expect(() => budget.admit(tool, "port")).toThrow(refused(/one key/, socketsPerKey));
  });

  test("all keys together leave 100 of 1,000 to the owner, whose only limit is the total", () => {
    const budget = new KeyBudget();
    for (let count = 0; count < sockets - keptForOwner; count++) budget.admit(caller(`key ${count >> 5}`), "port");
    expect(() => budget.admit(tool, "port")).toThrow(refused(/keys other than/, sockets - keptForOwner));
    for (let count = 0; count < keptForOwner; count++)
      budget.admit(count % 2 ? owner : caller("session", true), "port");
    expect(() => budget.admit(owner, "port")).toThrow(refused(/connections/, sockets));
    // A full port does not block the Unix socket.
    expect(() => budget.admit(caller("another"), "socket")).not.toThrow();
  });
});

describe("requests", () => {
  test("of one key run 128 at a time; further ones wait in order, but those of other keys and the owner do not", async () => {
    const budget = new KeyBudget();
    const { ask, begun, endOne } = holding(budget);
    const all = Array.from({ length: running + 10 }, () => ask(tool));
    expect(begun()).toBe(running);
    void ask(owner);
    void ask(caller("other"));
    expect(begun()).toBe(running + 2);
    for (let count = 1; count <= 10; count++) {
      endOne();
      await all[count - 1];
      await new Promise(setImmediate);
      expect(begun()).toBe(running + 2 + count);
    }
  });

  test("beyond 1,000 waiting ones are refused", () => {
    const budget = new KeyBudget();
    const { ask, begun } = holding(budget);
    for (let count = 0; count < running + waiting; count++) void ask(tool);
    expect(() => budget.run(tool, small, () => {})).toThrow(refused(/requests of one key/, waiting));
    expect(begun()).toBe(running);
    // The owner's requests are not limited and do not wait.
    for (let count = 0; count < 2 * waiting; count++) void ask(owner);
    expect(begun()).toBe(running + 2 * waiting);
  });

  test("beyond 16 MB of arguments are refused, except for a single one", () => {
    const budget = new KeyBudget();
    const { ask } = holding(budget);
    const large = { bytes: 1_000_000, work: 1_000_000 };
    for (let count = 0; count < requestBytes / large.bytes; count++) void ask(tool, large);
    expect(() => budget.run(tool, small, () => {})).toThrow(refused(/bytes/, requestBytes));
  });

  test("large ones run a few at a time, but always at least one", () => {
    const { ask, begun } = holding(new KeyBudget());
    for (let count = 0; count < 3; count++) void ask(tool, { bytes: 16_000, work: 16_000_000 });
    expect(begun()).toBe(1);
  });

  test("a failed one frees its place like one that succeeds", async () => {
    const budget = new KeyBudget();
    const fail = () => Promise.reject(new Error("no"));
    for (let count = 0; count < 2 * (running + waiting); count++)
      await expect(budget.run(tool, small, fail)).rejects.toThrow("no");
  });
});

describe("flow control", () => {
  /** Tracks whether a connection is being read. */
  function reading(lease: ConnectionLease): { readonly isRead: () => boolean } {
    let isRead = true;
    const set = (value: boolean) => () => {
      isRead = value;
    };
    lease.attach({ pause: set(false), resume: set(true) });
    return { isRead: () => isRead };
  }

  test("a large packet pauses all connections of its key until everyone else has been read", async () => {
    const budget = new KeyBudget();
    const [one, other, owners] = [budget.admit(tool, "port"), budget.admit(tool, "port"), budget.admit(owner, "port")];
    const [first, second, third] = [reading(one), reading(other), reading(owners)];
    one.countReceived(300_000);
    owners.countReceived(3_000_000);
    expect([first.isRead(), second.isRead(), third.isRead()]).toEqual([false, false, true]);
    await new Promise(setImmediate);
    expect([first.isRead(), second.isRead()]).toEqual([true, true]);
  });

  test("a key's connections are paused while many bytes of its requests are unanswered", async () => {
    const budget = new KeyBudget();
    const { isRead } = reading(budget.admit(tool, "port"));
    const { ask, endOne } = holding(budget);
    const done = ask(tool, { bytes: requestBytes / 2 + 1, work: 1 });
    expect(isRead()).toBe(false);
    endOne();
    await done;
    expect(isRead()).toBe(true);
  });

  test("a key's connections are paused while many of its requests wait, until they leave", () => {
    const budget = new KeyBudget();
    const lease = budget.admit(tool, "port");
    const { isRead } = reading(lease);
    const { ask } = holding(budget);
    for (let count = 0; count < running + waiting / 2; count++) void ask(tool);
    expect(isRead()).toBe(true);
    void ask(tool);
    expect(isRead()).toBe(false);
    lease.end();
    expect(isRead()).toBe(true);
  });

  test("many small packets count as a large one, and the last sender is read last", async () => {
    const budget = new KeyBudget();
    const order: string[] = [];
    const [one, other] = [budget.admit(tool, "port"), budget.admit(tool, "port")];
    one.attach({ pause: () => {}, resume: () => order.push("one") });
    other.attach({ pause: () => {}, resume: () => order.push("other") });
    for (let count = 0; count < 129; count++) one.countReceived(20);
    await new Promise(setImmediate);
    expect(order).toEqual(["other", "one"]);
  });

  test("beyond 64 MiB of unread data for a key, its connections with more than their share are marked", () => {
    const budget = new KeyBudget();
    const leases = [budget.admit(tool, "port"), budget.admit(tool, "port"), budget.admit(tool, "port")] as const;
    const [slow, slower, fast] = leases;
    slow.setQueued(unreadBytes / 2);
    slower.setQueued(unreadBytes / 2);
    fast.setQueued(1_000);
    expect(leases.map(({ isTooSlow }) => isTooSlow)).toEqual([true, true, false]);
    const others = budget.admit(caller("other"), "port");
    others.setQueued(2 * 1024 * 1024);
    expect(others.isTooSlow).toBe(false);
    slower.end();
    expect(slow.isTooSlow).toBe(false);
    const owners = budget.admit(owner, "port");
    owners.setQueued(2 * unreadBytes);
    expect(owners.isTooSlow).toBe(false);
  });
});

test("requests that read histories run two at a time for one key, four for all keys, and the owner's in addition", async () => {
  const limit = new ConcurrencyLimit();
  const inside: string[] = [];
  const leaves: (() => void)[] = [];
  const enter = async (who: Caller) => {
    const leave = await limit.acquire(who);
    inside.push(who.keyId);
    leaves.push(leave);
  };
  for (const who of [tool, tool, tool, caller("b"), caller("c"), caller("d"), owner]) void enter(who);
  await new Promise(setImmediate);
  expect(inside).toEqual(["tool", "tool", "b", "c", "owner"]);
  // A key at its limit is passed over in favor of one that is not.
  leaves[2]?.();
  await new Promise(setImmediate);
  expect(inside.at(-1)).toBe("d");
  leaves[0]?.();
  await new Promise(setImmediate);
  expect(inside.at(-1)).toBe("tool");
});
