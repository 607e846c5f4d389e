import { Low } from "lowdb";
import { isJsonObject } from "../../../shared/json.ts";
import { DurableTextFile } from "./durable-text-file.ts";
import type { FileSystem } from "./file-system.ts";
import { JsonFile } from "./json-file.ts";
import type { IndexedRepository } from "./repository.ts";

interface IndexData {
  readonly format: 1;
  readonly repositories: { readonly [id: string]: IndexedRepository };
}

const empty: IndexData = { format: 1, repositories: {} };

/**
 * What was known of every repository when the daemon last ran, so that a start reads no repository's file. A cache:
 * missing or damaged it is made anew, and where a file differs from it the file is right.
 */
export class RepositoryIndex {
  readonly #low: Low<IndexData>;

  constructor(path: string, temporaryPath: string, fileSystem: FileSystem) {
    const file = new DurableTextFile({ path, temporaryPath, mode: 0o600, maximumBytes: 1024 ** 3, fileSystem });
    this.#low = new Low<IndexData>(new JsonFile(file, parseIndex), empty);
  }

  /** By id; empty, and `damaged` says why, if there is nothing that can be used. */
  async read(): Promise<{ repositories: ReadonlyMap<string, IndexedRepository>; damaged?: string }> {
    try {
      await this.#low.read();
    } catch (error) {
      return { repositories: new Map(), damaged: error instanceof Error ? error.message : String(error) };
    }
    return { repositories: new Map(Object.entries(this.#low.data.repositories)) };
  }

  async write(repositories: Iterable<IndexedRepository>): Promise<void> {
    this.#low.data = { format: 1, repositories: Object.fromEntries([...repositories].map(entry => [entry.id, entry])) };
    await this.#low.write();
  }
}

function parseIndex(value: unknown): IndexData | null {
  if (!isJsonObject(value) || value["format"] !== 1 || !isJsonObject(value["repositories"])) return null;
  const wellFormed = Object.entries(value["repositories"]).every(
    ([id, entry]) =>
      isJsonObject(entry) &&
      entry["id"] === id &&
      typeof entry["name"] === "string" &&
      typeof entry["inTree"] === "boolean" &&
      Number.isSafeInteger(entry["revision"]) &&
      Number.isSafeInteger(entry["modified"]) &&
      Array.isArray(entry["health"]) &&
      isJsonObject(entry["stamps"]),
  );
  // Every member that is used has been checked.
  return wellFormed ? (value as unknown as IndexData) : null;
}
