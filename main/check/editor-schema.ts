import { lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../shared/limits.ts";
import { repositorySchemaText } from "../daemon/repository-schema.ts";
import { gitFolderBeside } from "../daemon/store/work-tree.ts";
import { DurableTextFile, UnreadableFileError } from "../files/durable-text-file.ts";
import { formatJsonText, JsonTextError, parseJsonText, rewriteJsonText } from "../files/json-text.ts";
import type { WorkTreeFile } from "./work-tree-file.ts";
import { type FileProblem, readWorkTreeScopes } from "./work-tree-scopes.ts";

/** How the in-tree file refers to the schema beside it: the same in every clone, without paths of this machine. */
const schemaReference = "./.repoconf/schema.json";

/** What editors check a work tree's file by: the built-in scope and its own. Reads files and writes none. */
export async function makeEditorSchema(
  file: WorkTreeFile,
): Promise<{ readonly text: string; readonly problems: readonly FileProblem[] }> {
  const { scopes, problems } = await readWorkTreeScopes(file.folder);
  return { text: await repositorySchemaText([...scopes.all()], "work tree"), problems };
}

/**
 * Writes it into the work tree, and has the in-tree file name it; one that names another schema keeps that. Throws UnreadableFileError
 * for a file that cannot be read or was changed meanwhile, and the system's error.
 */
export async function writeEditorSchema(
  file: WorkTreeFile,
  text: string,
): Promise<{ readonly path: string; readonly named: "now" | "before" | "otherwise" }> {
  const folder = join(file.folder, ".repoconf");
  await mkdir(folder, { recursive: true });
  // A clone may bring a link, to write elsewhere.
  if (!(await lstat(folder)).isDirectory())
    throw new UnreadableFileError(`${folder} is a symbolic link, which Repoconf does not follow`);
  const path = join(folder, "schema.json");
  const schema = workTreeText(folder, path);
  if ((await schema.read()) !== text) await schema.write(text);
  const values = workTreeText(file.folder, file.path);
  const before = await values.read();
  const after = before === null ? formatJsonText({ $schema: schemaReference, config: {} }) : named(file.path, before);
  if (after === undefined) return { path, named: "otherwise" };
  if (after === before) return { path, named: "before" };
  await values.write(after, {
    assertUnchanged: () => {
      if (!values.holds(before))
        throw new UnreadableFileError(`${file.path} was just changed by another program; try again`);
    },
  });
  return { path, named: "now" };
}

/** The text with the reference; undefined if it has another. */
function named(path: string, before: string): string | undefined {
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
    // In a place where git ignores the temporary files that a crash leaves.
    betterTemporaryFolder: () => gitFolderBeside(folder),
    mode: 0o644,
    maximumBytes: limits.scopeBytes * limits.scopesOfWorkTree,
  });
}
