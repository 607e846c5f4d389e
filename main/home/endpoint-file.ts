import { statSync } from "node:fs";
import { isJsonObject } from "../../shared/json.ts";
import { readHomeFile } from "../files/foreign-file.ts";
import type { Home } from "./home.ts";

interface Bytes {
  readonly bytes: { toString(): string };
}

/** Reads a file of the home, at once or soon; null if it is missing. Named without Node's types, which the typed client's users may lack. */
export type ReadHomeFile = (path: string) => Bytes | null | Promise<Bytes | null>;

/** `daemon.json`: how local tools find the running daemon. It exists while the daemon runs; only a crash leaves it behind. */
export interface Endpoint {
  readonly protocol: number;
  readonly version: string;
  readonly pid: number;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly url: string;
  /** Which folder the home is, by `folderNumber`: in a copy of the home, the file leads to the daemon of the original. */
  readonly home?: string;
  /** The path of the Unix socket, which no other process can bind; absent on systems without Unix sockets. */
  readonly socket?: string;
  readonly instanceId: string;
  /** With it, anyone who can read this file can verify that the URL is this daemon's (`/identity`). */
  readonly instanceSecret: string;
}

/** Reads the endpoint; undefined if the file is missing, invalid, or that of another home. */
export async function readEndpoint(home: Home, read: ReadHomeFile = readHomeFile): Promise<Endpoint | undefined> {
  const found = await readAnyEndpoint(home, read);
  return found === undefined || isForeign(home, found) ? undefined : found;
}

/** Whether the file is there and leads to the daemon of another home, of which this one is a copy. */
export async function hasCopiedEndpoint(home: Home): Promise<boolean> {
  const found = await readAnyEndpoint(home, readHomeFile);
  return found !== undefined && isForeign(home, found);
}

async function readAnyEndpoint(home: Home, read: ReadHomeFile): Promise<Endpoint | undefined> {
  try {
    const value: unknown = JSON.parse((await read(home.endpointFile))?.bytes.toString() ?? "");
    return isEndpoint(value) ? value : undefined;
  } catch {
    // Missing, unreadable or truncated by a crash: no daemon can be found with it.
    return undefined;
  }
}

function isForeign({ folder }: Home, { home }: Endpoint): boolean {
  return home !== undefined && home !== folderNumber(folder);
}

/** Distinguishes a folder from every other one, also if it is renamed: its disk and its number there. Undefined if it cannot be read. */
export function folderNumber(folder: string): string | undefined {
  try {
    const { dev, ino } = statSync(folder, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

function isEndpoint(value: unknown): value is Endpoint {
  return (
    isJsonObject(value) &&
    typeof value["protocol"] === "number" &&
    typeof value["pid"] === "number" &&
    ["socket", "home"].every(member => value[member] === undefined || typeof value[member] === "string") &&
    ["version", "startedAt", "url", "instanceId", "instanceSecret"].every(member => typeof value[member] === "string")
  );
}
