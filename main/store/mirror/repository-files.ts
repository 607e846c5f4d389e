import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Config } from "../../../shared/config.ts";
import { isJsonObject } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import type { HealthProblem } from "../../../shared/protocol.ts";
import {
  type DurableTextFileOptions,
  type FileStamp,
  foreignStampOf,
  sameStamp,
} from "../../files/durable-text-file.ts";
import type { FileSystem } from "../../files/file-system.ts";
import { JsonDocument } from "../../files/json-document.ts";
import { gitFolderBeside, inTreeFileName } from "../../git/work-tree.ts";
import { type RecordedFolder, WorkTreeFolder } from "../../git/work-tree-folder.ts";
import type { Clock } from "../../time/clock.ts";
import type { RepositoryMetadata, StorePaths } from "../types.ts";
import { fileProblem, shapeProblem } from "./file-problems.ts";
import { readMetadata } from "./repository-metadata.ts";

/** What the files of a repository hold now, or why they cannot be used. */
export type RepositoryContent =
  | { readonly kind: "good"; readonly metadata: RepositoryMetadata; readonly config: Config }
  | { readonly kind: "broken"; readonly metadata?: RepositoryMetadata; readonly problem: HealthProblem };

/** The versions of a repository's files that were last read or written. */
export interface FileStamps {
  readonly home?: FileStamp | undefined;
  readonly tree?: FileStamp | undefined;
}

export function sameStamps(one: FileStamps, other: FileStamps): boolean {
  return sameStamp(one.home, other.home) && sameStamp(one.tree, other.tree);
}

export interface IndexedTree {
  readonly path?: string;
  readonly folder?: RecordedFolder;
}

interface FilesContext {
  readonly paths: Pick<StorePaths, "repositories" | "local" | "temporary">;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
}

export interface RepositoryFilesOptions {
  /** The file was there a while ago, so one that is broken or missing may be in the middle of a save. */
  readonly isExpected?: boolean;
  /** The repository has just been added. */
  readonly isNew?: boolean;
  readonly indexed?: IndexedTree | undefined;
  /** It is the local layer of a repository: the file has nothing but values, and never points to a work tree. */
  readonly isLocal?: boolean;
}

/**
 * The one or two files of a repository: `repos/<id>.json` in the home, which holds name, path and values, or, in-tree,
 * points to `<path>/.repoconf.json`, which holds the values.
 */
export class RepositoryFiles {
  readonly home: JsonDocument;
  #tree: JsonDocument | undefined;
  #treeFolder: WorkTreeFolder | undefined;
  /** Why the file is not there, if it is not that the work tree has none. */
  #folderProblem: string | undefined;
  readonly #id: string;
  /** What both files have in common. */
  readonly #options: Pick<DurableTextFileOptions, "maximumBytes" | "keepsReplaced"> & Omit<FilesContext, "paths">;
  /** The work tree that the index knows. */
  readonly #indexed: IndexedTree | undefined;
  readonly #isLocal: boolean;
  /** Whether a person has just named the folder of the work tree. */
  #isFolderChosen: boolean;

