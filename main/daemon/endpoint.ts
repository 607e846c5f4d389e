import { createHmac, randomBytes } from "node:crypto";
import { readFile, unlink } from "node:fs/promises";
import { isJsonObject } from "../../shared/json.ts";
import { protocolVersion } from "../../shared/protocol.ts";
import { type Home, privateFile } from "./home.ts";
import { systemErrorCode } from "./store/file-system.ts";

/** `daemon.json`: how local tools find the running daemon. There while it runs; left behind only by a crash. */
export interface Endpoint {
  readonly protocol: typeof protocolVersion;
  readonly version: string;
  readonly pid: number;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly url: string;
  readonly instanceId: string;
  /** Proves to who can read this file that the URL is this daemon's (`/identity`). */
  readonly instanceSecret: string;
}

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

/** What the file says, or undefined if there is none that makes sense. */
export async function readEndpoint(home: Home): Promise<Pick<Endpoint, "pid" | "url" | "version"> | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(home.endpointFile, "utf8"));
    if (!isJsonObject(value)) return undefined;
    const { pid, url, version } = value;
    return typeof pid === "number" && typeof url === "string" && typeof version === "string"
      ? { pid, url, version }
      : undefined;
  } catch {
    return undefined;
  }
}

export async function removeEndpoint(home: Home): Promise<void> {
  try {
    await unlink(home.endpointFile);
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
  }
}

const nonce = /^[0-9a-f]{32,128}$/i;

/** The answer to `GET /identity?nonce=N`; undefined for a nonce that is not 32 to 128 hexadecimal digits. */
export function identityProof(endpoint: Endpoint, asked: string | null): string | undefined {
  if (asked === null || !nonce.test(asked)) return undefined;
  return createHmac("sha256", endpoint.instanceSecret)
    .update(`repoconf identity 1\n${endpoint.url}\n${asked}`)
    .digest("hex");
}
