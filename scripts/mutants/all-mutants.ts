import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Mutant } from "../../test/mutants/mutant.ts";

const folder = join(import.meta.dirname, "../../test/mutants");

/** The mutants of all files in test/mutants, ordered by promise. */
export async function allMutants(): Promise<readonly Mutant[]> {
  const files = (await readdir(folder)).filter(name => name.endsWith(".ts") && name !== "mutant.ts").sort();
  const sets = await Promise.all(
    files.map(async file => {
      const url = pathToFileURL(join(folder, file)).href;
      const { mutants }: { readonly mutants?: readonly Mutant[] } = await import(/* @vite-ignore */ url);
      if (mutants === undefined) throw new Error(`test/mutants/${file} does not export "mutants".`);
      return mutants;
    }),
  );
  return sets.flat().sort((one, other) => one.promise.localeCompare(other.promise, "en", { numeric: true }));
}
