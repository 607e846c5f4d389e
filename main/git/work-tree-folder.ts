import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type { FileSystem, FolderIdentity } from "../files/file-system.ts";
import { readHead } from "./git.ts";
import { type GitEvidence, gitEvidence, inTreeFileName, markDigits, moveIn } from "./work-tree.ts";

/** What of a folder's identity a restart of the system does not change. */
export interface RecordedFolder extends Omit<FolderIdentity, "device"> {
  /** The digits of the mark that was seen in its git folder. Absent if none could be left there. */
  readonly mark?: string;
}

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
  /** Git's name of the linked worktree that it is, if it is one that was not added itself. */
  readonly linked?: string | undefined;
}

const noEvidence: GitEvidence = { isOwn: false, isMarked: false };

/**
 * The folder of an in-tree repository. At the same path, another one may be by now: an empty folder where its disk is not mounted, or a
 * stranger's. A folder is known by our mark in its git folder; where none could be left, by inode and mount, or, as long as the
 * daemon runs, by its device and inode. An inode only counts with the time when its folder was created: others have it later, and the
 * outermost folders of all disks have the same. A folder without git that has the file is accepted as it is.
 */
export class WorkTreeFolder {
  readonly #options: WorkTreeFolderOptions;
  /** The folder when its file was last there, or when it was known that there is none. */
  #known: FolderIdentity | undefined;
  /** The digits of our mark, once it was seen. */
  #mark: string | undefined;
  /** Git's folder of the work tree when its files were last read, if it is its own. */
  #gitFolder: string | undefined;

  constructor(options: WorkTreeFolderOptions) {
    this.#options = options;
  }

