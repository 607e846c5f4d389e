import { writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSession } from "../../../main/cli/connect/session.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";

test("a command uses a daemon that another command started between its first attempt and its second check", async () => {
  await using t = await startTestDaemon();
  const path = join(t.homeFolder, "daemon.json");
  const endpoint = await readFile(path, "utf8");
  // The command first finds a server that is not a daemon; by the time it notices, a daemon is running.
  let upgrades = 0;
  const otherServer = createServer();
  otherServer.on("upgrade", (_request, socket) => {
    upgrades++;
    writeFileSync(path, endpoint);
    socket.end("HTTP/1.1 503 Service Unavailable\r\n\r\n");
  });
  await new Promise<void>(listening => otherServer.listen(0, "127.0.0.1", listening));
  await using _ = { [Symbol.asyncDispose]: () => new Promise<void>(closed => void otherServer.close(() => closed())) };
  const address = otherServer.address();
  const port = typeof address === "object" ? address?.port : undefined;
  await writeFile(
    path,
    JSON.stringify({ ...JSON.parse(endpoint), url: `http://127.0.0.1:${port}`, socket: undefined }),
  );

  using session = await openSession({ home: t.homeFolder, start: true });
  expect(upgrades).toBeGreaterThan(0);
  const { home } = await session.client.run("daemon/status", {});
  expect(home).toBe(t.homeFolder);
});
