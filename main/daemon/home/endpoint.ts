import { randomBytes } from "node:crypto";
import { stat, unlink } from "node:fs/promises";
import { protocolVersion } from "../../../shared/protocol.ts";
import { UnreadableFileError } from "../../files/durable-text-file.ts";
import { type FileSystem, ignoreMissing, systemErrorCode } from "../../files/file-system.ts";
import { readUntil } from "../../files/read-until.ts";
import { type Endpoint, folderNumber } from "../../home/endpoint-file.ts";
import type { Home } from "../../home/home.ts";
import { HomeError, privateFile } from "../../home/prepare-home.ts";
import type { Clock } from "../../time/clock.ts";
import type { HeldHome } from "./held-home.ts";

export function newEndpoint(
  { url, socket }: { readonly url: string; readonly socket?: string | undefined },
  version: string,
  startedAt: Date,
  { folder }: Home,
): Endpoint {
  const number = folderNumber(folder);
  return {
    protocol: protocolVersion,
    version,
    pid: process.pid,
    startedAt: startedAt.toISOString(),
    url,
    ...(socket !== undefined && { socket }),
    ...(number !== undefined && { home: number }),
    instanceId: randomBytes(12).toString("hex"),
    instanceSecret: randomBytes(32).toString("hex"),
  };
}

/** daemon.json: written when the daemon answers, kept while it runs, and removed at its end. */
export class EndpointFile {
  readonly #held: HeldHome;
  readonly #clock: Clock;
  readonly #fileSystem: FileSystem;
  #written: Endpoint | undefined;

  constructor(held: HeldHome, clock: Clock, fileSystem: FileSystem) {
    this.#held = held;
    this.#clock = clock;
    this.#fileSystem = fileSystem;
  }

  /** Throws HomeError if the disk has no space for it. */
  async write(endpoint: Endpoint): Promise<void> {
    await writeEndpoint(this.#held.home, endpoint, this.#fileSystem);
    this.#written = endpoint;
  }

  /** Writes it again if it is missing or was changed. Returns whether it did. */
  async keep(): Promise<boolean> {
    const { home } = this.#held;
    return this.#written !== undefined && keepEndpoint(home, this.#written, this.#clock, this.#fileSystem);
  }

  async remove(): Promise<void> {
    // If the home was replaced, the file belongs to another daemon.
    if (this.#written !== undefined && this.#held.check()) await removeEndpoint(this.#held.home);
  }
}

/**
 * Writes daemon.json. On a full disk it uses the space that an earlier start reserved for this, so that clients can still
 * read. Throws HomeError if there is no space at all.
 */
async function writeEndpoint(home: Home, endpoint: Endpoint, fileSystem: FileSystem): Promise<void> {
  const write = () => privateFile(home, home.endpointFile, fileSystem).write(textOf(endpoint));
  try {
    await write();
  } catch (error) {
    if (systemErrorCode(error) === "EISDIR")
      throw new HomeError(
        `${home.endpointFile} is a folder, and the daemon needs its place for a file. Move it away, and start the daemon again.`,
      );
    if (!isFull(error)) throw error;
    await unlink(home.reserveFile).catch(() => {});
    await write().catch(failure => {
      if (!isFull(failure)) throw failure;
      throw new HomeError(`The disk of ${home.folder} is full. Free some space and retry.`);
    });
    return;
  }
  // This fails on a full disk, but no start depends on it.
  await keepRoom(home, fileSystem).catch(() => {});
}

/** For daemon.json and other files that grow by a block meanwhile. Random, because a compressing disk would reserve nothing. */
const reserveBytes = 16 * 1024;

async function keepRoom(home: Home, fileSystem: FileSystem): Promise<void> {
  const { size } = await stat(home.reserveFile).catch(() => ({ size: 0 }));
  if (size >= reserveBytes) return;
  await privateFile(home, home.reserveFile, fileSystem).write(randomBytes(reserveBytes * 0.75).toString("base64"));
}

/** No space is left on the disk, or none for this user. */
function isFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(systemErrorCode(error) ?? "");
}

async function keepEndpoint(home: Home, endpoint: Endpoint, clock: Clock, fileSystem: FileSystem): Promise<boolean> {
  const text = textOf(endpoint);
  try {
    const file = privateFile(home, home.endpointFile);
    // Somebody may be replacing it, or removing the home.
    const found = await readUntil(
      clock,
      () => file.read(),
      one => one === text,
    );
    if (found === text) return false;
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
  }
  await writeEndpoint(home, endpoint, fileSystem);
  return true;
}

async function removeEndpoint(home: Home): Promise<void> {
  await unlink(home.endpointFile).catch(ignoreMissing);
}

function textOf(endpoint: Endpoint): string {
  return `${JSON.stringify(endpoint, null, 2)}\n`;
}
