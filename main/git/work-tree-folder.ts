import type { FileSystem, FolderIdentity } from "../files/file-system.ts";
import { hasMark, inTreeFileName, moveIn } from "./work-tree.ts";

/** What of a folder's identity a restart of the system does not change. */
export type RecordedFolder = Omit<FolderIdentity, "device">;

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
 * daemon runs, by its device and inode. An inode only counts with the time when its folder was created: others have it later, and the
 * outermost folders of all disks have the same.
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
    const { device: _, ...recorded } = this.#known;
    return recorded;
  }

  /** Runs `read`, which tells whether the file is there, and returns why its absence means nothing; undefined if it does. */
  async read(read: () => Promise<boolean>): Promise<string | undefined> {
    const { path, fileSystem } = this.#options;
    // Before and after, because a disk may be mounted or unmounted in between.
    const before = await fileSystem.identityOf(path);
    if (await read()) {
      if (before !== undefined) await this.#accept(before);
      return undefined;
    }
    const after = await fileSystem.identityOf(path);
    const problem = await this.#problemOf(before, after);
    if (problem === undefined && after !== undefined) await this.#accept(after);
    return problem;
  }

  /** Why the absence of the file means nothing in the folder that is there now; undefined if it does. Changes nothing. */
  async findProblem(): Promise<string | undefined> {
    const now = await this.#options.fileSystem.identityOf(this.#options.path);
    return this.#problemOf(now, now);
  }

  /** Whether the known folder is still there. Synchronous, so that the answer is still true when the file is created. */
  isThere(): boolean {
    return isSame(this.#known, this.#options.fileSystem.identityNow(this.#options.path));
  }

  async #problemOf(before: FolderIdentity | undefined, after: FolderIdentity | undefined): Promise<string | undefined> {
    const { id, path } = this.#options;
    if (after === undefined)
      return `the folder ${path} does not exist. Mount its disk, or, if it moved, run: repoconf repo move ${id} FOLDER`;
    if (!isSame(before, after) || !(await this.#isKnown(after)))
      return `${path} has no ${inTreeFileName} and may be another folder than the one that had it, for example because its disk is not mounted. Mount the disk, or, if this is the right folder, run: repoconf repo move ${id} ${path}`;
    return undefined;
  }

  async #isKnown(folder: FolderIdentity): Promise<boolean> {
    const { path, pointer, recorded, isChosen } = this.#options;
    if (this.#known !== undefined ? isSame(this.#known, folder) : isChosen) return true;
    const isRecorded = isSameInode(recorded, folder) && recorded?.isMount === folder.isMount;
    return (this.#known === undefined && isRecorded) || hasMark(path, pointer);
  }

  async #accept(folder: FolderIdentity): Promise<void> {
    const isFirst = this.#known === undefined;
    this.#known = folder;
    if (isFirst) await moveIn(this.#options.path, this.#options.pointer);
  }
}

/** Whether both are the same folder, within one run of the system. */
function isSame(one: FolderIdentity | undefined, other: FolderIdentity | undefined): boolean {
  return one?.device === other?.device && isSameInode(one, other);
}

function isSameInode(one: RecordedFolder | undefined, other: RecordedFolder | undefined): boolean {
  if (one === undefined || other === undefined || one.inode !== other.inode) return false;
  return one.created === undefined || other.created === undefined || one.created === other.created;
}
