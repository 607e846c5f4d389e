import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { titleWith } from "../../helpers/skips.ts";

/** Occupies a free port on one loopback address; undefined if the machine has no such address. */
async function occupyPort(host: string) {
  const server = createServer();
  server.listen(0, host);
  const [listening] = await Promise.allSettled([once(server, "listening")]);
  if (listening.status === "rejected") return undefined;
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}

const addresses: string[] = [];
for (const host of ["127.0.0.1", "::1"]) {
  await using one = await occupyPort(host);
  if (one !== undefined) addresses.push(host);
}

describe.each(["127.0.0.1", "::1"])("another program on %s alone", host => {
  const isAvailable = addresses.includes(host);
  const title = (text: string) => titleWith(isAvailable, host, text);

  test.skipIf(!isAvailable)(title("has the required port: the start fails and says what to do"), async () => {
    await using other = await occupyPort(host);
    await expect(startTestDaemon({ port: other?.port ?? 0 })).rejects.toMatchObject({
      name: "PortTakenError",
      message: expect.stringContaining("--port"),
    });
  });

  test.skipIf(!isAvailable)(title("has the preferred port: another one is used on both addresses"), async () => {
    await using other = await occupyPort(host);
    await using t = await startTestDaemon({ settingsPort: other?.port ?? 0 });
    const { port } = new URL(t.url);
    expect(Number(port)).not.toBe(other?.port);
    expect(t.daemon.otherPort).toBe(true);
    for (const address of addresses) {
      const name = address.includes(":") ? `[${address}]` : address;
      expect(await (await fetch(`http://${name}:${port}/livez`)).text()).toBe("alive\n");
    }
  });
});
