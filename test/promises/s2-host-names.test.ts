import { beforeEach, test, vi } from "vitest";
import { startTestDaemon } from "../helpers/daemon.ts";
import { requestOf, socketOf } from "../helpers/one-shot.ts";
import { judge } from "../helpers/promise.ts";
import { rawRequest, sendBytes, waysIn } from "../helpers/raw-http.ts";
import { guard } from "../helpers/switched-guard.ts";

// A mock: the guard with a switch for these tests.
vi.mock("../../main/daemon/http/guard.ts", () => import("../helpers/switched-guard.ts"));
beforeEach(() => {
  guard.on = true;
});

/** PORT is replaced by the daemon's port, OTHER by another port. */
const names = [
  ..."evil.example evil.example:PORT :PORT 127.0.0.1 localhost localhost:OTHER 127.0.0.1:OTHER localhost.:PORT".split(
    " ",
  ),
  ..."LOCALHOST:PORT LocalHost:PORT [::1] ::1:PORT [0:0:0:0:0:0:0:1]:PORT [::ffff:127.0.0.1]:PORT 127.1:PORT".split(
    " ",
  ),
  ..."2130706433:PORT 0x7f000001:PORT 0177.0.0.1:PORT 0.0.0.0:PORT 127.0.0.2:PORT x.localhost:PORT".split(" "),
  ..."localhost.evil.example:PORT 127.0.0.1.evil.example:PORT user@127.0.0.1:PORT http://127.0.0.1:PORT".split(" "),
  ..."PORT 127.0.0.1:0PORT [::]:PORT 127.0.0.1:PORT@evil.example 127.0.0.1:PORT/".split(" "),
  ...["", "127.0.0.1:PORT, evil.example"],
];

test("S2 every other Host is refused and counted, on plain routes, polling and upgrades, and each gets in with the guard off", async () => {
  await using t = await startTestDaemon();
  const port = Number(new URL(t.url).port);
  const wrong: string[] = [];
  const counted = async () => (await t.owner.call("daemon/status")).result.refusals?.["host"] ?? 0;
  const path = await socketOf(t.homeFolder);
  const withKey = requestOf(t.ownerKey, "key/self").replace("\r\n", "\r\nConnection: close\r\n");
  // Over the Unix socket, where only a request with a key must have the right name.
  const oneShot = async (host: string) => {
    const answer = await sendBytes(path, withKey.replace("Host: localhost", host));
    return Number(answer.split(" ")[1]);
  };
  const overPort = waysIn.map(({ way, target, headers, granted }) => ({
    ...{ way, granted },
    send: async (host: string) => (await rawRequest(t.url, target, { headers: [host, ...headers] })).status,
  }));
  for (const { way, granted, send } of [...overPort, { way: "a one-shot request", granted: 200, send: oneShot }]) {
    for (const name of names) {
      if (way === "a one-shot request" && name === "localhost") continue;
      const host = `Host: ${name.replaceAll("PORT", `${port}`).replaceAll("OTHER", `${port - 1}`)}`;
      const ask = () => send(host);
      guard.on = false;
      if ((await ask()) !== granted) wrong.push(`${way}: ${host} does not get in with the guard off`);
      guard.on = true;
      const before = await counted();
      if ((await ask()) !== 403) wrong.push(`${way}: ${host} got in`);
      if ((await counted()) !== before + 1) wrong.push(`${way}: ${host} was not counted`);
    }
  }
  const kinds = overPort.length + 1;
  judge("S2", kinds * names.length - 1, wrong, `${names.length} names in ${kinds} kinds of requests`);
});
