import type { Socket } from "node:net";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { frameOf, openUpgrade } from "../../helpers/raw-http.ts";

/** Opens a websocket, sends these texts, and then neither reads nor closes it, like a suspended process. */
async function openSuspended(t: TestDaemon, texts: readonly string[]): Promise<Socket> {
  const socket = await openUpgrade(t.url);
  for (const text of texts) socket.write(frameOf(text));
  return socket;
}

test("a client that does not read its replies is disconnected, even if the replies are prepared", async () => {
  await using t = await startTestDaemon({ repositories: ["shop"] });
  await t.owner.call("config/set", {
    repo: "shop",
    "svc.services": { big: { ready: "", image: "x".repeat(200_000) } },
  });
  const socket = await openSuspended(t, [`40${JSON.stringify({ apiKey: t.ownerKey })}`]);
  await until(async () => (await t.owner.call("daemon/status")).result.sockets === 2, "its connection");
  for (let id = 0; id < 500; id++) socket.write(frameOf(`42${id}["svc","config","list",{"repo":"shop"}]`));
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

  test("when it does not answer the close frame", async () => {
    await using t = await startTestDaemon();
    const socket = await openSuspended(t, []);
    await t.daemon.close();
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });

  test("when more data is queued for it than the system buffers", async () => {
    await using t = await startTestDaemon({ repositories: ["shop"] });
    const answers = 50;
    await t.owner.call("config/set", { repo: "shop", "svc.envvars": [{ name: "A", value: "a".repeat(200_000) }] });
    const ask = (id: number) => `42${id}["svc","config","list",{"repo":"shop"}]`;
    const asked = Array.from({ length: answers }, (_, id) => ask(id));
    const socket = await openSuspended(t, [`40${JSON.stringify({ apiKey: t.ownerKey })}`, ...asked]);
    await until(async () => (await t.owner.call("daemon/status")).result.sockets === 2, "its connection");
    for (let one = 0; one < answers; one++) await t.owner.call("config/list", { repo: "shop" });
    await t.daemon.close();
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });
});
