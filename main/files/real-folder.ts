import { lstat, readdir, realpath } from "node:fs/promises";
import { dirname, join, parse, sep } from "node:path";

/** What is asked of a disk; tests pass one that does not tell "Shop" from "shop". */
export interface NamedDisk {
  readonly realpath: (path: string) => Promise<string>;
  readonly lstat: (path: string) => Promise<unknown>;
  readonly readdir: (path: string) => Promise<readonly string[]>;
}

const thisSystem: NamedDisk = { realpath, lstat, readdir };

/**
 * The path of a folder without links, and spelled as the disk spells it: to one that ignores the case of names, as many of macOS, Windows
 * and exFAT do, "Shop" and "shop" are one folder. Throws the system's error.
 */
export async function realFolder(path: string, disk = thisSystem): Promise<string> {
  const real = await disk.realpath(path);
  const other = inOtherCase(real);
  const hasBoth =
    other !== undefined &&
    (await disk
      .lstat(other)
      .then(() => true)
      .catch(() => false));
  return hasBoth ? spelled(real, disk) : real;
}

/** With the case of one name changed, of letters that every disk without cases takes for the same; undefined if there are none. */
function inOtherCase(path: string): string | undefined {
  const names = path.split(sep);
  const index = names.findLastIndex(name => /[a-z]/i.test(name));
  const name = names[index];
  if (name === undefined) return undefined;
  const upper = name.replace(/[a-z]/g, letter => letter.toUpperCase());
  return names.with(index, upper === name ? name.toLowerCase() : upper).join(sep);
}

async function spelled(path: string, disk: NamedDisk): Promise<string> {
  const { root, base } = parse(path);
  if (path === root) return path;
  const parent = await spelled(dirname(path), disk);
  const names = await disk.readdir(parent).catch((): string[] => []);
  // A disk that lists both tells them apart. One that lists only the other has found it by this name.
  const listed = names.includes(base) ? base : names.find(name => name.toLowerCase() === base.toLowerCase());
  return join(parent, listed ?? base);
}
