import { lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../shared/limits.ts";
import { describeCause } from "../files/describe-cause.ts";
import { DurableTextFile, UnreadableFileError } from "../files/durable-text-file.ts";
import { formatJsonText, JsonTextError, parseJsonText, rewriteJsonText } from "../files/json-text.ts";
import { gitFolderBeside } from "../git/work-tree.ts";
import { repositorySchemaText } from "../scopes/repository-schema.ts";
import type { WorkTreeFile } from "./work-tree-file.ts";
import { type FileProblem, readWorkTreeScopes } from "./work-tree-scopes.ts";

/** The in-tree file's `$schema`: relative, so that it is valid in every clone. */
const schemaReference = "./.repoconf/schema.json";

/** The JSON Schema for a work tree's file, with the built-in scope and the work tree's own. Writes nothing. */
export async function makeEditorSchema(
  file: WorkTreeFile,
): Promise<{ readonly text: string; readonly problems: readonly FileProblem[] }> {
  const { scopes, problems } = await readWorkTreeScopes(file.folder);
  return { text: await repositorySchemaText([...scopes.all()], "work tree"), problems };
}

/**
 * Writes the schema into the work tree and references it in the in-tree file, unless that references another schema. Throws
 * UnreadableFileError, which names the file, if one cannot be read or written, or was changed in the meantime.
 */
export async function writeEditorSchema(
  file: WorkTreeFile,
  text: string,
): Promise<{ readonly path: string; readonly reference: "added" | "present" | "different" }> {
  const folder = join(file.folder, ".repoconf");
  await naming(folder, mkdir(folder, { recursive: true }));
  // A cloned repository may contain a link that redirects the write.
  if (!(await lstat(folder)).isDirectory())
    throw new UnreadableFileError(`${folder} is a symbolic link, which Repoconf does not follow`);
  const path = join(folder, "schema.json");
  const schema = workTreeText(folder, path, limits.scopeBytes * limits.scopesOfWorkTree);
  if ((await naming(path, schema.read())) !== text) await naming(path, schema.write(text));
  const values = workTreeText(file.folder, file.path, limits.repositoryFileBytes);
  const before = await naming(file.path, values.read());
  const after =
    before === null ? formatJsonText({ $schema: schemaReference, config: {} }) : withReference(file.path, before);
  if (after === undefined) return { path, reference: "different" };
  if (after === before) return { path, reference: "present" };
  const assertUnchanged = () => {
    if (!values.holds(before)) throw new UnreadableFileError("it was just changed by another program; retry");
  };
  await naming(file.path, values.write(after, { assertUnchanged }));
  return { path, reference: "added" };
}

async function naming<Result>(path: string, done: Promise<Result>): Promise<Result> {
  return done.catch(error => {
    throw new UnreadableFileError(`${path}: ${describeCause(error)}`, { cause: error });
  });
}

/** The text with the reference; undefined if it references another schema. */
function withReference(path: string, before: string): string | undefined {
  try {
    const json = parseJsonText(before);
    const { $schema = schemaReference } = json.value;
    return $schema === schemaReference ? rewriteJsonText(json, { ...json.value, $schema }) : undefined;
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw new UnreadableFileError(`${path}:${error.line}:${error.column}: ${error.message}`);
  }
}

function workTreeText(folder: string, path: string, maximumBytes: number): DurableTextFile {
  return new DurableTextFile({
    path,
    temporaryFolder: folder,
    mode: 0o644,
    maximumBytes,
    // So that git does not show temporary files that a crash leaves behind.
    foreign: { betterTemporaryFolder: () => gitFolderBeside(folder) },
  });
}
