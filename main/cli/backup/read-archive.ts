import { extract, list, type ReadEntry } from "tar";
import { describeCause } from "../../files/describe-cause.ts";
import { homeFileBytes, openRegularFile } from "../../files/foreign-file.ts";
import { parseJsonText } from "../../files/json-text.ts";
import { UnreadableFileError } from "../../files/unreadable-file-error.ts";
import { parseFormat } from "../../home/prepare-home.ts";
import { backedUpFolders as folders } from "../../home/restore.ts";
import { CommandError } from "../output/exit-codes.ts";
import { showProgress, visible } from "../output/terminal.ts";
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
  const checkEntry = (entry: ReadEntry) => {
    const problem = names.has(entry.path) ? "appears twice" : problemOf(entry);
    names.add(entry.path);
    if (problem !== undefined) problems.push(`"${visible(entry.path)}" ${problem}`);
    else if ((entry.path === manifestName || entry.path === "format") && entry.size < 65_536) {
      entry.on("data", part => texts.set(entry.path, (texts.get(entry.path) ?? "") + part.toString()));
    }
  };
  await wrapReadErrors(file, names, async () => {
    // A pipe would block.
    const handle = await openRegularFile(file, { followsLinks: true });
    await handle?.close();
    await list({ file, strict: true, maxReadSize, onReadEntry: checkEntry });
  }).catch(error => {
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

/** Extracts a checked archive into the folder, without the manifest. Returns the names of the files. */
export async function extractArchive(file: string, folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  const filter = (path: string, entry: object) => {
    const wanted = "type" in entry && entry.type === "File" && isKnownFile(path);
    if (wanted) names.push(path);
    if (wanted && names.length % 100 === 0) showProgress(`${names.length} files`);
    return wanted;
  };
  await wrapReadErrors(file, names, () =>
    extract({ file, cwd: folder, strict: true, maxReadSize, preserveOwner: false, filter }),
  );
  return names;
}

/** Bytes that are unpacked at once: they may be a thousand times as many afterwards. */
export const maxReadSize = 64 * 1024;

/** Few bytes of an archive may claim to be more than the disk has. */
const ownFileBytes = 64 * 1024 ** 2;

/** Why the entry cannot be in a backup; undefined if it can. */
function problemOf({ path, type, size }: ReadEntry): string | undefined {
  if (type === "Directory" && folders.some(folder => path === `${folder}/`)) return undefined;
  if (type !== "File") return `is a ${type}, and a backup contains only files`;
  if (path !== manifestName && !isKnownFile(path)) return "is not a Repoconf file";
  const maximum = /^(log|journal)\//.test(path) ? homeFileBytes : ownFileBytes;
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
