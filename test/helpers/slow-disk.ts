import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type FileCall, watchFileSystem } from "./file-system.ts";

/** So many ids of repositories. */
export const repositoryNames = (count: number) => Array.from({ length: count }, (_, index) => `r${index}`);

/** Puts files into a home that no daemon has read. */
export async function writeRepositoryFiles(home: string, ids: readonly string[]): Promise<void> {
  await mkdir(join(home, "repos"), { recursive: true, mode: 0o700 });
  for (const id of ids) await writeFile(join(home, "repos", `${id}.json`), `{ "name": "${id}" }\n`);
}

/** A disk on which slow files are opened only when the test lets them be. */
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
    /** Of all that were ever held. */
    paths,
    /** How many were being opened at once at most. */
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
