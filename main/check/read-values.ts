import type { Config } from "../../shared/config.ts";
import type { Scopes } from "../scopes/scopes.ts";
import { type InterpretedText, interpretText } from "./check-text.ts";
import { textOf, type WorkTreeFile } from "./work-tree-file.ts";
import { type FileProblem, readWorkTreeScopes } from "./work-tree-scopes.ts";

/** The content of a values file, read without a daemon. */
export interface ReadValues {
  readonly scopes: Scopes;
  readonly exists: boolean;
  /** The effective value of every field; undefined if the whole file is invalid. */
  readonly values: Config | undefined;
  readonly problems: readonly FileProblem[];
}

/**
 * Reads a values file with the schemas in its work tree. Writes nothing. A missing file has no values. Without `trustsCommands`,
 * values that run as commands are not active, because there is no record of trust. Throws UnreadableFileError.
 */
export async function readValues(file: WorkTreeFile, trustsCommands: boolean): Promise<ReadValues> {
  const { scopes, problems } = await readWorkTreeScopes(file.folder);
  const text = await textOf(file);
  const nothing: InterpretedText = { stored: {}, problems: [] };
  const read = text === null ? nothing : interpretText(text, { scopes, isTrusted: () => trustsCommands });
  return {
    scopes,
    exists: text !== null,
    values: read.stored && scopes.effective(read.stored),
    problems: [...problems, ...read.problems.map(problem => ({ file: file.path, problem }))],
  };
}
