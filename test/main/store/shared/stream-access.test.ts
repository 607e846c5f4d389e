import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, until } from "../../../helpers/daemon.ts";
import { makeCertificates, makeCredentials } from "../../../helpers/nats-security.ts";
import {
  askServers,
  configured,
  describeWithNats,
  startCluster,
  startNatsServer,
} from "../../../helpers/nats-server.ts";
import { temporaryFolder } from "../../../helpers/temporary-folder.ts";

/** Adds a repository on one machine and reads it on another, both with these log settings. */
async function share(folder: string, log: object): Promise<void> {
  const start = async (machine: string) => {
    const home = join(folder, machine);
    await mkdir(home, { recursive: true });
    await writeFile(join(home, "settings.json"), JSON.stringify({ log: { ...log, machine } }));
    return startTestDaemon({ home });
  };
  await using laptop = await start("laptop");
  await laptop.addRepository("shop");
  expect((await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 41 })).errors).toEqual([]);
  await using desk = await start("desk");
  expect((await desk.owner.call("config/list", { repo: "shop" })).result["svc"]?.["timeout"]).toBe(41);
}

describeWithNats("a log on a server that requires authentication", () => {
  test("is reached by TLS with a private certificate authority and a client certificate, and not without them", async () => {
    await using folder = await temporaryFolder();
    const { ca, server, client } = await makeCertificates(folder.path);
    const files = `cert_file: "${server.certificate}", key_file: "${server.key}", ca_file: "${ca}"`;
    await using nats = await startNatsServer(configured(() => `tls { ${files}, verify: true }\n`));
    const address = `tls://127.0.0.1:${nats.port}/team`;
    await expect(share(join(folder.path, "none"), { address })).rejects.toThrow("cannot be used");
    await expect(share(join(folder.path, "half"), { address, ca })).rejects.toThrow("cannot be used");
    const { certificate, key } = client;
    const unknown = { address, certificate, key };
    await expect(share(join(folder.path, "unknown"), unknown)).rejects.toThrow("cannot be used");
    await share(folder.path, { address, ca, certificate, key });
  });

  test("is reached with its credentials file, and not with another one", async () => {
    await using folder = await temporaryFolder();
    const [ours, theirs] = [await makeCredentials(), await makeCredentials()];
    await using nats = await startNatsServer(configured(() => ours.configuration));
    const address = `nats://127.0.0.1:${nats.port}/team`;
    const write = async (name: string, text: Uint8Array) => {
      const credentials = join(folder.path, name);
      await writeFile(credentials, text);
      return { address, credentials };
    };
    await expect(share(join(folder.path, "none"), { address })).rejects.toThrow("Authorization Violation");
    const wrong = await write("theirs.creds", theirs.credentials);
    await expect(share(join(folder.path, "wrong"), wrong)).rejects.toThrow("Authorization Violation");
    const gone = { address, credentials: join(folder.path, "gone.creds") };
    await expect(share(join(folder.path, "gone"), gone)).rejects.toThrow("gone.creds");
    await share(folder.path, await write("ours.creds", ours.credentials));
  });
});

/** How many servers store each change, and whether the status says that these are too few. */
async function replicasOf({ owner }: TestDaemon) {
  const { log, problems = [] } = (await owner.call("daemon/status")).result;
  return [log?.replicas, problems.some(problem => problem.includes("servers that it should be on"))];
}

describeWithNats("a log on a cluster", () => {
  test("is stored on three servers, also one that was made on a single one once somebody asks for that; the status says on how many", async () => {
    await using cluster = await startCluster();
    await using folder = await temporaryFolder();
    const addresses = cluster.servers.map(({ port }) => `127.0.0.1:${port}`);
    const single = { name: "team", subjects: ["repoconf.team"], num_replicas: 1 };
    await askServers(addresses, ({ streams }) => streams.add(single), 5_000);
    const start = async (machine: string, name: string, log: object = {}) => {
      const files = { "settings.json": { log: { address: `${cluster.url}/${name}`, machine, ...log } } };
      return startTestDaemon({ home: join(folder.path, machine), files });
    };
    await using laptop = await start("laptop", "team");
    expect(await replicasOf(laptop)).toEqual([1, true]);
    await laptop.addRepository("shop");
    await using desk = await start("desk", "team", { replicas: 3 });
    for (const daemon of [desk, laptop])
      await until(async () => JSON.stringify(await replicasOf(daemon)) === "[3,false]", "three servers");
    // The servers may have chosen a leader while it started.
    await until(async () => (await desk.owner.call("repo/list", { repo: "shop" })).result.length === 1, "the shop");
    expect((await desk.owner.call("config/set", { repo: "shop", "svc.timeout": 41 })).errors).toEqual([]);
    await using other = await start("other", "fresh");
    expect(await replicasOf(other)).toEqual([3, false]);
  });
});
