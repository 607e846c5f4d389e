import type { Config } from "../../shared/config.ts";
import type { Scopes } from "../daemon/scopes.ts";
import { type InterpretedText, interpretText } from "./check-text.ts";
import { textOf, type WorkTreeFile } from "./work-tree-file.ts";
import { type FileProblem, readWorkTreeScopes } from "./work-tree-scopes.ts";

/** What a file of values says without a daemon. */
export interface ReadValues {
  readonly scopes: Scopes;
  readonly isThere: boolean;
  /** Of every field: what the file has active, else the default; undefined if the file is broken as a whole. */
  readonly values: Config | undefined;
  readonly problems: readonly FileProblem[];
}

/**
 * Reads a file of values with the schemas in its work tree, and writes nothing. A missing file has no values. Without
 * `trustsCommands`, values that run as commands are not active, because there is no record of trust. Throws UnreadableFileError.
 */
export async function readValues(file: WorkTreeFile, trustsCommands: boolean): Promise<ReadValues> {
  const { scopes, problems } = await readWorkTreeScopes(file.folder);
  const text = await textOf(file);
  const nothing: InterpretedText = { stored: {}, problems: [] };
  const read = text === null ? nothing : interpretText(text, { scopes, isTrusted: () => trustsCommands });
  return {
    scopes,
    isThere: text !== null,
    values: read.stored && scopes.effective(read.stored),
    problems: [...problems, ...read.problems.map(problem => ({ file: file.path, problem }))],
  };
}
