import { pino } from "pino";
import { expect, test } from "vitest";
import { IdleEnd } from "../../../main/daemon/idle-end.ts";
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

test("a client that is connected when the last session lapses keeps the daemon, also if nothing told of it", () => {
  let asked = 0;
  const clock = new TestClock();
  const state = { clients: 0, sessions: 1 };
  const idleEnd = new IdleEnd({
    timeout: 3_000,
    clock,
    sessions: { list: () => Array.from({ length: state.sessions }) },
    logger: pino({ level: "silent" }),
    countClients: () => state.clients,
    onStop: () => void asked++,
  });
  idleEnd.check();
  Object.assign(state, { clients: 1 });
  clock.advance(3_000);
  Object.assign(state, { sessions: 0 });
  clock.advance(6_000);
  expect(asked).toBe(0);
});
