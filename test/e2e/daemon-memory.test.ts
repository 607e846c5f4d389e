import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectClient } from "../helpers/daemon.ts";
import { openKeptMemory } from "../helpers/kept-memory.ts";
import { ranBy, reportRun } from "../helpers/report-loaded.ts";
import { spawnDaemon } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const mebibyte = 1024 ** 2;

test("a daemon with its own log runs no code of shared logs, backups, metrics and clients", async () => {
  await using daemon = await spawnDaemon(["--port", "0"], undefined, reportRun);
  const client = await connectClient(daemon.url, daemon.ownerKey);
  await client.call("repo/add", { name: "shop", id: "shop" });
  await client.call("config/set", { repo: "shop", flush: true, "svc.timeout": 30 });
  expect(await daemon.end("SIGTERM")).toBe(0);
  const ran = [...ranBy(daemon.errorOutput())];
  expect(ran).toEqual(expect.arrayContaining(["main/daemon/daemon.ts", "main/store/log/file-log.ts", "socket.io"]));
  const foreign =
    /^(@nats-io|prom-client|tweetnacl|socket\.io-client|main\/client\/|main\/cli\/(backup|doctor|get|session)\b|.*\/stream-log\.ts$)/;
  expect(ran.filter(name => foreign.test(name))).toEqual([]);
});

test("an indexed repository that nobody read takes at most two kilobytes, and memory used during startup is freed", async () => {
  const count = 3_000;
  await using home = await temporaryFolder();
  const folder = join(home.path, "repos");
  await mkdir(folder);
  const indices = Array.from({ length: count }, (_, index) => index);
  await Promise.all(indices.map(index => writeFile(join(folder, `r${index}.json`), `{ "config": {} }\n`)));
  {
    await using first = await spawnDaemon(["--port", "0"], home.path);
    await readList(first);
    expect(await first.end("SIGTERM")).toBe(0);
  }
  const taken = await memoryOf(home.path);
  await using empty = await temporaryFolder();
  const { kept } = await memoryOf(empty.path);
  expect(taken.repositories).toBe(1);
  expect((taken.kept - kept) / count).toBeLessThan(2_048);
  // With half of it, sets at full speed take a third longer.
  expect(taken.roomForNew).toBeGreaterThan(7 * mebibyte);
  expect(taken.roomForNew).toBeLessThan(10 * mebibyte);
});

async function memoryOf(home: string) {
  await using daemon = await spawnDaemon(["--port", "0"], home, ["--inspect=0"]);
  const repositories = await readList(daemon);
  using memory = await openKeptMemory(daemon.errorOutput);
  const roomForNew = await memory.readRoomForNew();
  return { repositories, roomForNew, kept: await memory.read() };
}

/** Lists the repositories. The reply comes once the files have been compared with the index. */
async function readList({ url, ownerKey }: { readonly url: string; readonly ownerKey: string }): Promise<number> {
  const client = await connectClient(url, ownerKey);
  const { result } = await client.call("repo/list", { limit: 1 });
  client.socket.close();
  return result.length;
}
