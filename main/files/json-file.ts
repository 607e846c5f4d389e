import type { Adapter } from "lowdb";
import type { DurableTextFile } from "./durable-text-file.ts";

/**
 * lowdb's adapter for a JSON file that only the daemon writes (the index, the keys), without comments. Null if there is none.
 * Throws what the file below throws, and SyntaxError if it is not valid JSON.
 */
export class JsonFile<Data> implements Adapter<Data> {
  readonly #file: DurableTextFile;
  readonly #parse: (value: unknown) => Data;

  /** `parse` checks the file's content and gives it its type; it throws SyntaxError if the shape is wrong. */
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
