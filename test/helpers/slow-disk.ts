import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type FileCall, watchFileSystem } from "./file-system.ts";

/** Returns this many repository ids. */
export const repositoryNames = (count: number) => Array.from({ length: count }, (_, index) => `r${index}`);

/** Writes repository files into a home before a daemon reads it. */
export async function writeRepositoryFiles(home: string, ids: readonly string[]): Promise<void> {
  await mkdir(join(home, "repos"), { recursive: true, mode: 0o700 });
  for (const id of ids) await writeFile(join(home, "repos", `${id}.json`), `{ "name": "${id}" }\n`);
}

/** A disk on which opening a slow file waits until the test releases it. */
export function slowDisk(isSlow: (call: FileCall) => boolean) {
  const fileSystem = watchFileSystem();
  const held: (() => void)[] = [];
  const paths: string[] = [];
  let isHolding = true;
  let most = 0;
  fileSystem.before = call => {
    if (!isHolding || call.operation !== "open" || !isSlow(call)) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    held.push(resolve);
    paths.push(call.path);
    most = Math.max(most, held.length);
    return promise;
  };
  return {
    fileSystem,
    held,
    /** The paths of all files that were ever held. */
    paths,
    /** The maximum number of files being opened at once. */
    most: () => most,
    hold: () => {
      isHolding = true;
    },
    release: () => {
      isHolding = false;
      for (const open of held.splice(0)) open();
    },
  };
}

export const isRepositoryFile = ({ path }: FileCall) => dirname(path).endsWith("/repos") && path.endsWith(".json");
