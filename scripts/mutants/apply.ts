import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { editsOf, type Mutant } from "../../test/mutants/mutant.ts";

/** The mutated texts of the files that a mutant changes. Throws Error if an edit does not apply. */
export async function mutate(root: string, mutant: Mutant): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const { file, find, replace = "" } of editsOf(mutant)) {
    if (!/^((main|renderer|shared|scripts|\.github)\/|electron-builder\.yml$)/.test(file))
      throw new Error(`${file} is not part of the product`);
    const text = texts.get(file) ?? (await readFile(join(root, file), "utf8").catch(() => undefined));
    if (text === undefined) throw new Error(`there is no ${file}`);
    const parts = text.split(find);
    if (find === "" || parts.length !== 2) {
      const times = parts.length === 1 ? "is not" : `occurs ${parts.length - 1} times`;
      throw new Error(`its text ${times} in ${file}: ${JSON.stringify(find)}`);
    }
    texts.set(file, parts.join(replace));
  }
  return texts;
}

/** Applies a mutant to a copy of the project, and returns a function that reverts it. Throws Error if an edit does not apply. */
export async function applyMutant(root: string, mutant: Mutant): Promise<() => Promise<void>> {
  const mutated = await mutate(root, mutant);
  const originals = await Promise.all(
    [...mutated.keys()].map(async file => [file, await readFile(join(root, file), "utf8")] as const),
  );
  const write = async (texts: Iterable<readonly [string, string]>) => {
    for (const [file, text] of texts) await writeFile(join(root, file), text);
  };
  await write(mutated);
  return () => write(originals);
}
