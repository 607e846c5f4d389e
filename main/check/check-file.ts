import type { HealthProblem } from "../../shared/protocol.ts";
import { UnreadableFileError } from "../files/durable-text-file.ts";
import type { Scopes } from "../scopes/scopes.ts";
import { isError, missingFields, problemsOfText } from "./check-text.ts";
import { textOf, type WorkTreeFile } from "./work-tree-file.ts";
import { type FileProblem, readWorkTreeScopes } from "./work-tree-scopes.ts";

/** A problem that is either an error or a warning. */
export type RatedProblem = FileProblem & { readonly isError: boolean };

export interface CheckedFile {
  /** Problems of the schemas in the work tree, then of the file itself. */
  readonly problems: readonly RatedProblem[];
  /** False if neither the file nor any schema exists. */
  readonly exists: boolean;
}

/** Checks a values file and the schemas in its work tree. Writes nothing. */
export async function checkFile(file: WorkTreeFile): Promise<CheckedFile> {
  const { scopes, files, problems } = await readWorkTreeScopes(file.folder);
  const own = await problemsOfFile(file, scopes);
  const hasSchemas = files.length + problems.length > 0;
  // Without the file nothing is set.
  const found = own ?? (hasSchemas ? missingFields({}, scopes) : []);
  const checked = found.map(problem => ({ file: file.path, problem, isError: isError(problem, scopes) }));
  return {
    problems: [...problems.map(one => ({ ...one, isError: true })), ...checked],
    exists: own !== undefined || hasSchemas,
  };
}

/** Undefined if the file is missing. */
async function problemsOfFile(file: WorkTreeFile, scopes: Scopes): Promise<readonly HealthProblem[] | undefined> {
  try {
    const text = await textOf(file);
    return text === null ? undefined : problemsOfText(text, scopes);
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    const { message, line, column } = error;
    return [{ code: 1106, message, line, column }];
  }
}
