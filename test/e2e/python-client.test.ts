import { expect, test } from "vitest";
import { python } from "../helpers/python.ts";
import { runProcess, spawnDaemon } from "../helpers/spawned-daemon.ts";

/** Sends 64 requests before it waits for a reply; prints the transport, and how many were answered. */
const program = `
import sys, threading
import socketio

url, key, transports = sys.argv[1:]
client = socketio.Client(reconnection=False)
client.connect(url, auth={"apiKey": key}, transports=transports.split(","), wait_timeout=60)
replies = threading.Semaphore(0)
for _ in range(64):
    client.emit("svc", ("scope", "list", {}), callback=lambda reply: replies.release())
answered = 0
while answered < 64 and replies.acquire(timeout=60):
    answered += 1
print(client.transport(), answered)
client.disconnect()
`;

test.skipIf(python === undefined).each([
  ["polling", "polling"],
  ["websocket", "websocket"],
  ["polling,websocket", "websocket"],
])(
  python === undefined
    ? "skipped: no python3-socketio: %s"
    : "64 requests at once of the usual Python client with the transports %s are all answered, over %s",
  async (transports, used) => {
    await using daemon = await spawnDaemon();
    const args = ["-c", program, daemon.url, daemon.ownerKey, transports];
    const { output, errorOutput } = await runProcess(python ?? "", args);
    expect(errorOutput).toBe("");
    expect(output).toBe(`${used} 64\n`);
  },
);