  /** For the next start; undefined if it is not known which folder it is. */
  get recorded(): RecordedFolder | undefined {
    if (this.#known === undefined) return this.#options.recorded;
    const { device: _, ...recorded } = this.#known;
    return { ...recorded, ...(this.#mark !== undefined && { mark: this.#mark }) };
  }

  /** Runs `read`, which tells whether the file is there, and returns why that means nothing; undefined if it does. */
  async read(read: () => Promise<boolean>): Promise<string | undefined> {
    const { path, fileSystem } = this.#options;
    // Before and after, because a disk may be mounted or unmounted in between.
    const before = await fileSystem.identityOf(path);
    const evidence = await this.#evidence(before).catch((error: Error) => error);
    if (evidence instanceof Error) return `git's files of ${path} cannot be read: ${evidence.message}`;
    this.#gitFolder = evidence.gitFolder;
    const foreign = before && (await this.#foreign(before, evidence));
    // A stranger's file is none of ours, whatever is in it.
    if (foreign !== undefined) return foreign;
    if (await read()) {
      if (before !== undefined) await this.#accept(before, evidence);
      return undefined;
    }
    const after = await fileSystem.identityOf(path);
    const problem = this.#absence(before, after, evidence);
    if (problem === undefined && after !== undefined) await this.#accept(after, evidence);
    return problem;
  }

  /**
   * Why the folder that is there now is not the repository's, or, if it lacks the file, why that means nothing; undefined if all is well.
   * Changes nothing. Throws what says nothing about it.
   */
  async findProblem(hasFile: boolean): Promise<string | undefined> {
    const now = await this.#options.fileSystem.identityOf(this.#options.path);
    const evidence = await this.#evidence(now);
    const foreign = now && (await this.#foreign(now, evidence));
    return foreign ?? (hasFile ? undefined : this.#absence(now, now, evidence));
  }

  /** See `readHead` of git.ts; undefined also if it is in no work tree of git. */
  async readHead(): Promise<string | undefined> {
    return this.#gitFolder === undefined ? undefined : readHead(this.#gitFolder);
  }

  /** Whether the known folder is still there. Synchronous, so that the answer is still true when the file is created. */
  isThere(): boolean {
    return isSame(this.#known, this.#options.fileSystem.identityNow(this.#options.path));
  }

  /** None if there is no folder, or its disk does not answer: then its file tells. */
  async #evidence(folder: FolderIdentity | undefined): Promise<GitEvidence> {
    const { path, pointer } = this.#options;
    return folder === undefined ? noEvidence : gitEvidence(path, pointer);
  }

  /** Why it is a stranger's folder; undefined if it is ours, or nothing tells. */
  async #foreign(folder: FolderIdentity, { root, isOwn, isMarked, linked }: GitEvidence): Promise<string | undefined> {
    const { id, path, recorded, isChosen, linked: name } = this.#options;
    const isWorktree = name === undefined || linked !== undefined;
    if (isWorktree && (isMarked || (isChosen && this.#known === undefined))) return undefined;
    const isLast = this.#known === undefined ? isSameInode(recorded, folder) : isSame(this.#known, folder);
    const wasMarked = await this.#wasMarked();
    if (name !== undefined)
      return isLast && !wasMarked && name === linked
        ? undefined
        : `${path} may be another folder than the linked worktree "${name}", because git does not say that it is that one. If it was moved by hand, run in it: git worktree repair`;
    // Its git folder was moved or removed: another clone's would be its own.
    if (this.#known !== undefined && isLast && !isOwn) return undefined;
    const isFirst = this.#known === undefined && recorded === undefined;
    if (!wasMarked && (isLast || isFirst || root === undefined)) return undefined;
    return `${path} may be another folder than the one of ${id}, because its git folder does not have the mark of that. Mount the disk, or, if this is the right folder, such as a new clone, run: repoconf repo move ${id} ${path}`;
  }

  /** Whether our mark was in the folder: then nothing else is a proof. */
  async #wasMarked(): Promise<boolean> {
    const { recorded } = this.#options;
    if (this.#known !== undefined) return this.#mark !== undefined;
    // A home that was moved has other marks.
    return recorded?.mark !== undefined && recorded.mark === (await this.#digits());
  }

  async #digits(): Promise<string> {
    const { pointer } = this.#options;
    return markDigits(await realpath(pointer).catch(() => pointer));
  }

  /** Why a missing file means nothing; undefined if it does. */
  #absence(
    before: FolderIdentity | undefined,
    after: FolderIdentity | undefined,
    evidence: GitEvidence,
  ): string | undefined {
    const { id, path } = this.#options;
    if (after === undefined)
      return `the folder ${path} does not exist. Mount its disk, or, if it moved, run: repoconf repo move ${id} FOLDER`;
    if (!isSame(before, after) || !this.#isKnown(after, evidence))
      return `${path} has no ${inTreeFileName} and may be another folder than the one that had it, for example because its disk is not mounted. Mount the disk, or, if this is the right folder, run: repoconf repo move ${id} ${path}`;
    return undefined;
  }

  #isKnown(folder: FolderIdentity, { root, isMarked }: GitEvidence): boolean {
    const { path, recorded, isChosen } = this.#options;
    if (this.#known !== undefined ? isSame(this.#known, folder) : isChosen) return true;
    const isRecorded = isSameInode(recorded, folder) && recorded?.isMount === folder.isMount;
    // In a folder below the work tree's outermost one, a disk may be mounted or not.
    return (this.#known === undefined && isRecorded) || (isMarked && root === resolve(path));
  }

  async #accept(folder: FolderIdentity, { isMarked }: GitEvidence): Promise<void> {
    const { path, pointer } = this.#options;
    const isFirst = !isSame(this.#known, folder);
    this.#known = folder;
    if (isMarked) {
      this.#mark ??= await this.#digits();
      return;
    }
    if (!isFirst) return;
    await moveIn(path, pointer);
    const { isMarked: isMarkedNow } = await this.#evidence(folder).catch(() => noEvidence);
    this.#mark = isMarkedNow ? await this.#digits() : undefined;
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
