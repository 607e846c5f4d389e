import type { Socket } from "node:net";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { frameOf, openUpgrade } from "../../helpers/raw-http.ts";

/** A connection of the owner that neither reads nor closes, like a suspended process. */
async function openSuspended(t: TestDaemon): Promise<Socket> {
  const socket = await openUpgrade(t.url);
  socket.write(frameOf(`40${JSON.stringify({ apiKey: t.ownerKey })}`));
  await untilSockets(t, 2);
  return socket;
}

const untilSockets = (t: TestDaemon, count: number) =>
  until(async () => (await t.owner.call("daemon/status")).result.sockets === count, `${count} connections`);

/** Sets a value of 200,000 characters, and requests it this many times. */
async function requestLarge(t: TestDaemon, socket: Socket, times: number): Promise<void> {
  await t.owner.call("config/set", { repo: "shop", "svc.envvars": [{ name: "A", value: "a".repeat(200_000) }] });
  for (let id = 0; id < times; id++) socket.write(frameOf(`42${id}["svc","config","list",{"repo":"shop"}]`));
}

test("a client that does not read its replies is disconnected, even if the replies are prepared", async () => {
  await using t = await startTestDaemon({ repositories: ["shop"] });
  const socket = await openSuspended(t);
  await requestLarge(t, socket, 500);
  await until(() => t.log.some(line => line.includes("bytes of unread events")), "the client to be disconnected");
  socket.destroy();
});

describe("a suspended client does not prevent the daemon from stopping", () => {
  // The websocket library gives a client half a minute to answer the close frame. Here that time never passes, so a daemon that waits
  // for it never stops.
  beforeEach(() => {
    const start = setTimeout;
    const startUnlessThat = (run: (...args: unknown[]) => void, milliseconds?: number, ...args: unknown[]) =>
      start(milliseconds === 30_000 ? () => {} : run, milliseconds, ...args);
    vi.spyOn(globalThis, "setTimeout").mockImplementation(startUnlessThat as typeof setTimeout);
  });

  test.each([
    ["it does not answer the close frame", 0],
    ["more data is queued for it than the system buffers", 50],
  ])("when %s", async (_, requests) => {
    await using t = await startTestDaemon({ repositories: ["shop"] });
    const socket = await openSuspended(t);
    await requestLarge(t, socket, requests);
    for (let one = 0; one < requests; one++) await t.owner.call("config/list", { repo: "shop" });
    await untilSockets(t, 2);
    await t.daemon.close();
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });
});
