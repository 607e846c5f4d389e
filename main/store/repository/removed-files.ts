import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { keepFile, moveFile } from "../../files/durable-text-file.ts";
import type { FileSystem } from "../../files/file-system.ts";
import type { Clock } from "../../time/clock.ts";
import { storageFailure } from "../storage-failure.ts";

/** The home's folder for files that were removed or replaced, so that a person can restore them. */
export class RemovedFiles {
  readonly #folder: string;
  readonly #fileSystem: FileSystem;
  readonly #clock: Clock;

  constructor(folder: string, fileSystem: FileSystem, clock: Clock) {
    this.#folder = folder;
    this.#fileSystem = fileSystem;
    this.#clock = clock;
  }

  /** A path with an unused name, because existing files must not be overwritten. */
  async #place(name: string): Promise<string> {
    for (let time = this.#clock.now(); ; time++) {
      const path = join(this.#folder, `${name}.${new Date(time).toISOString().replaceAll(":", "-")}.json`);
      const isFree = await lstat(path).then(
        () => false,
        () => true,
      );
      if (isFree) return path;
    }
  }

  /** Copies a file into the folder. Returns the path of the copy; undefined if there is no such file. Throws the system's error. */
  async keep(name: string, path: string): Promise<string | undefined> {
    const kept = await this.#place(name);
    return (await keepFile(path, kept, this.#fileSystem, this.#clock)) ? kept : undefined;
  }

  /** Moves a repository's file into the folder. Returns its new path; undefined if it was already deleted by hand. Throws RepoconfError 1108. */
  async putAside(id: string, path: string): Promise<string | undefined> {
    const movedTo = await this.#place(id);
    try {
      const moved = await moveFile(path, movedTo, this.#fileSystem, this.#clock);
      return moved ? movedTo : undefined;
    } catch (error) {
      throw storageFailure(id, error);
    }
  }
}
