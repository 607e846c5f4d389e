import { createWriteStream } from "node:fs";
import { type FileHandle, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { Header, Pax } from "tar";
import packageJson from "../../../package.json" with { type: "json" };
import { isRepositoryId, localDocumentOf, repositoryOfDocument } from "../../../shared/repository-id.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { openRegularFile } from "../../files/foreign-file.ts";
import { parseJsonText } from "../../files/json-text.ts";
import { fileOfTemporary } from "../../files/temporary-files.ts";
import type { Home } from "../../home/home.ts";
import { homeFormat, parseFormat } from "../../home/prepare-home.ts";
import { backedUpFolders as folders } from "../../home/restore.ts";
import type { Segment } from "../../store/history/record.ts";
import { listSegments } from "../../store/history/segment.ts";
import { CommandError } from "../output/exit-codes.ts";
import { showProgress } from "../output/terminal.ts";

const plainValues = "plain-values.json";
const singleFiles = ["format", "settings.json", plainValues];
export const manifestName = "manifest.json";

export interface SavedHome {
  readonly repositories: number;
  /** Names of the repositories whose values are in their work trees. */
  readonly inTree: readonly string[];
  /** Files in the home's folders that do not belong to Repoconf. */
  readonly leftOut: readonly string[];
}

interface SavedFile {
  readonly content: Buffer;
  readonly modified: Date;
}

/** A file with its name in the archive. */
interface NamedFile extends SavedFile {
  readonly name: string;
}

/**
 * Writes the home's files into a new .tar.gz. A daemon may be running: it replaces files as a whole, and a file that is removed before
 * it is read is left out. The log is read last: it has all changes that the histories and files read before it lack, so the backup is
 * consistent. Throws CommandError if there is no home, or if a newer version created it.
 */
export async function writeArchive(home: Home, file: string): Promise<SavedHome> {
  const format = await readRegularFile(home.formatFile);
  if (format === undefined)
    throw new CommandError(`${home.folder} is not a Repoconf home: there is nothing to back up.`);
  const number = parseFormat(format.content.toString());
  refuseNewerFormat(number, home.folder);
  const inTree: string[] = [];
  const leftOut: string[] = [];
  let repositories = 0;
  async function* entries() {
    const manifest = { format: number, createdAt: new Date().toISOString(), version: packageJson.version };
    const content = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
    yield entryOf(manifestName, { content, modified: new Date() });
    let count = 0;
    await using log = new HeldLog(home.log);
    for await (const { name, ...saved } of knownFiles(home, log, leftOut)) {
      yield entryOf(name, saved);
      count += 1;
      await log.hold();
      if (count % 100 === 0) showProgress(`${count} files`);
      if (!name.startsWith("repos/")) continue;
      repositories += 1;
      const inTreeName = nameIfInTree(saved.content.toString());
      if (inTreeName !== undefined) inTree.push(inTreeName);
    }
    // A tar archive ends with two empty blocks.
    yield Buffer.alloc(1024);
  }
  await pipeline(entries, createGzip(), createWriteStream(file, { flags: "wx", mode: 0o600, flush: true }));
  return { repositories, inTree, leftOut };
}

export function isKnownFile(path: string): boolean {
  if (singleFiles.includes(path)) return true;
  const [folder, name = "", ...deeper] = path.split("/");
  return deeper.length === 0 && folders.some(known => known === folder) && isKnownName(folder, name);
}

/** Whether a file in one of the home's folders can have this name. All such names are valid on every system. */
function isKnownName(folder: string | undefined, name: string): boolean {
  if (folder === "log") return /^\d{10}\.log$/.test(name);
  if (folder === "journal")
    return isRepositoryId(repositoryOfDocument(/^([^.]+)\.\d{1,15}-\d{1,15}\.jsonl$/.exec(name)?.[1] ?? ""));
  const id = /^(.+)\.json$/.exec(name)?.[1];
  if (id === undefined) return false;
  // In `removed`, names consist of the id, what happened to the repository, and when.
  return folder === "repos" || folder === "local" ? isRepositoryId(id) : /^[A-Za-z0-9][A-Za-z0-9._-]{0,126}$/.test(id);
}

/**
 * Yields the home's files. Each folder is listed just before it is read, and `removed` comes after the repositories, so that a
 * repository that is removed in the meantime is found there. Adds files that do not belong to Repoconf to `leftOut`.
 */
async function* knownFiles(home: Home, log: HeldLog, leftOut: string[]): AsyncGenerator<NamedFile> {
  await log.hold();
  for (const name of singleFiles) if (name !== plainValues) yield* readNamed(home, name);
  yield* filesOf(home, "scopes", leftOut);
  const saved = new Set<string>();
  yield* repositoriesWithJournals(home, saved, leftOut);
  yield* filesOf(home, "removed", leftOut);
  yield* log.files();
  // Repositories that were added in the meantime, because the log has entries for them.
  yield* repositoriesWithJournals(home, saved, []);
  // Last: a value that a key sets is in it before it is anywhere else, and without it would count as the owner's.
  yield* readNamed(home, plainValues);
}

/**
 * The log's files, opened at the beginning and kept open: if the daemon removes one while the histories are read, histories that were
 * read before may lack its changes.
 */
class HeldLog implements AsyncDisposable {
  readonly #folder: string;
  readonly #held = new Map<string, FileHandle>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Opens new files of the log. */
  async hold(): Promise<void> {
    // A home has no log before its first start.
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names) {
      if (this.#held.has(name) || !isKnownName("log", name)) continue;
      const handle = await openRegularFile(join(this.#folder, name)).catch(() => null);
      if (handle !== null) this.#held.set(name, handle);
    }
  }

  async *files(): AsyncGenerator<NamedFile> {
    await this.hold();
    for (const name of [...this.#held.keys()].sort()) {
      const handle = this.#held.get(name);
      if (handle === undefined) continue;
      const { mtime } = await handle.stat();
      const content = completeLines(await handle.readFile());
      if (content.length > 0) yield { name: `log/${name}`, content, modified: mtime };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const handle of this.#held.values()) await handle.close();
  }
}

async function* filesOf(home: Home, folder: (typeof folders)[number], leftOut: string[]): AsyncGenerator<NamedFile> {
  for (const name of await namesIn(home, folder, leftOut)) yield* readNamed(home, name);
}

/**
 * Reads each repository's file just before its journal, so that the journal contains the file's text and its author. Changes that only
 * the journal has are written to the file when the restored home is opened. The journals of removed repositories come last. `saved`
 * collects the ids that are done.
 */
async function* repositoriesWithJournals(home: Home, saved: Set<string>, leftOut: string[]): AsyncGenerator<NamedFile> {
  const journals = await listJournals(home);
  // Called only because it adds other files to `leftOut`.
  await namesIn(home, "journal", leftOut);
  const repositories = await namesIn(home, "repos", leftOut);
  for (const name of [...repositories, ...(await namesIn(home, "local", leftOut))]) {
    const repo = basename(name, ".json");
    const id = name.startsWith("local/") ? localDocumentOf(repo) : repo;
    const listed = journals.get(id) ?? [];
    journals.delete(id);
    if (saved.has(id)) continue;
    saved.add(id);
    yield* readNamed(home, name);
    yield* await readJournal(home, id, listed);
  }
  for (const [id, segments] of journals) {
    if (saved.has(id)) continue;
    saved.add(id);
    yield* await readJournal(home, id, segments);
  }
}

function listJournals(home: Home): Promise<Map<string, Segment[]>> {
  return listSegments(home.journal).catch(error => {
    if (systemErrorCode(error) === "ENOENT") return new Map<string, Segment[]>();
    throw error;
  });
}

/** A journal's files, oldest first. If a killed daemon left several generations, only the newest one counts. */
async function readJournal(home: Home, id: string, listed: readonly Segment[]): Promise<NamedFile[]> {
  for (let segments = listed; ; segments = (await listJournals(home)).get(id) ?? []) {
    const generation = segments.at(-1)?.generation;
    const files: NamedFile[] = [];
    let isMissing = false;
    for (const { path } of segments.filter(segment => segment.generation === generation)) {
      const saved = await readRegularFile(path);
      if (saved === undefined) isMissing = true;
      // A record that is being written has no line end yet.
      else files.push({ ...saved, name: `journal/${basename(path)}`, content: completeLines(saved.content) });
    }
    // A missing file was just compacted or rewritten. Read again, because a journal with a gap is useless.
    if (!isMissing) return files.filter(({ content }) => content.length > 0);
  }
}

function completeLines(content: Buffer): Buffer {
  return content.subarray(0, content.lastIndexOf("\n") + 1);
}

/** Repoconf's files in a folder, by their names in the archive. */
async function namesIn(home: Home, folder: (typeof folders)[number], leftOut: string[]): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(join(home.folder, folder), { withFileTypes: true }).catch(() => [])) {
    const name = `${folder}/${entry.name}`;
    if (entry.isFile() && isKnownFile(name)) names.push(name);
    // Hidden and temporary files and the damaged ends of journals are not reported, because users did not create them.
    else if (!/^\.|\.jsonl\.damaged$/.test(entry.name) && fileOfTemporary(entry.name) === undefined) leftOut.push(name);
  }
  return names;
}

async function* readNamed(home: Home, name: string): AsyncGenerator<NamedFile> {
  const saved = await readRegularFile(join(home.folder, name));
  if (saved !== undefined) yield { name, ...saved };
}

/** Undefined if the file is missing. */
async function readRegularFile(path: string): Promise<SavedFile | undefined> {
  try {
    await using handle = await openRegularFile(path);
    if (handle === null) return undefined;
    const { mtime } = await handle.stat();
    return { content: await handle.readFile(), modified: mtime };
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${describeCause(error)}`);
  }
}

/**
 * One file in tar's format: header, content, and padding to whole blocks. A long name gets a Pax header. Written here because `tar` only
 * packs files from the disk, but these are read once through open handles and cut to complete lines; tar-stream would be a second tar
 * library for these few lines.
 */
function entryOf(path: string, { content, modified: mtime }: SavedFile): Buffer {
  const block = Buffer.alloc(512);
  const header = new Header({ path, type: "File", mode: 0o600, uid: 0, gid: 0, size: content.length, mtime });
  const isLong = header.encode(block);
  const before = isLong ? [new Pax({ path }).encode()] : [];
  return Buffer.concat([...before, block, content, Buffer.alloc(-content.length & 511)]);
}

function nameIfInTree(text: string): string | undefined {
  try {
    const { value } = parseJsonText(text);
    return value["inTree"] === true ? String(value["name"]) : undefined;
  } catch {
    // Invalid files are backed up unchanged.
    return undefined;
  }
}

export function refuseNewerFormat(format: number, place: string): void {
  if (format <= homeFormat) return;
  throw new CommandError(
    `${place} has format ${format}, but this version of Repoconf only supports formats up to ${homeFormat}. Install the newer version.`,
  );
}

export function countOf(repositories: number): string {
  return repositories === 1 ? "1 repository" : `${repositories} repositories`;
}
