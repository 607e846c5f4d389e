import { isAbsolute } from "node:path";
import { Low } from "lowdb";
import pLimit from "p-limit";
import { isJsonObject } from "../../../shared/json.ts";
import { isRepositoryId } from "../../../shared/repository-id.ts";
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
  readonly #inTurn = pLimit(1);

  constructor(path: string, temporaryFolder: string, fileSystem: FileSystem) {
    const file = new DurableTextFile({ path, temporaryFolder, mode: 0o600, maximumBytes: 1024 ** 3, fileSystem });
    this.#low = new Low<IndexData>(new JsonFile(file, parseIndex), empty);
  }

  /** By id; empty, and `unknown` says why, if there is nothing that can be used. */
  async read(): Promise<{ repositories: ReadonlyMap<string, IndexedRepository>; unknown?: "missing" | "damaged" }> {
    try {
      await this.#low.read();
    } catch {
      return { repositories: new Map(), unknown: "damaged" };
    }
    if (this.#low.data === empty) return { repositories: new Map(), unknown: "missing" };
    return { repositories: new Map(Object.entries(this.#low.data.repositories)) };
  }

  /** `entries` is asked when it is this write's turn. */
  write(entries: () => readonly IndexedRepository[]): Promise<void> {
    return this.#inTurn(async () => {
      this.#low.data = { format: 1, repositories: Object.fromEntries(entries().map(entry => [entry.id, entry])) };
      await this.#low.write();
    });
  }
}

function parseIndex(value: unknown): IndexData {
  if (!isJsonObject(value) || value["format"] !== 1 || !isJsonObject(value["repositories"]))
    throw new SyntaxError("it is no index");
  const wellFormed = Object.entries(value["repositories"]).every(
    ([id, entry]) =>
      isJsonObject(entry) &&
      entry["id"] === id &&
      isRepositoryId(id) &&
      (entry["path"] === undefined || (typeof entry["path"] === "string" && isAbsolute(entry["path"]))) &&
      typeof entry["name"] === "string" &&
      typeof entry["inTree"] === "boolean" &&
      Number.isSafeInteger(entry["revision"]) &&
      Number.isSafeInteger(entry["modified"]) &&
      Array.isArray(entry["health"]) &&
      isJsonObject(entry["stamps"]),
  );
  if (!wellFormed) throw new SyntaxError("one of its entries is not of the right form");
  // Every member that is used has been checked.
  return value as unknown as IndexData;
}
