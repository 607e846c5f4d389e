import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runProcess } from "./spawned-daemon.ts";

/** A Python that has the usual Socket.IO client with both of its transports: python3-socketio, python3-requests and python3-websocket. */
export const python: string | undefined = await findPython();

/** Tries Debian's own Python first, because only that finds Debian's packages; another one may come first in the PATH. */
async function findPython(): Promise<string | undefined> {
  for (const command of ["/usr/bin/python3", "python3"]) {
    const imports = "import socketio, requests, websocket";
    const found = await runProcess(command, ["-c", imports]).catch(() => undefined);
    if (found?.code === 0) return command;
  }
  return undefined;
}

/** Environment variables with which Python does not find python3-websocket, as if only the others were installed. */
export async function withoutWebSocket(folder: string): Promise<{ readonly [name: string]: string }> {
  await writeFile(join(folder, "websocket.py"), `raise ImportError("not installed")\n`);
  return { PYTHONPATH: folder };
}
