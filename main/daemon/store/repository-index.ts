import { isAbsolute } from "node:path";
import { Low } from "lowdb";
import pLimit from "p-limit";
import { isJsonObject } from "../../../shared/json.ts";
import { isRepositoryId } from "../../../shared/repository-id.ts";
import type { Clock } from "../../clock.ts";
import { DurableTextFile } from "../../files/durable-text-file.ts";
import type { FileSystem } from "../../files/file-system.ts";
import { JsonFile } from "../../files/json-file.ts";
import { homeFormat } from "../home.ts";
import { ajvForOwnSchemas } from "../own-schemas.ts";
import type { IndexedRepository } from "./repository-state.ts";

export interface IndexData {
  /** The home's format. Revisions in an index of an older format are ignored. */
  readonly format: typeof homeFormat;
  readonly repositories: { readonly [id: string]: IndexedRepository };
}

const stamp = {
  type: "object",
  properties: { size: { type: "number" }, mtimeMs: { type: "number" }, ino: { type: "number" } },
  required: ["size", "mtimeMs", "ino"],
};
const count = { type: "integer", minimum: 0 };

/** The schema of every member that is used. A file that does not match is ignored. */
export const indexSchema = {
  type: "object",
  properties: {
    format: { enum: [2, homeFormat] },
    repositories: {
      type: "object",
      additionalProperties: {
        type: "object",
        properties: {
          id: { type: "string" },
          name: { type: "string" },
          path: { type: "string" },
          remote: { type: "string" },
          inTree: { type: "boolean" },
          revision: count,
          modified: count,
          health: {
            type: "array",
            items: {
              type: "object",
              properties: { code: { enum: [1011, 1103, 1104, 1106, 1108, 1114, 1115] }, message: { type: "string" } },
              required: ["code", "message"],
            },
          },
          text: { type: "string" },
          position: { type: "string" },
          stamps: { type: "object", properties: { home: stamp, tree: stamp } },
        },
        required: ["id", "name", "inTree", "revision", "modified", "health", "stamps"],
      },
    },
  },
  required: ["format", "repositories"],
};

const empty: IndexData = { format: homeFormat, repositories: {} };

/**
 * Caches what the daemon knew of every repository when it last ran, so that a start reads no repository's file. If it is missing or
 * damaged, it is created again; where a file differs from it, the file counts.
 */
export class RepositoryIndex {
  readonly #low: Low<IndexData>;
  readonly #inTurn = pLimit(1);

  constructor(path: string, temporaryFolder: string, fileSystem: FileSystem, clock: Clock) {
    const file = new DurableTextFile({
      path,
      temporaryFolder,
      mode: 0o600,
      maximumBytes: 1024 ** 3,
      fileSystem,
      clock,
    });
    this.#low = new Low<IndexData>(new JsonFile(file, parseIndex), empty);
  }

  /** The content; empty if the file cannot be used. */
  async read(): Promise<{ readonly data: IndexData; readonly damaged: boolean }> {
    try {
      await this.#low.read();
      return { data: this.#low.data, damaged: false };
    } catch {
      return { data: empty, damaged: true };
    }
  }

  /** Writes the index. `collect` is called when it is this write's turn. */
  write(collect: () => IndexData["repositories"]): Promise<void> {
    return this.#inTurn(async () => {
      this.#low.data = { format: homeFormat, repositories: collect() };
      await this.#low.write();
    });
  }
}

function parseIndex(value: unknown): IndexData {
  if (isJsonObject(value) && value["format"] === 1) return empty;
  const validate = ajvForOwnSchemas().compile<IndexData>(indexSchema);
  if (!validate(value)) throw new SyntaxError("it does not have the form of an index");
  const { repositories } = value;
  for (const id in repositories) {
    const { id: named, path } = repositories[id] ?? {};
    const usable = id === named && isRepositoryId(id) && (path === undefined || isAbsolute(path));
    if (!usable) throw new SyntaxError("one of its entries is invalid");
  }
  return value;
}
