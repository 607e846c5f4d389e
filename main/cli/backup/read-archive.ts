import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { Parser, type ReadEntry } from "tar";
import { visible } from "../../../shared/visible.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { realFileSystem, writeAll } from "../../files/file-system.ts";
import { homeFileBytes, openRegularFile } from "../../files/foreign-file.ts";
import { parseJsonText } from "../../files/json-text.ts";
import { UnreadableFileError } from "../../files/unreadable-file-error.ts";
import { parseFormat } from "../../home/prepare-home.ts";
import { backedUpFolders as folders } from "../../home/restore.ts";
import { maxReadLog } from "../../store/log/log-folder.ts";
import { CommandError } from "../output/exit-codes.ts";
import { showProgress } from "../output/terminal.ts";
import { isKnownFile, manifestName, refuseNewerFormat } from "./backup-archive.ts";

export interface ArchiveContent {
  /** RFC 3339, UTC. */
  readonly createdAt: string;
  readonly repositories: number;
}

/**
 * Reads the whole archive without writing anything. Throws CommandError unless it is a backup of a supported format that contains
 * only Repoconf's files.
 */
export async function checkArchive(file: string): Promise<ArchiveContent> {
  const names = new Set<string>();
  const texts = new Map<string, string>();
  const problems: string[] = [];
  await wrapReadErrors(file, names, () =>
    readEntries(file, async entry => {
      const problem = names.has(entry.path) ? "appears twice" : problemOf(entry);
      names.add(entry.path);
      if (problem !== undefined) problems.push(`"${visible(entry.path)}" ${problem}`);
      else if ((entry.path === manifestName || entry.path === "format") && entry.size < 65_536)
        texts.set(entry.path, (await entry.concat()).toString());
    }),
  ).catch(error => {
    if (problems.length === 0) throw error;
  });
  if (problems.length > 0) {
    const shown = problems.length > 5 ? [...problems.slice(0, 5), `and ${problems.length - 5} more`] : problems;
    throw new CommandError([`${file} is not a backup that can be restored:`, ...shown].join("\n"));
  }
  const { format, createdAt } = parseManifest(texts.get(manifestName), file);
  refuseNewerFormat(format, file);
  refuseNewerFormat(parseFormat(texts.get("format") ?? ""), file);
  return {
    createdAt: visible(createdAt),
    repositories: [...names].filter(name => name.startsWith("repos/") && name !== "repos/").length,
  };
}

/** Extracts a checked archive into the folder, without the manifest, durably. Returns the names of the files. */
export async function extractArchive(file: string, folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  const syncs = new Set<Promise<void>>();
  await wrapReadErrors(file, names, async () => {
    await readEntries(file, async entry => {
      if (entry.type !== "File" || !isKnownFile(entry.path)) return;
      names.push(entry.path);
      if (names.length % 100 === 0) showProgress(`${names.length} files`);
      const handle = await realFileSystem.open(join(folder, entry.path), "wx", 0o600);
      await writeEntry(handle, entry);
      const sync = handle.sync().finally(() => handle.close());
      const done = sync.finally(() => syncs.delete(done));
      syncs.add(done);
      // A disk syncs many files together sooner than one after the other.
      if (syncs.size >= maxSyncs) await Promise.race(syncs);
    });
    await Promise.all(syncs);
  });
  return names;
}

async function writeEntry(handle: FileHandle, entry: ReadEntry): Promise<void> {
  let at = 0;
  for await (const part of entry) {
    await writeAll(handle, part, at);
    at += part.length;
  }
}

/** Files that are synced at the same time. */
const maxSyncs = 64;

/**
 * Calls `use` for each entry of an archive, one after the other: what it does not read is skipped, and the next entry is not read before
 * it is done, so memory does not grow with the archive. Throws what `use` throws, the system's error, or one for a damaged archive.
 */
export async function readEntries(file: string, use: (entry: ReadEntry) => Promise<void>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let turn = Promise.resolve();
  const onReadEntry = (entry: ReadEntry) => {
    turn = turn.then(() => use(entry)).then(() => void entry.resume());
    turn.catch(reject);
  };
  const parser = new Parser({ strict: true, onReadEntry });
  // A pipe would block.
  const handle = await openRegularFile(file, { followsLinks: true });
  if (handle === null) throw new UnreadableFileError("there is no such file");
  // Files of the system report no size, and may be endless.
  const end = Math.max(0, (await handle.stat()).size - 1);
  const input = handle.createReadStream({ highWaterMark: maxReadSize, end });
  input.on("data", part => void (parser.write(part) || input.pause()));
  input.once("end", () => parser.end());
  input.once("error", reject);
  parser.on("drain", () => input.resume());
  parser.once("end", resolve);
  parser.once("error", reject);
  try {
    await promise;
    await turn;
  } finally {
    input.destroy();
  }
}

/** Bytes that are unpacked at once: they may be a thousand times as many afterwards. */
const maxReadSize = 64 * 1024;

/** Few bytes of an archive may claim to be more than the disk has. */
const ownFileBytes = 64 * 1024 ** 2;

/** Why the entry cannot be in a backup; undefined if it can. */
function problemOf({ path, type, size }: ReadEntry): string | undefined {
  if (type === "Directory" && folders.some(folder => path === `${folder}/`)) return undefined;
  if (type !== "File") return `is a ${type}, and a backup contains only files`;
  if (path !== manifestName && !isKnownFile(path)) return "is not a Repoconf file";
  const maximum = path.startsWith("journal/") ? homeFileBytes : path.startsWith("log/") ? maxReadLog : ownFileBytes;
  if (size > maximum) return `has ${size} bytes, and such a file has at most ${maximum}`;
  return undefined;
}

function parseManifest(text: string | undefined, file: string): { format: number; createdAt: string } {
  try {
    const { format, createdAt } = parseJsonText(text ?? "").value;
    if (typeof format === "number" && typeof createdAt === "string") return { format, createdAt };
  } catch {
    // The error below reports it.
  }
  throw new CommandError(`${file} is not a Repoconf backup: it has no readable ${manifestName}.`);
}

/** `names`: what was read before an error. */
async function wrapReadErrors(file: string, names: Iterable<string>, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    const isKnown = error instanceof UnreadableFileError || (error instanceof Error && "syscall" in error);
    const last = [...names].at(-1);
    const place = last === undefined ? "at its beginning" : `in or after "${visible(last)}"`;
    const damage = `it is not an archive, or it is damaged ${place}. Use another backup.`;
    throw new CommandError(`${file} cannot be read as a backup: ${isKnown ? describeCause(error) : damage}`);
  }
}
