import { setTimeout as delay } from "node:timers/promises";
import { type Adapter, Low } from "lowdb";
import type { JsonObject } from "../../../shared/json.ts";
import {
  DurableTextFile,
  type DurableTextFileOptions,
  type FileStamp,
  UnreadableFileError,
} from "./durable-text-file.ts";
import { systemErrorCode } from "./file-system.ts";
import { formatJsonText, type JsonText, JsonTextError, parseJsonText, rewriteJsonText } from "./json-text.ts";

/** What the file was when last looked at or written. */
export type DocumentStatus =
  | { readonly kind: "good"; readonly json: JsonText }
  | { readonly kind: "gone" }
  | { readonly kind: "broken"; readonly message: string; readonly line?: number; readonly column?: number };

/** Thrown by `write` when someone else changed the file since it was last looked at: nothing was written; look and decide again. */
export class ForeignEditError extends Error {
  override readonly name = "ForeignEditError";
}

/** The text would be larger than its file may be. */
export class DocumentTooLargeError extends Error {
  override readonly name = "DocumentTooLargeError";
}

/** Waits before a file found gone or broken is believed: an editor may be between two steps of a save (250 ms in all). */
const settleDelays = [5, 15, 40, 90, 100];

/**
 * A JSON file that people edit too: lowdb over text with comments over a durable file. It keeps the text last seen, so
 * that a write changes only what differs and never replaces an edit that nobody looked at.
 */
export class JsonDocument {
  readonly #file: DurableTextFile;
  readonly #maximumBytes: number;
  readonly #low: Low<JsonObject>;
  /** The text last seen: null when there was no file, undefined before the first look. */
  #text: string | null | undefined;
  #status: DocumentStatus = { kind: "gone" };

  constructor(options: DurableTextFileOptions) {
    this.#file = new DurableTextFile(options);
    this.#maximumBytes = options.maximumBytes;
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

  /** What the file holds; `{}` when it is gone or broken. */
  get value(): JsonObject {
    return this.#low.data;
  }

  /**
   * Reads the file and tells whether its text differs from the one known. A file found gone or broken is read again for
   * 250 ms before that is believed.
   */
  async look(): Promise<boolean> {
    const first = this.#text === undefined;
    let found = await this.#lookOnce();
    for (const milliseconds of first ? [] : settleDelays) {
      if (found === undefined || found.status.kind === "good") break;
      await delay(milliseconds);
      found = await this.#lookOnce();
    }
    if (found === undefined) return false;
    this.#text = found.text;
    this.#status = found.status;
    // Low.read keeps what it had when there is nothing to read.
    this.#low.data = {};
    await this.#low.read();
    return true;
  }

  /**
   * Makes the file hold `value`, durably, changing only the text of what differs. Throws ForeignEditError,
   * DocumentTooLargeError or the system's error; then file and memory are as they were.
   */
  async write(value: JsonObject): Promise<void> {
    const before = this.#low.data;
    this.#low.data = value;
    try {
      await this.#low.write();
    } catch (error) {
      this.#low.data = before;
      throw error;
    }
  }

  async #replace(value: JsonObject): Promise<void> {
    const text = this.#status.kind === "good" ? rewriteJsonText(this.#status.json, value) : formatJsonText(value);
    if (Buffer.byteLength(text) > this.#maximumBytes) throw new DocumentTooLargeError();
    const known = this.#text ?? null;
    await this.#file.write(text, async () => {
      if ((await this.#readText()) !== known) throw new ForeignEditError();
    });
    this.#text = text;
    this.#status = { kind: "good", json: parseJsonText(text) };
  }

  /** The file's text, null if gone; an unreadable file reads as something that equals no text. */
  async #readText(): Promise<string | null | UnreadableFileError> {
    try {
      return await this.#file.read();
    } catch (error) {
      if (error instanceof UnreadableFileError) return error;
      throw error;
    }
  }

  /** Undefined: the very text that is known, or no way to tell now. */
  async #lookOnce(): Promise<{ text: string | null; status: DocumentStatus } | undefined> {
    let text: string | null | UnreadableFileError;
    try {
      text = await this.#readText();
    } catch (error) {
      // No file handle left: what is known stays, and a later look will tell.
      if (this.#text !== undefined) return undefined;
      text = new UnreadableFileError(`it cannot be read now (${systemErrorCode(error) ?? String(error)})`);
    }
    if (text instanceof UnreadableFileError) {
      // It has no text to be known by; the empty one is broken too.
      const known = this.#status.kind === "broken" && this.#status.message === text.message;
      return known ? undefined : { text: "", status: { kind: "broken", message: text.message } };
    }
    if (text === this.#text) return undefined;
    if (text === null) return { text, status: { kind: "gone" } };
    try {
      return { text, status: { kind: "good", json: parseJsonText(text) } };
    } catch (error) {
      if (!(error instanceof JsonTextError)) throw error;
      const { message, line, column } = error;
      return { text, status: { kind: "broken", message, line, column } };
    }
  }
}
