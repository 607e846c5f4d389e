import { randomBytes } from "node:crypto";
import { unlink } from "node:fs/promises";
import { protocolVersion } from "../../shared/protocol.ts";
import type { Endpoint } from "../endpoint-file.ts";
import type { Home } from "../home.ts";
import { privateFile } from "./home.ts";
import { systemErrorCode } from "./store/file-system.ts";

export function newEndpoint(url: string, version: string, startedAt: Date): Endpoint {
  return {
    protocol: protocolVersion,
    version,
    pid: process.pid,
    startedAt: startedAt.toISOString(),
    url,
    instanceId: randomBytes(12).toString("hex"),
    instanceSecret: randomBytes(32).toString("hex"),
  };
}

export async function writeEndpoint(home: Home, endpoint: Endpoint): Promise<void> {
  await privateFile(home, home.endpointFile).write(`${JSON.stringify(endpoint, null, 2)}\n`);
}

export async function removeEndpoint(home: Home): Promise<void> {
  try {
    await unlink(home.endpointFile);
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
  }
}
