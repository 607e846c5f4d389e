import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";

/**
 * Milliseconds that a replaced chunk is kept. Programs that run since before load some chunks late: the daemon at the first request for
 * `/metrics`, `edit` once the editor has been closed.
 */
const keptFor = 14 * 24 * 60 * 60_000;
/** Names the replaced chunks in the folder of the build, each with the time when it was replaced. */
const replacedFile = "replaced-chunks.json";

/**
 * Moves a build into the folder of the build before, one file at a time, so that there is never a moment without a file that somebody
 * may be loading. The names of chunks contain a hash of their content, so chunks of both builds can be there together, and the files
 * that refer to them by name come last. Parts of the build that `made` does not have are left alone.
 */
export async function publishBuild(made: string, target: string): Promise<void> {
  const files = await filesIn(made);
  const byContent = /(^|\/)(chunks|assets)\//;
  const ordered = [...files.filter(file => byContent.test(file)), ...files.filter(file => !byContent.test(file))];
  for (const file of ordered) {
    await mkdir(dirname(join(target, file)), { recursive: true });
    await rename(join(made, file), join(target, file));
  }
  const parts = new Set(files.map(partOf));
  const isReplaced = (file: string) => parts.has(partOf(file)) && !files.includes(file) && file !== replacedFile;
  const before = await readReplaced(target);
  const replaced: { [file: string]: number } = {};
  for (const file of await filesIn(target)) {
    const since = before[file] ?? Date.now();
    if (!isReplaced(file)) continue;
    if (/(^|\/)chunks\//.test(file) && Date.now() - since < keptFor) replaced[file] = since;
    else await rm(join(target, file));
  }
  const others = Object.entries(before).filter(([file]) => !parts.has(partOf(file)));
  const text = JSON.stringify({ ...Object.fromEntries(others), ...replaced }, null, 2);
  await writeFile(join(target, replacedFile), `${text}\n`);
}

/** Removes the chunks of earlier builds, which packages must not contain. */
export async function removeReplacedChunks(target: string): Promise<void> {
  for (const file of Object.keys(await readReplaced(target))) await rm(join(target, file), { force: true });
  await rm(join(target, replacedFile), { force: true });
}

/** The first folder of a path: `chunks` with the files beside it is a part of the build, and so is each other folder. */
function partOf(file: string): string {
  const [first = "", ...rest] = file.split("/");
  return rest.length === 0 || first === "chunks" ? "" : first;
}

async function readReplaced(target: string): Promise<{ readonly [file: string]: number }> {
  try {
    return JSON.parse(await readFile(join(target, replacedFile), "utf8"));
  } catch {
    // There is none, or a build was killed while it wrote it: the chunks count as replaced from now on.
    return {};
  }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"));
}
