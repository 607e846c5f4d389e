import { type Adapter, Low } from "lowdb";
import type { JsonObject } from "../../shared/json.ts";
import { type Clock, systemClock } from "../time/clock.ts";
import {
  DurableTextFile,
  type DurableTextFileOptions,
  type FileStamp,
  type RecordedWrite,
  UnreadableFileError,
} from "./durable-text-file.ts";
import { systemErrorCode } from "./file-system.ts";
import { formatJson, type JsonText, JsonTextError, readJsonText, rewriteJsonInParts } from "./json-text.ts";
import type { MovedNames } from "./json-text-edits.ts";
import { readUntil } from "./read-until.ts";

/** The state of the file when last checked or written. */
export type DocumentStatus =
  | { readonly kind: "good"; readonly json: JsonText }
  | { readonly kind: "missing" }
  | { readonly kind: "broken"; readonly message: string; readonly line?: number; readonly column?: number };

/**
 * Thrown by `write` if someone else changed the file since it was last checked. Nothing was written: refresh, then decide again.
 */
export class ForeignEditError extends Error {
  override readonly name = "ForeignEditError";
}

/** The text would exceed the file's size limit, or what of it the author of a change may fill. */
export class DocumentTooLargeError extends Error {
  override readonly name = "DocumentTooLargeError";
  /** In bytes. */
  readonly limit: number;

  constructor(limit: number) {
    super(`the text would be larger than ${limit} bytes`);
    this.limit = limit;
  }
}

/** Options of a write. */
interface AroundWrite {
  /**
   * Durably records the text and the stamp that the file is about to have. The file is replaced only after it.
   */
  readonly record?: (text: string, stamp: FileStamp) => Promise<void>;
  /** Members that keep their place under a new name. */
  readonly moved?: MovedNames;
}

interface Found {
  readonly text: string | null | undefined;
  readonly status: DocumentStatus;
}

/**
 * A JSON file that people edit too: lowdb over a text with comments over a durable file. It remembers the text last seen, so that
 * a write changes only what differs and never overwrites an edit that nobody has read.
 */
export class JsonDocument {
  readonly #file: DurableTextFile;
  readonly #maximumBytes: number;
  readonly #clock: Clock;
  readonly #low: Low<JsonObject>;
  readonly #isExpected: boolean;
  readonly #mayCreate: () => boolean;
  #isRead = false;
  /** The text last seen; null if there was no file, undefined if it could not be read. */
  #text: string | null | undefined;
  #status: DocumentStatus = { kind: "missing" };
  /** The options of the write in progress, because lowdb only passes on the value. */
  #around: AroundWrite = {};

