import { EventEmitter } from "node:events";
import type { Socket as EngineSocket } from "engine.io";
import { io } from "socket.io-client";
import type { Packet } from "socket.io-parser";
import { describe, expect, test } from "vitest";
import { ConfigViews } from "../../../main/daemon/config/config-views.ts";
import {
  PreparedReplies,
  type PreparedReply,
  replyParser,
  sendPreparedFrames,
} from "../../../main/daemon/socket/prepared-replies.ts";
import { Scopes } from "../../../main/scopes/scopes.ts";
import { ownerGrants } from "../../../shared/grants.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { patience } from "../../helpers/patience.ts";

/** An object that counts how often it is serialized to JSON. */
function counting(value: string) {
  const counted = { times: 0, toJSON: () => ({ value, times: ++counted.times && undefined }) };
  return counted;
}

/** The JSON of a reply, whose text ends with its packet. */
const json = (reply: PreparedReply) => String(reply).slice(0, -1);

describe("prepared replies", () => {
  test("contain the same as the reply: its other members and the result", () => {
    const replies = new PreparedReplies();
    const result = { svc: { domain: 'a "quoted" \u2028 line\n', ä: null } };
    expect(JSON.parse(json(replies.of(result, { revision: 3, errors: [] })))).toEqual({
      result,
      revision: 3,
      errors: [],
    });
    expect(json(replies.of(result, {}))).toBe(JSON.stringify({ result }));
  });

  test("serialize a result once, and a different one separately", () => {
    const replies = new PreparedReplies();
    const [one, other] = [counting("one"), counting("other")];
    const first = replies.of(one, { errors: [] });
    expect(replies.of(one, { errors: [] })).toEqual(first);
    expect(String(replies.of(other, { errors: [] }))).toContain("other");
    expect([one.times, other.times]).toEqual([1, 1]);
  });

  test("cache no more than a maximum number of bytes", () => {
    const replies = new PreparedReplies(100);
    const results = Array.from({ length: 10 }, () => counting("ä".repeat(15)));
    for (const result of results) replies.of(result, {});
    const [first, last] = [results[0], results.at(-1)];
    if (first === undefined || last === undefined) throw new Error("unreachable");
    replies.of(last, {});
    expect(last.times).toBe(1);
    replies.of(first, {});
    expect(first.times).toBe(2);
  });

  test("are put into the packet unchanged, in any namespace; everything else is encoded by Socket.IO", () => {
    const encoder = new replyParser.Encoder();
    const reply = new PreparedReplies().of({ a: 1 }, { errors: [] });
    const text = (packet: Packet) => String(encoder.encode(packet)[0]);
    expect(text({ type: 3, nsp: "/", id: 7, data: [reply] })).toBe(`37[{"errors":[],"result":{"a":1}}]`);
    expect(text({ type: 3, nsp: "/admin", id: 7, data: [reply] })).toBe(`3/admin,7[{"errors":[],"result":{"a":1}}]`);
    expect(encoder.encode({ type: 3, nsp: "/", id: 7, data: [{ a: 1 }] })).toEqual([`37[{"a":1}]`]);
    expect(encoder.encode({ type: 2, nsp: "/", data: ["svc", "config"] })).toEqual([`2["svc","config"]`]);
  });
});

describe("the reply of a list", () => {
  // The header of a WebSocket frame has three forms, for fewer than 126 bytes, fewer than 65,536, and more.
  test.for([
    ["websocket", 1],
    ["websocket", 1_000],
    ["websocket", 70_000],
    ["polling", 1_000],
  ] as const)("arrives whole over %s with a value of %i characters", async ([transport, characters]) => {
    await using t = await startTestDaemon();
    const repo = await t.addRepository();
    const services = { web: { ready: "é".repeat(characters), image: "" } };
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
  });

  test("is framed from the cached bytes over a WebSocket, and left to Engine.IO otherwise", () => {
    const reply = new PreparedReplies().of({ a: 1 }, { errors: ["é"] });
    const frameOver = (name: string) => {
      const connection = Object.assign(new EventEmitter(), { transport: { name } });
      sendPreparedFrames(connection as unknown as EngineSocket);
      const options: { wsPreEncodedFrame?: Buffer[] } = {};
      connection.emit("packetCreate", { type: "message", data: reply, options });
      return options.wsPreEncodedFrame;
    };
    const frame = frameOver("websocket") ?? [];
    expect(frame[1]).toBe(reply.end);
    // The whole text in one frame, whose length is in bytes (RFC 6455, 5.2).
    const text = Buffer.from(`4${reply}`);
    expect(Buffer.concat(frame)).toEqual(Buffer.concat([Buffer.from([0x81, text.length]), text]));
    expect(frameOver("polling")).toBeUndefined();
  });
});

const state = {
  id: "shop",
  name: "shop",
  inTree: false,
  revision: 1,
  health: [],
  stored: { svc: { timeout: 30 } },
} as const;

test("a list reuses the previous list's object for the same state and rights", () => {
  const views = new ConfigViews(new Scopes());
  const some = [{ repos: "*", fields: ["svc.timeout"], right: "read" }] as const;
  for (const grants of [ownerGrants, some]) {
    const first = views.readable(state, grants);
    expect(first["svc"]?.["timeout"]).toBe(30);
    expect(views.readable(state, grants)).toBe(first);
  }
  const all = views.readable(state, ownerGrants);
  expect(views.scopeOf(all, "svc")).toEqual({ svc: all["svc"] });
  expect(views.scopeOf(all, "svc")).toBe(views.scopeOf(all, "svc"));
  expect(views.readable({ ...state }, ownerGrants)).not.toBe(views.readable(state, ownerGrants));
});
