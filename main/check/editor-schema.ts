import { lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../shared/limits.ts";
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
 * UnreadableFileError if a file cannot be read or was changed in the meantime, and system errors.
 */
export async function writeEditorSchema(
  file: WorkTreeFile,
  text: string,
): Promise<{ readonly path: string; readonly reference: "added" | "present" | "different" }> {
  const folder = join(file.folder, ".repoconf");
  await mkdir(folder, { recursive: true });
  // A cloned repository may contain a link that redirects the write.
  if (!(await lstat(folder)).isDirectory())
    throw new UnreadableFileError(`${folder} is a symbolic link, which Repoconf does not follow`);
  const path = join(folder, "schema.json");
  const schema = workTreeText(folder, path);
  if ((await schema.read()) !== text) await schema.write(text);
  const values = workTreeText(file.folder, file.path);
  const before = await values.read();
  const after =
    before === null ? formatJsonText({ $schema: schemaReference, config: {} }) : withReference(file.path, before);
  if (after === undefined) return { path, reference: "different" };
  if (after === before) return { path, reference: "present" };
  await values.write(after, {
    assertUnchanged: () => {
      if (!values.holds(before))
        throw new UnreadableFileError(`${file.path} was just changed by another program; retry`);
    },
  });
  return { path, reference: "added" };
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

function workTreeText(folder: string, path: string): DurableTextFile {
  return new DurableTextFile({
    path,
    temporaryFolder: folder,
    mode: 0o644,
    maximumBytes: limits.scopeBytes * limits.scopesOfWorkTree,
    // So that git does not show temporary files that a crash leaves behind.
    foreign: { betterTemporaryFolder: () => gitFolderBeside(folder) },
  });
}
