import { readFile } from "node:fs/promises";
import { isJsonObject } from "../shared/json.ts";
import type { Home } from "./home.ts";

/** `daemon.json`: how local tools find the running daemon. There while it runs; left behind only by a crash. */
export interface Endpoint {
  readonly protocol: number;
  readonly version: string;
  readonly pid: number;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly url: string;
  /** The path of the Unix socket, which nobody else can take; absent where there is none. */
  readonly socket?: string;
  readonly instanceId: string;
  /** Proves to who can read this file that the URL is this daemon's (`/identity`). */
  readonly instanceSecret: string;
}

/** What the file says, or undefined if there is none that makes sense. */
export async function readEndpoint(home: Home): Promise<Endpoint | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(home.endpointFile, "utf8"));
    return isEndpoint(value) ? value : undefined;
  } catch {
    // Not there, not readable or cut short by a crash: there is no daemon to be found by it.
    return undefined;
  }
}

function isEndpoint(value: unknown): value is Endpoint {
  return (
    isJsonObject(value) &&
    typeof value["protocol"] === "number" &&
    typeof value["pid"] === "number" &&
    (value["socket"] === undefined || typeof value["socket"] === "string") &&
    ["version", "startedAt", "url", "instanceId", "instanceSecret"].every(member => typeof value[member] === "string")
  );
}
