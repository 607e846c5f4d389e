import { expect, test } from "vitest";
import { startTestDaemon, until } from "../../helpers/daemon.ts";

test("a daemon that is to leave when idle asks to be stopped once its last client has gone, and not before", async () => {
  let asked = 0;
  // Long enough for the first client to come on a machine that has much else to do.
  await using t = await startTestDaemon({ idleTimeout: 3_000, onStop: () => void asked++ });
  const second = await t.connect();
  t.owner.socket.close();
  // As long as anyone is connected there is no timer that could end.
  await second.call("daemon/status");
  expect(asked).toBe(0);
  second.socket.close();
  await until(() => asked === 1, "the daemon to ask");
});
