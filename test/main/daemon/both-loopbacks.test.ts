import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { startTestDaemon } from "../../helpers/daemon.ts";

/** Another program on a free port of one loopback address; undefined where the machine has no such address. */
async function sitOn(host: string) {
  const server = createServer();
  server.listen(0, host);
  const isThere = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (!isThere) return undefined;
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}

const addresses: string[] = [];
for (const host of ["127.0.0.1", "::1"]) {
  await using one = await sitOn(host);
  if (one !== undefined) addresses.push(host);
}

for (const host of ["127.0.0.1", "::1"]) {
  const isThere = addresses.includes(host);

  test.skipIf(!isThere)(
    `a port that another program has on ${host} is not insisted on by half: the start fails and says what to do`,
    async () => {
      await using other = await sitOn(host);
      const port = other?.port ?? 0;
      const starting = startTestDaemon({ port });
      await expect(starting).rejects.toMatchObject({
        name: "PortTakenError",
        message: expect.stringContaining("--port"),
      });
    },
  );

  test.skipIf(!isThere)(`and without insisting another port is taken, on both addresses (${host})`, async () => {
    await using other = await sitOn(host);
    await using t = await startTestDaemon({ settingsPort: other?.port ?? 0 });
    const { port } = new URL(t.url);
    expect(Number(port)).not.toBe(other?.port);
    expect(t.daemon.otherPort).toBe(true);
    for (const address of addresses) {
      const name = address.includes(":") ? `[${address}]` : address;
      expect(await (await fetch(`http://${name}:${port}/livez`)).text()).toBe("alive\n");
    }
  });
}
