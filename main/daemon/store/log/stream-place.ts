import { join } from "node:path";
import type { Clock } from "../../../clock.ts";
import { DurableTextFile } from "../../../files/durable-text-file.ts";
import type { FileSystem } from "../../../files/file-system.ts";
import type { LogNumber } from "./commit-log.ts";

/** In the folder of the log: which shared log a home follows, and how far its histories have come. */
export const placeFileName = "stream.json";

/** How long, in milliseconds, what was released may not be on the disk: a start reads so much more, and passes it over. */
const keepTime = 1_000;

/** A place in the stream: behind this message. */
export interface Place {
  readonly sequence: number;
  /** Of its last entry. */
  readonly number: LogNumber;
  readonly message: string;
}

/** What is kept in the home: which log, and up to where its histories have it. */
export interface Kept extends Place {
  readonly id: string;
  readonly stream: string;
}

export interface StreamPlaceOptions {
  readonly folder: string;
  readonly temporaryFolder: string;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
}

/** Keeps in a home how far its histories have the stream, which is behind what was taken in. */
export class StreamPlace {
  readonly #file: DurableTextFile;
  readonly #clock: Clock;
  /** Places behind what was taken in, the oldest first; and the last one that was released, until the file has it. */
  #places: Place[] = [];
  #released: Place | undefined;
  #keptAt = Number.NEGATIVE_INFINITY;

  constructor({ folder, temporaryFolder, fileSystem, clock }: StreamPlaceOptions) {
    this.#clock = clock;
    const path = join(folder, placeFileName);
    const maximumBytes = 64 * 1024;
    this.#file = new DurableTextFile({ path, temporaryFolder, mode: 0o600, maximumBytes, fileSystem, clock });
  }

  /** Undefined: the home follows no stream yet. Throws the system's error. */
  async read(): Promise<Kept | undefined> {
    const text = await this.#file.read();
    return text === null ? undefined : (JSON.parse(text) as Kept);
  }

  /** Whether there is anything to be released. */
  get hasReached(): boolean {
    return this.#places.length > 0;
  }

  /** Whether a place was released that the file does not have yet. */
  get isBehind(): boolean {
    return this.#released !== undefined;
  }

  reach(place: Place): void {
    this.#places.push(place);
  }

  /** The histories have all up to this entry. Tells whether the file is to know of it now. */
  release(through: LogNumber): boolean {
    const last = this.#places.findLast(({ number }) => number <= through);
    if (last === undefined) return false;
    this.#places = this.#places.slice(this.#places.indexOf(last) + 1);
    this.#released = last;
    return this.#clock.monotonic() >= this.#keptAt + keepTime;
  }

  /** Durably: what was released last, or else `place`. Throws the system's error. */
  async keep(log: Pick<Kept, "id" | "stream">, place: Place): Promise<void> {
    this.#keptAt = this.#clock.monotonic();
    const kept: Kept = { ...log, ...(this.#released ?? place) };
    this.#released = undefined;
    await this.#file.write(`${JSON.stringify(kept)}\n`);
  }
}
