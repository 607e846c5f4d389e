import { mkdir, readdir, rename, rm, rmdir, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ignoreMissing, systemErrorCode } from "../../files/file-system.ts";
import type { Home } from "../../home/home.ts";
import { markName } from "../../hook/marks.ts";
import type { HeldHome } from "../home/held-home.ts";
import type { FolderIndex } from "./folder-index.ts";

/**
 * Keeps one empty file for each folder that was added, at the folder's own path below the home's folder `folders`, so that a shell sees with
 * built-ins whether it is in one. They are repaired at each start. A mark too many costs a question, so they need not be durable.
 */
export class FolderMarks {
  readonly index: FolderIndex;
  readonly #held: Pick<HeldHome, "home" | "check">;
  readonly #onProblem: (message: string, context: object) => void;
  /** Where the marks are: until the first ones are complete, not where shells look. */
  #top: string;
  #last: Promise<void> = Promise.resolve();
  #repaired: Promise<void> = Promise.resolve();
  readonly #closed = Promise.withResolvers<undefined>();
  #isClosed = false;

  constructor(
    index: FolderIndex,
    held: Pick<HeldHome, "home" | "check">,
    onProblem: (message: string, context: object) => void,
  ) {
    this.index = index;
    this.#held = held;
    this.#onProblem = onProblem;
    this.#top = held.home.folders;
  }

  /** Repairs the marks, and keeps them from now on. */
  start(): void {
    // There are no paths of this form in shells under Windows.
    if (process.platform === "win32") return;
    this.index.subscribe(folder => void this.#update(folder));
    this.#repaired = this.#repair().catch(error => this.#report(this.#top, error));
  }

  /** Resolves when the marks of all changes so far are written, or cannot be. */
  settled(): Promise<void> {
    return this.#last;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closed.resolve(undefined);
    await this.#repaired;
    await this.#last;
  }

  async #repair(): Promise<void> {
    const { home } = this.#held;
    const found = await foldersIn(home.folders);
    if (found === undefined) {
      this.#top = join(home.temporary, "folders");
      await rm(this.#top, { recursive: true, force: true });
    }
    // Not before every file has been read: a stop does not wait for that.
    const wanted = await Promise.race([this.index.folders(), this.#closed.promise]);
    if (wanted === undefined) return;
    const wrong = new Set([...(found ?? [])].filter(folder => !wanted.has(folder)));
    for (const folder of wanted) if (found?.has(folder) !== true) wrong.add(folder);
    // One by one, so that those of new repositories are not late.
    for (const folder of wrong) if (!this.#isClosed) await this.#update(folder);
    if (found === undefined && !this.#isClosed) await this.#do(home.folders, () => this.#publish(home));
  }

  async #publish({ folders }: Home): Promise<void> {
    await mkdir(this.#top, { recursive: true, mode: 0o700 });
    await rename(this.#top, folders);
    this.#top = folders;
  }

  #update(folder: string): Promise<void> {
    return this.#do(folder, () => (this.index.has(folder) ? this.#add(folder) : this.#remove(folder)));
  }

  /** One at a time: a folder that was emptied is removed, and another change may need it. */
  #do(folder: string, work: () => Promise<void>): Promise<void> {
    this.#last = this.#last
      // A home that was removed must not come back.
      .then(() => (this.#held.check() ? work() : undefined))
      .catch(error => this.#report(folder, error));
    return this.#last;
  }

  async #add(folder: string): Promise<void> {
    const place = join(this.#top, folder);
    await mkdir(place, { recursive: true, mode: 0o700 });
    await writeFile(join(place, markName), "", { mode: 0o600 });
  }

  async #remove(folder: string): Promise<void> {
    let place = join(this.#top, folder);
    await unlink(join(place, markName)).catch(ignoreMissing);
    // Until one is not empty.
    for (; place !== this.#top; place = dirname(place)) if (!(await isRemoved(place))) return;
  }

  #report(folder: string, error: unknown): void {
    this.#onProblem("the hooks of shells cannot see that a folder was added", { folder, error: String(error) });
  }
}

async function isRemoved(folder: string): Promise<boolean> {
  return rmdir(folder).then(
    () => true,
    error => systemErrorCode(error) === "ENOENT",
  );
}

/** The folders with a mark; undefined if there is no tree of marks. */
async function foldersIn(top: string): Promise<ReadonlySet<string> | undefined> {
  const found = new Set<string>();
  const waiting = [""];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const entries = await readdir(join(top, folder), { withFileTypes: true }).catch(() => undefined);
    if (entries === undefined && folder === "") return undefined;
    for (const entry of entries ?? []) {
      if (entry.isDirectory()) waiting.push(`${folder}/${entry.name}`);
      else if (entry.name === markName) found.add(folder === "" ? "/" : folder);
    }
  }
  return found;
}
