/** A piece of the product's text and what stands there instead. */
export interface Edit {
  /** In main/, renderer/ or shared/; or in what ships it: scripts/, .github/, electron-builder.yml. */
  readonly file: string;
  /** Exact source text that stands once in the file. */
  readonly find: string;
  readonly replace: string;
}

interface MutantDescription {
  /** What breaks without it: a row of docs/promises.md such as "R3", else one word for the area. */
  readonly promise: string;
  /** In plain words, for the table in docs/promises.md: "the sync of the file". */
  readonly removed: string;
  /** The test file that has to fail. */
  readonly test: string;
  /** Part of the title of the test that has to fail, as it is written in the file; without it any test of the file may. */
  readonly name?: string;
}

/** The product with something taken out, and the test that has to notice. `npm run mutants` tries them. */
export type Mutant = MutantDescription & (Edit | { readonly edits: readonly Edit[] });

export function editsOf(mutant: Mutant): readonly Edit[] {
  return "edits" in mutant ? mutant.edits : [mutant];
}
