import { join } from "node:path";
import { isJsonObject } from "../../../../shared/json.ts";
import { DurableTextFile } from "../../../files/durable-text-file.ts";
import { UnreadableFileError } from "../../../files/unreadable-file-error.ts";
import type { Clock } from "../../../time/clock.ts";
import type { LogOptions } from "../../log/commit-log.ts";
import type { LogNumber } from "../../types.ts";

/** The file in the folder of the log with the shared log that the home follows, and the position that its histories contain. */
export const positionFileName = "stream.json";

/** The minimum of milliseconds between two writes of the file. After a crash, a start reads the entries since the last one again. */
const saveInterval = 1_000;

/** The content of the file: a position in a stream, right after this message. */
export interface StreamPosition {
  /** The log, and the name of its stream. */
  readonly id: string;
  readonly stream: string;
  /** The sequence of the message in the stream. */
  readonly sequence: number;
  /** The number of its last entry. */
  readonly number: LogNumber;
  /** The id of the message. */
  readonly message: string;
  /** Why none of this is known; never in the file. */
  readonly damage?: string;
}

export interface StreamFolders extends LogOptions {
  readonly temporaryFolder: string;
}

function positionIn(text: string): StreamPosition {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) throw new SyntaxError("no object");
  const { id, stream, sequence, number, message } = value;
  const isCount = (one: unknown) => Number.isSafeInteger(one) && Number(one) >= 0;
  const areTexts = typeof id === "string" && typeof stream === "string" && typeof message === "string";
  if (!areTexts || !isCount(sequence) || !isCount(number)) throw new SyntaxError("members are missing");
  return { id, stream, sequence: Number(sequence), number: Number(number), message };
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

  constructor({ folder, temporaryFolder, fileSystem, clock }: StreamFolders) {
    this.#clock = clock;
    const path = join(folder, positionFileName);
    const maximumBytes = 64 * 1024;
    this.#file = new DurableTextFile({ path, temporaryFolder, mode: 0o600, maximumBytes, fileSystem, clock });
  }

  /**
   * Undefined if the home follows no stream yet. From a damaged file, a position in a stream of this name that no server has, which also
   * does not count as a beginning: a home with it has diverged from its own. Throws the system's error.
   */
  async read(name: string): Promise<StreamPosition | undefined> {
    try {
      const text = await this.#file.read();
      return text === null ? undefined : positionIn(text);
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof UnreadableFileError)) throw error;
      const damage = `${this.#file.path}, which says how much of its shared log this home has, is damaged.`;
      return { id: "", stream: name, sequence: -1, number: 0, message: "", damage };
    }
  }

  /** Call when a message is applied. */
  advance(position: StreamPosition): void {
    this.#applied.push(position);
  }

  /** Call when the histories contain everything up to this entry. Throws the system's error. */
  async release(through: LogNumber): Promise<void> {
    const last = this.#applied.findLastIndex(({ number }) => number <= through);
    if (last === -1) return;
    this.#released = this.#applied[last];
    this.#applied = this.#applied.slice(last + 1);
    if (this.#clock.monotonic() >= this.#savedAt + saveInterval) await this.save();
  }

  /** Saves the last released position, or this one, durably, unless the file has it. Throws the system's error. */
  async save(position = this.#released): Promise<void> {
    if (position === undefined) return;
    this.#savedAt = this.#clock.monotonic();
    this.#released = undefined;
    await this.#file.write(`${JSON.stringify(position)}\n`);
  }
}
