import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { HealthProblem } from "../../shared/protocol.ts";
import type { PatternMaker } from "../../shared/schema/compile-schema.ts";
import { SchemaError } from "../../shared/schema/keyword.ts";
import { patternOrUnchecked } from "../../shared/schema/linear-pattern.ts";
import { shortened } from "../../shared/shortened.ts";
import { UnreadableFileError } from "../files/durable-text-file.ts";
import { systemErrorCode } from "../files/file-system.ts";
import { foreignDisks } from "../files/foreign-disks.ts";
import { readForeignFile } from "../files/foreign-file.ts";
import { type JsonText, JsonTextError, parseJsonText } from "../files/json-text.ts";
import { utf8Text } from "../files/utf8-text.ts";
import { type LocatedFault, locateFaults, mostFaults, ScopeSchemaError } from "../scopes/schema-faults.ts";
import { compileScope, Scopes } from "../scopes/scopes.ts";

/** The folder for a repository's own scopes, relative to its work tree: `<scope>.schema.json`. */
export const scopesFolder = join(".repoconf", "scopes");

const ending = ".schema.json";

/** A problem and its file. */
export interface FileProblem {
  readonly file: string;
  readonly problem: HealthProblem;
}

/** A valid schema. */
export interface SchemaFile {
  readonly scope: string;
  readonly file: string;
  readonly text: string;
  readonly value: JsonObject;
}

export interface WorkTreeScopes {
  /** The built-in scope, and the valid ones of the work tree. */
  readonly scopes: Scopes;
  readonly files: readonly SchemaFile[];
  readonly problems: readonly FileProblem[];
}

/**
 * Reads the scopes of a work tree. Anyone who can push to the repository may have written them, so everything has a
 * limit, and links are not followed. The daemon never reads schemas from a work tree. Never throws: an
 * invalid scope is a problem (1106).
 */
export function readWorkTreeScopes(folder: string): Promise<WorkTreeScopes> {
  return readScopesIn(join(folder, scopesFolder));
}

/** Like `readWorkTreeScopes`, for a folder of schemas. */
export async function readScopesIn(at: string): Promise<WorkTreeScopes> {
  const scopes = new Scopes();
  const files: SchemaFile[] = [];
  const problems: FileProblem[] = [];
  const found = await listFiles(at).catch((error: unknown) => error);
  if (found instanceof NoFolderError) {
    const problem = { code: 1106, message: found.message, line: 1, column: 1 } as const;
    return { scopes, files, problems: [{ file: found.path, problem }] };
  }
  if (!Array.isArray(found)) return { scopes, files, problems: [{ file: at, problem: problemOf(found) }] };
  const names = found.filter(name => name.endsWith(ending)).sort();
  if (names.length === 0) return { scopes, files, problems };
  const makePattern = boundedPatterns();
  // All of them are compiled before anything is answered, which takes seconds for some megabytes.
  let rest = limits.scopeBytes;
  for (const name of names.slice(0, limits.scopesOfWorkTree)) {
    const file = join(at, name);
    let json: JsonText | undefined;
    try {
      const text = await readTextFile(file, limits.scopeBytes);
      const scope = name.slice(0, -ending.length);
      rest -= Buffer.byteLength(text);
      if (rest < 0)
        throw new ScopeSchemaError(`the schemas in this folder have more than ${limits.scopeBytes} bytes in total`);
      if (scope === "svc") throw new ScopeSchemaError("svc is a built-in scope and cannot be replaced");
      json = parseJsonText(text);
      const { value } = json;
      scopes.set(compileScope(scope, value, makePattern));
      files.push({ scope, file, text, value });
    } catch (error) {
      if (error instanceof ScopeSchemaError && json !== undefined)
        for (const fault of locateFaults(error.faults.slice(0, mostFaults), json))
          problems.push({ file, problem: problemOfFault(fault) });
      else problems.push({ file, problem: problemOf(error) });
    }
  }
  if (names.length > limits.scopesOfWorkTree) {
    const message = `More than ${limits.scopesOfWorkTree} schemas in this folder; the others are not used.`;
    problems.push({ file: at, problem: { code: 1106, message } });
  }
  return { scopes, files, problems };
}

/** A path that is not followed where a folder of schemas could be. */
class NoFolderError extends Error {
  readonly path: string;

  constructor(path: string, stats: Stats) {
    const what = stats.isSymbolicLink() ? "it is a link, which is not followed" : "it is not a folder";
    super(`${what}, so no scopes are read from it. Make it a folder`);
    this.path = path;
  }
}

/** Empty if a folder is missing. Throws NoFolderError unless both are real folders (a link could lead anywhere), or UnreachableDiskError. */
async function listFiles(folder: string): Promise<string[]> {
  for (const one of [join(folder, ".."), folder]) {
    const stats = await foreignDisks.ask(folder, () => lstat(one).catch(() => undefined));
    if (stats === undefined) return [];
    if (!stats.isDirectory()) throw new NoFolderError(one, stats);
  }
  return foreignDisks.ask(folder, () => readdir(folder));
}

/** Limits the patterns of all schemas together to those of one scope: each may take a few milliseconds. */
function boundedPatterns(): PatternMaker {
  let made = 0;
  return source => {
    made += 1;
    if (made <= limits.patternsOfScope) return patternOrUnchecked(source);
    throw new SchemaError(`the schemas in this folder have more than ${limits.patternsOfScope} patterns in total`);
  };
}

function problemOfFault({ message, pointer, line, column }: LocatedFault): HealthProblem {
  const at = pointer === "" ? "" : ` (at ${shortened(pointer, limits.shownName)})`;
  return { code: 1106, message: `${message}${at}; this scope is not used`, line, column };
}

function problemOf(error: unknown): HealthProblem {
  const end = "; this scope is not used";
  if (error instanceof JsonTextError || error instanceof UnreadableFileError)
    return { code: 1106, message: `${error.message}${end}`, line: error.line, column: error.column };
  if (error instanceof ScopeSchemaError) return { code: 1106, message: `${error.message}${end}`, line: 1, column: 1 };
  const code = systemErrorCode(error);
  if (code === undefined) throw error;
  return { code: 1106, message: `it cannot be read (${code})${end}`, line: 1, column: 1 };
}

/** Reads a file as the daemon does: a regular file, UTF-8, at most `maximumBytes`. Throws UnreadableFileError. */
export async function readTextFile(path: string, maximumBytes: number): Promise<string> {
  const found = await readForeignFile(path, { maximumBytes });
  if (found === null) throw new UnreadableFileError("it does not exist");
  return utf8Text(found.bytes);
}
