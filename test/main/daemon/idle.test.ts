import { expect, test } from "vitest";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { TestClock } from "../../helpers/test-clock.ts";

test("a daemon with an idle timeout asks to be stopped once that has passed since its last client left, and not before", async () => {
  let asked = 0;
  const clock = new TestClock();
  const idleTimeout = 3_000;
  await using t = await startTestDaemon({ clock, idleTimeout, onStop: () => void asked++ });
  const second = await t.connect();
  t.owner.socket.close();
  // While anyone is connected, no idle timer is running.
  await second.call("daemon/status");
  clock.advance(idleTimeout);
  expect(asked).toBe(0);
  second.socket.close();
  await until(() => clock.waiting(idleTimeout) === 1, "the daemon to notice that nobody is there");
  clock.advance(idleTimeout - 1);
  expect(asked).toBe(0);
  clock.advance(1);
  expect(asked).toBe(1);
});
