import type { FileSystem, FolderIdentity } from "../../files/file-system.ts";
import { hasMark, inTreeFileName, moveIn } from "./work-tree.ts";

/** What of a folder's identity a restart of the system does not change. */
export type RecordedFolder = Pick<FolderIdentity, "inode" | "isMount">;

export interface WorkTreeFolderOptions {
  readonly id: string;
  readonly path: string;
  /** The file in the home that points to the folder. */
  readonly pointer: string;
  readonly fileSystem: FileSystem;
  /** The folder that had the file, or none, when the daemon last ran; undefined if it is not known. */
  readonly recorded: RecordedFolder | undefined;
  /** Whether a person has just named this folder, so that it needs no other proof. */
  readonly isChosen: boolean;
}

/**
 * The folder of an in-tree repository. If the file is missing there, that only means something in the very folder: where its disk is not
 * mounted, an empty folder is in its place. A folder is known by our mark in its git folder, by inode and mount, or, as long as the
 * daemon runs, by its device.
 */
export class WorkTreeFolder {
  readonly #options: WorkTreeFolderOptions;
  /** The folder when its file was last there, or when it was known that there is none. */
  #known: FolderIdentity | undefined;

  constructor(options: WorkTreeFolderOptions) {
    this.#options = options;
  }

  /** For the next start; undefined if it is not known which folder it is. */
  get recorded(): RecordedFolder | undefined {
    if (this.#known === undefined) return this.#options.recorded;
    const { inode, isMount } = this.#known;
    return { inode, isMount };
  }

  /** Runs `read`, which tells whether the file is there, and returns why its absence means nothing; undefined if it does. */
  async read(read: () => Promise<boolean>): Promise<string | undefined> {
    const { id, path, fileSystem } = this.#options;
    // Before and after, because a disk may be mounted or unmounted in between.
    const before = await fileSystem.identityOf(path);
    if (await read()) {
      if (before !== undefined) await this.#accept(before);
      return undefined;
    }
    const after = await fileSystem.identityOf(path);
    if (after === undefined) return `the folder ${path} does not exist`;
    const isSame = before?.device === after.device && before.inode === after.inode;
    if (!isSame || !(await this.#isKnown(after)))
      return `${path} has no ${inTreeFileName} and may be another folder than the one that had it, for example because its disk is not mounted. Mount the disk, or, if this is the right folder, run: repoconf repo move ${id} ${path}`;
    await this.#accept(after);
    return undefined;
  }

  /** Whether the known folder is still there. Synchronous, so that the answer is still true when the file is created. */
  isThere(): boolean {
    const now = this.#options.fileSystem.identityNow(this.#options.path);
    return now !== undefined && now.device === this.#known?.device;
  }

  async #isKnown({ device, inode, isMount }: FolderIdentity): Promise<boolean> {
    const { path, pointer, recorded, isChosen } = this.#options;
    if (this.#known !== undefined) return device === this.#known.device;
    if (isChosen || (recorded?.inode === inode && recorded.isMount === isMount)) return true;
    return hasMark(path, pointer);
  }

  async #accept(folder: FolderIdentity): Promise<void> {
    const isFirst = this.#known === undefined;
    this.#known = folder;
    if (isFirst) await moveIn(this.#options.path, this.#options.pointer);
  }
}