  constructor(
    id: string,
    { paths, fileSystem, clock }: FilesContext,
    { isExpected = false, isNew = false, indexed, isLocal = false }: RepositoryFilesOptions = {},
  ) {
    this.#id = id;
    this.#isLocal = isLocal;
    this.#options = { maximumBytes: limits.repositoryFileBytes, keepsReplaced: true, fileSystem, clock };
    this.#indexed = indexed;
    this.#isFolderChosen = isNew;
    const path = join(isLocal ? paths.local : paths.repositories, `${id}.json`);
    // The shared file has the same name: what a write leaves of a private one must never be taken for its.
    const temporaryFolder = isLocal ? paths.local : paths.temporary;
    this.home = new JsonDocument({ ...this.#options, path, temporaryFolder, mode: 0o600 }, isExpected);
  }

  /** The file that holds the values. */
  get values(): JsonDocument {
    return this.#tree ?? this.home;
  }

  /** The file that a person has to edit: the one that holds the values, or the pointer to it while that is broken. */
  get edited(): JsonDocument {
    return this.home.status.kind === "good" ? this.values : this.home;
  }

  get tree(): JsonDocument | undefined {
    return this.#tree;
  }

  get stamps(): FileStamps {
    return { home: withoutCreated(this.home.stamp), tree: withoutCreated(this.#tree?.stamp) };
  }

  /** Reads the files and returns whether any of them changed. */
  async refresh(): Promise<boolean> {
    const homeChanged = await this.home.refresh();
    this.openTarget();
    const tree = this.#tree;
    let treeChanged = false;
    const problem = this.#folderProblem;
    this.#folderProblem = await this.#treeFolder?.read(async () => {
      treeChanged = (await tree?.refresh()) ?? false;
      return tree?.status.kind !== "missing";
    });
    return homeChanged || treeChanged || this.#folderProblem !== problem;
  }

  /** The folder of the work tree, if the values are in one. */
  get treeFolder(): WorkTreeFolder | undefined {
    return this.#treeFolder;
  }

  /** Why the folder of the work tree, as git's files are now, is not the repository's; undefined if it is, or does not exist. */
  async findForeign(): Promise<string | undefined> {
    return this.#treeFolder?.findProblem(true);
  }

  /** Call when a person has named the folder: it is the right one, whatever it was before. */
  chooseFolder(): void {
    this.#isFolderChosen = true;
    void this.#tree?.dropReplaced().catch(() => {});
    this.#tree = undefined;
    this.openTarget();
  }

  /**
   * Whether a file may be another one than was last read or written, by its stamp: a refresh tells. Costs some microseconds for
   * the file of the home; a work tree may be on a slower disk, and is not waited for by others.
   */
  async isTouched(): Promise<boolean> {
    if (!sameStamp(stampNow(this.home.path), this.home.stamp)) return true;
    const tree = this.#tree;
    if (tree === undefined) return false;
    // If the file is missing, only a refresh can tell whether the disk is unmounted.
    return (
      tree.status.kind === "missing" || !sameStamp(await foreignStampOf(tree.path, this.#options.clock), tree.stamp)
    );
  }

  /** Whether the folder of the work tree is not there, or is not known to be the right one: nothing may be written into it. */
  get isFolderUnknown(): boolean {
    return this.#folderProblem !== undefined;
  }

  /** What was found at the last refresh, or written since. */
  get content(): RepositoryContent {
    const { status } = this.home;
    if (status.kind !== "good") return { kind: "broken", problem: fileProblem(this.home, this.#isLocal) };
    const metadata = this.#metadata;
    if (!this.#isLocal && this.home.value["inTree"] === true && !metadata.inTree) {
      const problem = shapeProblem(this.home, "path", "must be the absolute path of the work tree");
      return { kind: "broken", metadata, problem };
    }
    if (this.#folderProblem !== undefined)
      return { kind: "broken", metadata, problem: { code: 1106, message: this.#folderProblem, noFolder: true } };
    // A branch without the in-tree file has no stored values.
    if (this.#tree?.status.kind === "missing") return { kind: "good", metadata, config: {} };
    if (this.values.status.kind !== "good")
      return { kind: "broken", metadata, problem: fileProblem(this.values, this.#isLocal) };
    const { config = {} } = this.values.value;
    if (isConfig(config)) return { kind: "good", metadata, config };
    const scope = isJsonObject(config) ? Object.keys(config).find(name => !isJsonObject(config[name])) : undefined;
    const member = scope === undefined ? "config" : `config.${scope}`;
    const problem = shapeProblem(this.values, member, "must be an object", this.#isLocal);
    return { kind: "broken", metadata, problem };
  }

  get #metadata(): RepositoryMetadata {
    return this.#isLocal ? { name: this.#id, inTree: false } : readMetadata(this.#id, this.home.value);
  }

  /** Opens the file that the pointer names now, or none. While the pointer is broken the one it named last stays. */
  openTarget(): void {
    if (this.home.status.kind !== "good") return;
    const metadata = this.#metadata;
    const path = metadata.inTree && metadata.path !== undefined ? join(metadata.path, inTreeFileName) : undefined;
    if (this.#tree?.path === path) return;
    void this.#tree?.dropReplaced().catch(() => {});
    this.#tree = undefined;
    this.#treeFolder = undefined;
    const isChosen = this.#isFolderChosen;
    // Later, only a person changes the path.
    this.#isFolderChosen = true;
    if (path === undefined) return;
    const folder = new WorkTreeFolder({
      id: this.#id,
      path: dirname(path),
      pointer: this.home.path,
      fileSystem: this.#options.fileSystem,
      recorded: this.#indexed?.path === dirname(path) ? this.#indexed.folder : undefined,
      isChosen,
      linked: metadata.linked?.name,
    });
    this.#treeFolder = folder;
    // Located at the first write, then cached. If it disappears, the write falls back to the file's folder.
    let gitFolder: string | undefined;
    this.#tree = new JsonDocument({
      ...this.#options,
      path,
      // Beside it, as a rename cannot cross file systems; but there git would show, commit or stash it.
      temporaryFolder: dirname(path),
      mode: 0o644,
      foreign: {
        betterTemporaryFolder: async () => {
          gitFolder ??= await gitFolderBeside(dirname(path));
          return gitFolder;
        },
        mayCreate: () => folder.isThere(),
      },
    });
  }
}

/** Cache of verified objects; they are immutable. */
const configs = new WeakSet<object>();

/** Whether every scope is an object; values are not checked. */
export function isConfig(value: unknown): value is Config {
  if (!isJsonObject(value)) return false;
  if (configs.has(value)) return true;
  if (!Object.values(value).every(isJsonObject)) return false;
  configs.add(value);
  return true;
}

/** Undefined if there is no file, or if its stamp cannot be read. */
function stampNow(path: string): FileStamp | undefined {
  try {
    return withoutCreated(lstatSync(path, { throwIfNoEntry: false }));
  } catch {
    return undefined;
  }
}

/** As the index keeps it for thousands of files: only what tells versions of a file apart. */
function withoutCreated(stamp: FileStamp | undefined): FileStamp | undefined {
  return stamp && { size: stamp.size, mtimeMs: stamp.mtimeMs, ino: stamp.ino };
}
