import { writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSession } from "../../main/cli/session.ts";
import { startTestDaemon } from "../helpers/daemon.ts";

test("a command whose daemon comes up, by another command, between its first try and its second look uses that one", async () => {
  await using t = await startTestDaemon();
  const path = join(t.homeFolder, "daemon.json");
  const endpoint = await readFile(path, "utf8");
  // What the command finds first is no daemon; by the time it knows, there is one.
  let asked = 0;
  const stranger = createServer();
  stranger.on("upgrade", (_request, socket) => {
    asked++;
    writeFileSync(path, endpoint);
    socket.end("HTTP/1.1 503 Service Unavailable\r\n\r\n");
  });
  await new Promise<void>(listening => stranger.listen(0, "127.0.0.1", listening));
  await using _ = { [Symbol.asyncDispose]: () => new Promise<void>(closed => void stranger.close(() => closed())) };
  const address = stranger.address();
  const port = typeof address === "object" ? address?.port : undefined;
  await writeFile(
    path,
    JSON.stringify({ ...JSON.parse(endpoint), url: `http://127.0.0.1:${port}`, socket: undefined }),
  );

  using session = await openSession({ home: t.homeFolder, start: true });
  expect(asked).toBeGreaterThan(0);
  const { home } = await session.client.run("daemon/status", {});
  expect(home).toBe(t.homeFolder);
});
