import { hash } from "node:crypto";
import pLimit from "p-limit";
import { DurableTextFile } from "../../files/durable-text-file.ts";
import type { FileSystem } from "../../files/file-system.ts";
import type { RecordedFolder } from "../../git/work-tree-folder.ts";
import type { Clock } from "../../time/clock.ts";
import type { FileStamps } from "../mirror/repository-files.ts";
import type { Position, RepositoryState, RepositorySummary } from "../types.ts";

/** The index's entry of a repository, used until its files are read. */
export interface IndexedRepository extends RepositorySummary, Pick<RepositoryState, "position"> {
  readonly stamps: FileStamps;
  /** Whether the file of the values had every commit. */
  readonly isLevel?: true;
  /** The end of its history, as `endOf` tells it. */
  readonly history?: string;
  /** Identifies the folder of an in-tree repository. */
  readonly folder?: RecordedFolder;
  /** What counts over all layers, if there are several; the other members are of the shared one. */
  readonly counted?: Pick<RepositorySummary, "modified" | "health">;
}

export interface IndexData {
  readonly repositories: { readonly [id: string]: IndexedRepository };
  /** The documents of layers. */
  readonly layers?: { readonly [id: string]: IndexedRepository };
  /** The end of the log. */
  readonly log?: Position;
  /** Marks a clean stop, after which nothing was written, if the log is marked with the same. */
  readonly stop?: string;
}

const empty: IndexData = { repositories: {} };

/** The end of the index's text: a checksum of everything before it. */
function checksumOf(text: string): string {
  return `,"checksum":"${hash("sha256", text)}"}\n`;
}

const checksumLength = checksumOf("").length;

/**
 * Caches what the daemon knew of every repository when it last ran, so that a start reads no repository's file. If it is missing or
 * damaged, it is created again; where a file differs from it, the file counts.
 */
export class RepositoryIndex {
  readonly #file: DurableTextFile;
  readonly #lock = pLimit(1);

  constructor(path: string, temporaryFolder: string, fileSystem: FileSystem, clock: Clock) {
    const maximumBytes = 1024 ** 3;
    this.#file = new DurableTextFile({ path, temporaryFolder, mode: 0o600, maximumBytes, fileSystem, clock });
  }

  /**
   * The content; empty if the file cannot be used. A start with 10,000 repositories reads megabytes: comparing a checksum takes a tenth
   * of the time that validating every entry would.
   */
  async read(): Promise<{ readonly data: IndexData; readonly damaged: boolean }> {
    const text = await this.#file.read().catch(() => "");
    if (text === null) return { data: empty, damaged: false };
    const content = text.slice(0, -checksumLength);
    if (text.slice(-checksumLength) !== checksumOf(content)) return { data: empty, damaged: true };
    return { data: JSON.parse(text), damaged: false };
  }

  /** Writes the index. `collect` is called when it is this write's turn. */
  write(collect: () => IndexData): Promise<void> {
    return this.#lock(() => {
      const content = JSON.stringify(collect()).slice(0, -1);
      return this.#file.write(content + checksumOf(content));
    });
  }
}