  /** `isExpected`: the first refresh also reads a missing or broken file again for 250 ms, as later ones do. */
  constructor(options: DurableTextFileOptions, isExpected = false) {
    this.#mayCreate = () => options.foreign?.mayCreate?.() ?? true;
    this.#file = new DurableTextFile(options);
    this.#isExpected = isExpected;
    this.#maximumBytes = options.maximumBytes;
    this.#clock = options.clock ?? systemClock;
    const adapter: Adapter<JsonObject> = {
      read: async () => (this.#status.kind === "good" ? this.#status.json.value : null),
      write: value => this.#replace(value),
    };
    this.#low = new Low<JsonObject>(adapter, {});
  }

  get path(): string {
    return this.#file.path;
  }

  get stamp(): FileStamp | undefined {
    return this.#file.stamp;
  }

  get status(): DocumentStatus {
    return this.#status;
  }

  /** The file's value; `{}` if it is missing or broken. */
  get value(): JsonObject {
    return this.#low.data;
  }

  /**
   * Reads the file and returns whether its text differs from the known one. A file that is missing or broken is read again for
   * 250 ms before that is believed.
   */
  async refresh(): Promise<boolean> {
    const waits = this.#isRead || this.#isExpected;
    let last: Found | undefined;
    const found = await readUntil(
      this.#clock,
      async () => {
        last = await this.#readOnce(last);
        return last;
      },
      one => !waits || one === undefined || one.status.kind === "good",
    );
    if (found === undefined) return false;
    this.#isRead = true;
    this.#text = found.text;
    this.#status = found.status;
    // Low.read keeps the old value if there is no file.
    this.#low.data = {};
    await this.#low.read();
    return true;
  }

  /**
   * Writes `value` durably, changing only the text that differs. Throws ForeignEditError, DocumentTooLargeError, what `record`
   * throws or the system's error; then file and memory are as before.
   */
  async write(value: JsonObject, around: AroundWrite = {}): Promise<void> {
    const before = this.#low.data;
    this.#low.data = value;
    this.#around = around;
    try {
      await this.#low.write();
    } catch (error) {
      this.#low.data = before;
      throw error;
    }
  }

  /**
   * Writes the text for `value` to the temporary file and starts to sync it, so that `write` only needs a rename. Throws
   * ForeignEditError if the file has changed, DocumentTooLargeError or the system's error.
   */
  async prepare(value: JsonObject, moved?: MovedNames): Promise<void> {
    await this.#file.prepare((await this.#fittingTextOf(value, moved)).text);
    try {
      this.#assertUntouched();
    } catch (error) {
      await this.dropPrepared();
      throw error;
    }
  }

  /** Like `prepare`, and waits until the text is on the disk. */
  async prepareSynced(value: JsonObject): Promise<void> {
    await this.prepare(value);
    await this.#file.preparedSynced();
  }

  /** Drops the prepared text, which will not be written. */
  dropPrepared(): Promise<void> {
    return this.#file.dropPrepared();
  }

  /**
   * The value in the replaced file, if somebody changed it at the moment of the last write or later; null if it is not valid
   * JSON.
   */
  async replacedEdit(): Promise<JsonObject | null | undefined> {
    const text = await this.#file.replacedEdit();
    if (text === undefined || text === this.#text) return undefined;
    try {
      return (await readJsonText(text)).value;
    } catch {
      return null;
    }
  }

  /** See `DurableTextFile.adoptLeft`. */
  adoptLeft(recorded: RecordedWrite): Promise<readonly string[]> {
    return this.#file.adoptLeft(recorded);
  }

  /** Where the replaced file is kept. */
  get replacedPath(): string | undefined {
    return this.#file.replacedPath;
  }

  /** Deletes the replaced file. */
  dropReplaced(): Promise<void> {
    return this.#file.dropReplaced();
  }

  /** The file's text with this value. */
  async textOf(value: JsonObject, moved?: MovedNames): Promise<JsonText> {
    const { status: known } = this;
    return known.kind === "good" ? rewriteJsonInParts(known.json, value, moved) : formatJson(value);
  }

  /** The text last seen or written; null if there was no file or it could not be read. */
  get text(): string | null {
    return this.#text ?? null;
  }

  /** Replaces the text last seen, as an editor does; the next refresh reads it. Throws ForeignEditError or the system's error. */
  async replaceText(text: string): Promise<void> {
    await this.#file.write(text, { assertUnchanged: () => this.#assertUntouched() });
  }

  /** Like `replaceText`, but overwrites the file whatever it contains; `keep` runs right before. */
  async overwriteText(text: string, keep: () => Promise<void>): Promise<void> {
    await this.#file.write(text, { keep });
  }

  #assertUntouched(): void {
    if (!this.#file.holds(this.text)) throw new ForeignEditError();
    if (this.text === null && !this.#mayCreate()) throw new ForeignEditError();
  }

  async #fittingTextOf(value: JsonObject, moved?: MovedNames): Promise<JsonText> {
    const json = await this.textOf(value, moved);
    if (Buffer.byteLength(json.text) > this.#maximumBytes) throw new DocumentTooLargeError(this.#maximumBytes);
    return json;
  }

  async #replace(value: JsonObject): Promise<void> {
    const { record, moved } = this.#around;
    const json = await this.#fittingTextOf(value, moved);
    const { text } = json;
    await this.#file.write(text, {
      record: record && (stamp => record(text, stamp)),
      assertUnchanged: () => this.#assertUntouched(),
    });
    this.#text = text;
    this.#status = { kind: "good", json };
  }

  /** The file's text, or null if it is missing. An UnreadableFileError is returned, not thrown. */
  async #readText(): Promise<string | null | UnreadableFileError> {
    try {
      return await this.#file.read();
    } catch (error) {
      if (error instanceof UnreadableFileError) return error;
      throw error;
    }
  }

  /** Undefined if nothing has changed or the file cannot be read now. `last` is what the previous read found. */
  async #readOnce(last: Found | undefined): Promise<Found | undefined> {
    let text: string | null | UnreadableFileError;
    try {
      text = await this.#readText();
    } catch (error) {
      // If no file handles are left, keep what is known. A later refresh reads the file.
      if (this.#isRead) return undefined;
      text = new UnreadableFileError(`it cannot be read now (${systemErrorCode(error) ?? String(error)})`);
    }
    if (text instanceof UnreadableFileError) {
      const known = this.#status.kind === "broken" && this.#text === undefined && this.#status.message === text.message;
      return known ? undefined : { text: undefined, status: { kind: "broken", message: text.message } };
    }
    if (this.#isRead && text === this.#text) return undefined;
    if (last !== undefined && last.text === text) return last;
    if (text === null) return { text, status: { kind: "missing" } };
    try {
      return { text, status: { kind: "good", json: await readJsonText(text) } };
    } catch (error) {
      if (!(error instanceof JsonTextError)) throw error;
      const { message, line, column } = error;
      return { text, status: { kind: "broken", message, line, column } };
    }
  }
}
