import { beforeEach, test, vi } from "vitest";
import { startTestDaemon } from "../helpers/daemon.ts";
import { judge } from "../helpers/promise.ts";
import { rawRequest, waysIn } from "../helpers/raw-http.ts";
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
  for (const { way, target, headers, granted } of waysIn) {
    for (const name of names) {
      const host = `Host: ${name.replaceAll("PORT", `${port}`).replaceAll("OTHER", `${port - 1}`)}`;
      const ask = async () => (await rawRequest(t.url, target, { headers: [host, ...headers] })).status;
      guard.on = false;
      if ((await ask()) !== granted) wrong.push(`${way}: ${host} does not get in with the guard off`);
      guard.on = true;
      const before = await counted();
      if ((await ask()) !== 403) wrong.push(`${way}: ${host} got in`);
      if ((await counted()) !== before + 1) wrong.push(`${way}: ${host} was not counted`);
    }
  }
  const tried = waysIn.length * names.length;
  judge("S2", tried, wrong, `${names.length} names in ${waysIn.length} kinds of requests`);
});
