import { connect } from "node:net";
import { expect, test } from "vitest";
import { spawnDaemon } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

test("requests that arrive during startup are answered and do not end the daemon, as one at the wrong moment once did", async () => {
  await using home = await temporaryFolder();
  const first = await spawnDaemon(["--port", "0"], home.path);
  const { host, port } = new URL(first.url);
  await first.end("SIGTERM");
  let isOver = false;
  let asked = 0;
  let answered = 0;
  const ask = () => {
    if (isOver) return;
    let answer = "";
    const socket = connect(Number(port), "127.0.0.1", () => {
      asked++;
      socket.end(`GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    });
    socket.setEncoding("utf8").on("data", part => {
      answer += part;
    });
    // The daemon is not listening yet, or no longer.
    socket.on("error", () => {});
    socket.on("close", () => {
      if (answer.includes("alive")) answered++;
      setImmediate(ask);
    });
  };
  for (let count = 0; count < 8; count++) ask();
  for (let start = 0; start < 5; start++) {
    await using daemon = await spawnDaemon(["--port", port], home.path);
    expect(await daemon.end("SIGTERM")).toBe(0);
  }
  isOver = true;
  expect(asked).toBeGreaterThan(0);
  expect(answered).toBeGreaterThan(0);
});
