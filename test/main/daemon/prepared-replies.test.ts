import { io } from "socket.io-client";
import { expect, test } from "vitest";
import { PreparedReplies } from "../../../main/daemon/socket/prepared-replies.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { patience } from "../../helpers/patience.ts";

/** An object that counts how often it is serialized to JSON. */
function counting(value: string) {
  const counted = { times: 0, toJSON: () => ({ value, times: ++counted.times && undefined }) };
  return counted;
}

test("a prepared reply serializes its result once, as long as the cache has room for it", () => {
  const replies = new PreparedReplies(100);
  const [first, ...others] = Array.from({ length: 10 }, () => counting("ä".repeat(15)));
  const last = others.at(-1);
  if (first === undefined || last === undefined) throw new Error("unreachable");
  for (const result of [first, first, ...others, last]) replies.of(result, {});
  expect([first.times, last.times]).toEqual([1, 1]);
  replies.of(first, {});
  expect(first.times).toBe(2);
});

// The header of a WebSocket frame has three forms, for fewer than 126 bytes, fewer than 65,536, and more.
test.for([
  ["websocket", 1],
  ["websocket", 1_000],
  ["websocket", 70_000],
  ["polling", 1_000],
] as const)(
  "the reply of a list arrives whole over %s with a value of %i characters",
  async ([transport, characters]) => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    const services = { web: { ready: "é".repeat(characters), image: 'a "quoted" \u2028 line\n' } };
    await t.owner.call("config/set", { repo, "svc.services": services });
    const socket = io(t.url, { transports: [transport], auth: { apiKey: t.ownerKey }, forceNew: true });
    try {
      // Several at once: each frame must end where the next one begins.
      const list = () => socket.timeout(patience).emitWithAck("svc", "config", "list", { repo, stored: true });
      for (const reply of await Promise.all([list(), list(), list()]))
        expect(reply).toEqual({ result: { svc: { services } }, revision: 2, errors: [] });
    } finally {
      socket.disconnect();
    }
  },
);
