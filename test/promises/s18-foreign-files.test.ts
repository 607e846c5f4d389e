import { spawnSync } from "node:child_process";
import { chmod, mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectClient, type TestClient } from "../helpers/daemon.ts";
import { canMountDeadDisk, endDeadDisk, onDeadDisk } from "../helpers/dead-disk.ts";
import { repoconfCommand, spawnDaemon } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

async function makeWorkTree(folder: string): Promise<string> {
  await mkdir(join(folder, ".git"), { recursive: true });
  await writeFile(join(folder, ".git", "HEAD"), "ref: refs/heads/main\n");
  await writeFile(join(folder, ".repoconf.json"), `{ "config": { "svc": { "timeout": 30 } } }\n`);
  return folder;
}

function setTimeoutOf(client: TestClient, repo: string, timeout: number) {
  return client.call("config/set", { repo, "svc.timeout": timeout, flush: true });
}

test.skipIf(!canMountDeadDisk())(
  "a disk that does not answer keeps its own repositories from being read until it answers, and no others",
  async () => {
    await using work = await temporaryFolder();
    await using home = await temporaryFolder();
    const disk = join(work.path, "disk");
    const holder = join(work.path, "holder");
    const far = ["a", "b", "c", "d", "e"];
    {
      await using daemon = await spawnDaemon(["--port", "0"], home.path);
      const client = await connectClient(daemon.url, daemon.ownerKey);
      const add = (id: string, path: string) => client.call("repo/add", { id, name: id, path, inTree: true });
      for (const id of far) await add(id, await makeWorkTree(join(disk, id)));
      await add("near", await makeWorkTree(join(work.path, "near")));
      await client.call("repo/add", { id: "home", name: "home" });
      for (const id of far) expect((await setTimeoutOf(client, id, 31)).errors).toEqual([]);
      client.socket.close();
      expect(await daemon.end("SIGTERM")).toBe(0);
    }
    const start = () => spawnDaemon(["--port", "0"], home.path, [], repoconfCommand, onDeadDisk(disk, holder));
    {
      await using daemon = await start();
      const client = await connectClient(daemon.url, daemon.ownerKey);
      const refused = await Promise.all(far.map(id => setTimeoutOf(client, id, 32)));
      expect(refused.map(({ errors: [error] }) => error?.code)).toEqual(far.map(() => 1106));
      for (const id of ["near", "home"]) expect((await setTimeoutOf(client, id, 33)).errors).toEqual([]);
      for (const repo of far)
        expect((await client.call("config/list", { repo })).result["svc"]).toMatchObject({ timeout: 31 });
      const { result } = await client.call("repo/list");
      const { health } = result.find(({ id }) => id === "a") ?? {};
      expect(health).toMatchObject([{ code: 1106, message: expect.stringContaining(`${disk} has not answered`) }]);
      endDeadDisk(disk, holder, daemon.process.pid ?? 0);
      for (const id of far) expect((await setTimeoutOf(client, id, 34)).errors).toEqual([]);
      client.socket.close();
      expect(await daemon.end("SIGTERM")).toBe(0);
    }
    {
      await using daemon = await start();
      const client = await connectClient(daemon.url, daemon.ownerKey);
      await setTimeoutOf(client, "a", 35);
      client.socket.close();
      // Node's own exit would wait for the call.
      expect(await daemon.end("SIGTERM")).toBe(null);
      expect(daemon.process.signalCode).toBe("SIGKILL");
      endDeadDisk(disk, holder, 0);
    }
  },
);
