/** A replacement in the product's source. */
export interface Edit {
  /** A file in main/, renderer/ or shared/, or one that builds releases: scripts/, .github/, electron-builder.yml. */
  readonly file: string;
  /** Exact source text that occurs once in the file. */
  readonly find: string;
  /** If left out, the text is removed. */
  readonly replace?: string;
}

interface MutantDescription {
  /** The promise that the mutant breaks: a row of docs/promises.md such as "R3", or one word for the area. */
  readonly promise: string;
  /** What the mutant removes: "the sync of the file". If it replaces it, how it misbehaves in (). */
  readonly removed: string;
  /** The test file that has to fail. */
  readonly test: string;
  /** Part of the title of the test that has to fail, as written in the file. If left out, any test of the file may fail. */
  readonly name?: string;
}

/** A deliberate bug in the product, and the test that has to detect it. `npm run mutants` tries all of them. */
export type Mutant = MutantDescription & Broken;

export function editsOf(mutant: Mutant): readonly Edit[] {
  return "edits" in mutant ? mutant.edits : [mutant];
}

type Broken = Edit | { readonly edits: readonly Edit[] };

/** Mutants that break one promise, by what they remove. Tests of one file have to detect them. */
export function killedBy(
  promise: string,
  test: string,
  mutants: { readonly [removed: string]: readonly Edit[] | (Pick<MutantDescription, "name"> & Broken) },
): readonly Mutant[] {
  return Object.entries(mutants).map(([removed, mutant]) => ({
    ...("length" in mutant ? { edits: mutant } : mutant),
    ...{ promise, test, removed },
  }));
}
