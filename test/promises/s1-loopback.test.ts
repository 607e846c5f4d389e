import { connect, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { startTestDaemon } from "../helpers/daemon.ts";
import { judge } from "../helpers/promise.ts";

/** All other addresses of this host, including other loopback ones. */
function otherAddresses(): string[] {
  const own = Object.entries(networkInterfaces()).flatMap(([name, entries = []]) =>
    entries.map(({ address, scopeid }) => (scopeid ? `${address}%${name}` : address)),
  );
  return [...new Set([...own, "127.0.0.2", "127.255.255.254"])].filter(
    address => address !== "127.0.0.1" && address !== "::1",
  );
}

/** Whether something accepts connections there; an unreachable address does not. */
function answers(host: string, port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host, port });
    const end = (there: boolean) => {
      socket.destroy();
      resolve(there);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}

/** Whether the port is free there: the daemon listens neither on it nor on all addresses. */
async function isFree(host: string, port: number): Promise<boolean> {
  const server: Server = createServer();
  const free = await new Promise<boolean>(resolve => {
    server.once("error", () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => resolve(true));
  });
  if (free) await new Promise(resolve => server.close(resolve));
  return free;
}

test("S1 loopback only: no other address of this host answers at the daemon's port", async () => {
  await using t = await startTestDaemon();
  const port = Number(new URL(t.url).port);
  const addresses = otherAddresses();
  const reached: string[] = [];
  let shown = 0;
  for (const address of addresses) {
    if (await answers(address, port)) reached.push(address);
    // A listener of the test is reachable there, so it is the daemon's choice not to listen.
    if (!(await isFree(address, port))) continue;
    const server = createServer(socket => socket.destroy());
    await new Promise<void>(resolve => server.listen({ host: address, port, exclusive: true }, resolve));
    if (await answers(address, port)) shown++;
    await new Promise(resolve => server.close(resolve));
  }
  judge("S1", addresses.length, reached, `addresses of the host; the test's own listener was reachable on ${shown}`);
  expect(await answers("127.0.0.1", port)).toBe(true);
  expect(shown).toBeGreaterThan(0);
});
