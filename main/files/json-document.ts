import { type Adapter, Low } from "lowdb";
import type { JsonObject } from "../../shared/json.ts";
import { type Clock, systemClock } from "../clock.ts";
import {
  DurableTextFile,
  type DurableTextFileOptions,
  type FileStamp,
  UnreadableFileError,
} from "./durable-text-file.ts";
import { systemErrorCode } from "./file-system.ts";
import {
  formatJson,
  type JsonText,
  JsonTextError,
  readJsonText,
  rewriteJson,
  rewriteJsonInParts,
} from "./json-text.ts";
import type { MovedNames } from "./json-text-edits.ts";

/** What the file was when last checked or written. */
export type DocumentStatus =
  | { readonly kind: "good"; readonly json: JsonText }
  | { readonly kind: "missing" }
  | { readonly kind: "broken"; readonly message: string; readonly line?: number; readonly column?: number };

/** Thrown by `write` when someone else changed the file since it was last checked: nothing was written; look and decide again. */
export class ForeignEditError extends Error {
  override readonly name = "ForeignEditError";
}

/** The text would be larger than its file may be. */
export class DocumentTooLargeError extends Error {
  override readonly name = "DocumentTooLargeError";

  constructor() {
    super("the text would be larger than the file may be");
  }
}

/** Options of a write. */
interface AroundWrite {
  /** Puts a record of the text that the file is about to have on the disk. Runs beside the writing; the file is replaced only after it. */
  readonly record?: (text: string) => Promise<void>;
  /** Called when others see the new text. */
  readonly onReplaced?: (() => void) | undefined;
  /** Members that stay where they are, under a new name. */
  readonly moved?: MovedNames;
}

interface Found {
  readonly text: string | null | undefined;
  readonly status: DocumentStatus;
}

/** Waits before a file found gone or broken is believed: an editor may be between two steps of a save (250 ms in all). */
const stabilityDelays = [5, 15, 40, 90, 100];

export interface JsonDocumentOptions extends DurableTextFileOptions {
  /** The first look, too, waits before it believes that the file is gone or broken. */
  readonly isExpected?: boolean;
}

/**
 * A JSON file that people edit too: lowdb over text with comments over a durable file. It keeps the text last seen, so
 * that a write changes only what differs and never replaces an edit that nobody checked.
 */
export class JsonDocument {
  readonly #file: DurableTextFile;
  readonly #maximumBytes: number;
  readonly #clock: Clock;
  readonly #low: Low<JsonObject>;
  readonly #isExpected: boolean;
  #isRead = false;
  /** The text last seen: null when there was no file, undefined when it had none that can be read. */
  #text: string | null | undefined;
  #status: DocumentStatus = { kind: "missing" };
  /** Of the write under way, which lowdb hands the value alone. */
  #around: AroundWrite = {};

  constructor({ isExpected = false, ...options }: JsonDocumentOptions) {
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
   * Reads the file and tells whether its text differs from the one known. A file found gone or broken is read again for
   * 250 ms before that is believed.
   */
  async refresh(): Promise<boolean> {
    let found = await this.#readOnce(undefined);
    for (const milliseconds of this.#isRead || this.#isExpected ? stabilityDelays : []) {
      if (found === undefined || found.status.kind === "good") break;
      await this.#clock.delay(milliseconds);
      found = await this.#readOnce(found);
    }
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
   * Makes the file hold `value`, durably, changing only the text of what differs. Throws ForeignEditError,
   * DocumentTooLargeError, what `record` throws or the system's error; then file and memory are as they were, and `record`
   * has ended.
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
   * Writes the text that `write` would write beside the file; until that comes it is put on the disk. Throws ForeignEditError if
   * the file has changed by then, DocumentTooLargeError or the system's error.
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

  /** That will not be written. */
  dropPrepared(): Promise<void> {
    return this.#file.dropPrepared();
  }

  /**
   * What the file that the last write replaced holds, if somebody changed it in that moment or later; null if that is no JSON.
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

  /** Where that is kept. */
  get replacedPath(): string | undefined {
    return this.#file.replacedPath;
  }

  /** Lets go of it. */
  dropReplaced(): Promise<void> {
    return this.#file.dropReplaced();
  }

  /** How many bytes the file would have with this value. */
  bytesOf(value: JsonObject): number {
    const json = this.#status.kind === "good" ? rewriteJson(this.#status.json, value) : formatJson(value);
    return Buffer.byteLength(json.text);
  }

  /** The text last seen or written; null if there was no file, or none that can be read. */
  get text(): string | null {
    return this.#text ?? null;
  }

  /**
   * Puts a text in the place of the one last seen, as an editor does; the next refresh finds it. Throws ForeignEditError or the
   * system's error.
   */
  async replaceText(text: string): Promise<void> {
    await this.#file.write(text, { lastLook: () => this.#assertUntouched() });
  }

  /** As `replaceText`, whatever the file is now; `keep` is called right before it is replaced. */
  async overwriteText(text: string, keep: () => Promise<void>): Promise<void> {
    await this.#file.write(text, { keep });
  }

  #assertUntouched(): void {
    if (!this.#file.holds(this.text)) throw new ForeignEditError();
  }

  async #fittingTextOf(value: JsonObject, moved?: MovedNames): Promise<JsonText> {
    const { status: known } = this;
    const json = known.kind === "good" ? await rewriteJsonInParts(known.json, value, moved) : formatJson(value);
    if (Buffer.byteLength(json.text) > this.#maximumBytes) throw new DocumentTooLargeError();
    return json;
  }

  async #replace(value: JsonObject): Promise<void> {
    const { record, onReplaced, moved } = this.#around;
    const json = await this.#fittingTextOf(value, moved);
    const { text } = json;
    const recorded = record?.(text);
    // Waited for below; until then its failure has nobody to hear it.
    recorded?.catch(() => {});
    try {
      await this.#file.write(text, { ready: recorded, lastLook: () => this.#assertUntouched(), replaced: onReplaced });
    } finally {
      await recorded?.catch(() => {});
    }
    this.#text = text;
    this.#status = { kind: "good", json };
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

  /** Undefined: what is known already, or no way to tell now. `last` is what a moment ago was found. */
  async #readOnce(last: Found | undefined): Promise<Found | undefined> {
    let text: string | null | UnreadableFileError;
    try {
      text = await this.#readText();
    } catch (error) {
      // No file handle left: what is known stays, and a later look will tell.
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
