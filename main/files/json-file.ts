import type { Adapter } from "lowdb";
import type { DurableTextFile } from "./durable-text-file.ts";

/**
 * lowdb's adapter for a JSON file that only the daemon writes (the index, the keys): no comments to keep. Null if there
 * is none; throws what the file below throws, and SyntaxError for text that is no JSON.
 */
export class JsonFile<Data> implements Adapter<Data> {
  readonly #file: DurableTextFile;
  readonly #parse: (value: unknown) => Data;

  /** `parse` takes what the file holds and gives it its type; it throws SyntaxError if that is not of the expected shape. */
  constructor(file: DurableTextFile, parse: (value: unknown) => Data) {
    this.#file = file;
    this.#parse = parse;
  }

  async read(): Promise<Data | null> {
    const text = await this.#file.read();
    return text === null ? null : this.#parse(JSON.parse(text));
  }

  async write(data: Data): Promise<void> {
    await this.#file.write(`${JSON.stringify(data)}\n`);
  }
}
