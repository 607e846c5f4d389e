import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { projectFolder } from "../../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** Connects a socket to the given URL with the given key. */
const connecting = `
import { createRequire } from "node:module";
const { io } = createRequire(${JSON.stringify(join(projectFolder, "package.json"))})("socket.io-client");
const [url, apiKey, repo] = process.argv.slice(2);
const socket = io(url, { auth: { apiKey }, transports: ["websocket"], reconnection: false });
`;

/** A client that watches everything and then says so; the test stops the process. */
const watcher = `${connecting}
socket.on("connect", () => socket.emit("svc", "config", "watch", {}, () => process.send("watching")));
`;

test("a watcher that stops reading is disconnected, with a reason in the log, and does not fill the memory", async () => {
  await using t = await startTestDaemon();
  await using folder = await temporaryFolder();
  const repo = await t.addRepository();
  const script = join(folder.path, "watcher.mjs");
  await writeFile(script, watcher);
  const child = fork(script, [t.url, t.ownerKey]);
  try {
    await once(child, "message");
    child.kill("SIGSTOP");
    let count = 0;
    await until(async () => {
      const image = `${count++}`.padEnd(200_000, "x");
      await t.owner.call("config/set", { repo, "svc.services": { big: { ready: "", image } } });
      return t.log.some(line => line.includes("bytes of unread events"));
    }, "the slow one to be dropped");
    const { result } = await t.owner.call("daemon/status");
    expect(result).toMatchObject({ sockets: 1, refusals: { limit: 1 } });
  } finally {
    child.kill("SIGKILL");
  }
});

/** A client that keeps asking for a list, and reads none of the replies. */
const asking = `${connecting}
socket.on("connect", () => {
  socket.io.engine.transport.ws.pause();
  setInterval(() => socket.emit("svc", "config", "list", { repo }, () => {}), 1);
});
`;

test("a client that does not read its replies is disconnected, even if the replies are prepared", async () => {
  await using t = await startTestDaemon();
  await using folder = await temporaryFolder();
  const repo = await t.addRepository();
  await t.owner.call("config/set", { repo, "svc.services": { big: { ready: "", image: "x".repeat(200_000) } } });
  const script = join(folder.path, "asking.mjs");
  await writeFile(script, asking);
  const child = fork(script, [t.url, t.ownerKey, repo]);
  try {
    await until(
      async () => t.log.some(line => line.includes("bytes of unread events")),
      "the client to be disconnected",
    );
  } finally {
    child.kill("SIGKILL");
  }
});
