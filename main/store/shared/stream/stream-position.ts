import { join } from "node:path";
import { DurableTextFile } from "../../../files/durable-text-file.ts";
import type { FileSystem } from "../../../files/file-system.ts";
import type { Clock } from "../../../time/clock.ts";
import type { LogNumber } from "../../types.ts";

/** The file in the folder of the log with the shared log that the home follows, and the position that its histories contain. */
export const positionFileName = "stream.json";

/** The minimum of milliseconds between two writes of the file. After a crash, a start reads the entries since the last one again. */
const saveInterval = 1_000;

/** A position in the stream: right after this message. */
export interface StreamPosition {
  /** The sequence of the message in the stream. */
  readonly sequence: number;
  /** The number of its last entry. */
  readonly number: LogNumber;
  /** The id of the message. */
  readonly message: string;
}

/** The content of the file: the log, and the position up to which the histories of the home contain it. */
export interface StoredPosition extends StreamPosition {
  readonly id: string;
  readonly stream: string;
}

export interface StreamPositionFileOptions {
  readonly folder: string;
  readonly temporaryFolder: string;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
}

/** Stores the position up to which the histories of a home contain the stream. Applied messages may be ahead of it. */
export class StreamPositionFile {
  readonly #file: DurableTextFile;
  readonly #clock: Clock;
  /** Positions that were applied and not released, oldest first. */
  #applied: StreamPosition[] = [];
  /** The last position that was released, until it is saved. */
  #released: StreamPosition | undefined;
  #savedAt = Number.NEGATIVE_INFINITY;

  constructor({ folder, temporaryFolder, fileSystem, clock }: StreamPositionFileOptions) {
    this.#clock = clock;
    const path = join(folder, positionFileName);
    const maximumBytes = 64 * 1024;
    this.#file = new DurableTextFile({ path, temporaryFolder, mode: 0o600, maximumBytes, fileSystem, clock });
  }

  /** Undefined if the home follows no stream yet. Throws the system's error. */
  async read(): Promise<StoredPosition | undefined> {
    const text = await this.#file.read();
    return text === null ? undefined : (JSON.parse(text) as StoredPosition);
  }

  /** Whether any position can be released. */
  get canRelease(): boolean {
    return this.#applied.length > 0;
  }

  /** Whether a released position is not saved yet. */
  get isUnsaved(): boolean {
    return this.#released !== undefined;
  }

  /** Call when a message is applied. */
  advance(position: StreamPosition): void {
    this.#applied.push(position);
  }

  /** Call when the histories contain everything up to this entry. Returns true if the position should be saved now. */
  release(through: LogNumber): boolean {
    const last = this.#applied.findLast(({ number }) => number <= through);
    if (last === undefined) return false;
    this.#applied = this.#applied.slice(this.#applied.indexOf(last) + 1);
    this.#released = last;
    return this.#clock.monotonic() >= this.#savedAt + saveInterval;
  }

  /** Saves the last released position durably, or `position` if none was released. Throws the system's error. */
  async save(log: Pick<StoredPosition, "id" | "stream">, position: StreamPosition): Promise<void> {
    this.#savedAt = this.#clock.monotonic();
    const stored: StoredPosition = { ...log, ...(this.#released ?? position) };
    this.#released = undefined;
    await this.#file.write(`${JSON.stringify(stored)}\n`);
  }
}
