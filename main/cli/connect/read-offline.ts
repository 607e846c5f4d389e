import { basename } from "node:path";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { isNote } from "../../../shared/health.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import type { ValuePlace } from "../../../shared/typed-place.ts";
import { type ReadValues, readValues } from "../../check/read-values.ts";
import { findInTreeFile } from "../../check/work-tree-file.ts";
import type { FileProblem } from "../../check/work-tree-scopes.ts";
import { UnreadableFileError } from "../../files/durable-text-file.ts";
import { findWorkTree } from "../../git/git.ts";
import { readAt, readPlace } from "../change/value-place.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { refuseMasked } from "../output/masking.ts";
import { printNote } from "../output/terminal.ts";
import { unknownField } from "./fields.ts";

/**
 * Reads fields, or places inside values, from the current folder's work tree, without a daemon and without writing. There is no last valid
 * value here, so a field with an invalid value is refused: its default could be wrong. Throws CommandError.
 */
export async function readOffline(
  names: readonly string[],
  { trustsCommands, reveal }: { readonly trustsCommands: boolean; readonly reveal: boolean },
): Promise<readonly (readonly [name: string, value: JsonValue])[]> {
  const file = await findInTreeFile(process.cwd());
  const read = await readValues(file, trustsCommands).catch(error => {
    throw error instanceof UnreadableFileError ? new CommandError(`${file.path}: ${error.message}`) : error;
  });
  const { values, problems, exists } = read;
  // A branch may lack the file, but a script in the wrong folder must not continue with defaults.
  if (!exists && (await findWorkTree(process.cwd())) === undefined)
    throw new CommandError("There is no .repoconf.json here, and this folder is not in a git work tree.");
  if (values === undefined) {
    const broken = problems.filter(one => one.file === file.path).map(described);
    throw new CommandError(`The file is invalid.\n${broken.join("\n")}`);
  }
  const fields = fieldsOf(read);
  const places = names.map(name => ({ name, ...placeOf(name, fields, problems) }));
  if (!reveal)
    refuseMasked(
      places.map(({ field }) => field),
      fields,
    );
  const stepping = places.map(({ field }) => field).filter(field => fields.get(field)?.["x-step"] !== undefined);
  if (stepping.length > 0 && (await findWorkTree(process.cwd()))?.linked !== undefined)
    printNote(
      `repoconf: ${[...new Set(stepping)].join(", ")} as in the main work tree: by how much it is higher in this worktree (x-step), only the daemon knows.`,
    );
  return places.map(({ name, field, path }) => {
    const refused = problems.find(({ problem }) => problem.field === field && !isNote(problem));
    if (refused !== undefined) throw refusal(refused);
    return [name, readAt(values, { field, path }, name, fields)];
  });
}

function fieldsOf({ scopes }: ReadValues): ReadonlyMap<string, FieldSchema> {
  const fields = new Map<string, FieldSchema>();
  for (const { name: scope, fields: known } of scopes.all())
    for (const [field, { schema }] of known) fields.set(joinConfigPath(scope, field), schema);
  return fields;
}

/** Finds the place for a name. Throws CommandError; if the scope has an invalid schema, with its problem. */
function placeOf(name: string, fields: ReadonlyMap<string, FieldSchema>, problems: readonly FileProblem[]): ValuePlace {
  const scope = splitConfigPath(name)?.scope;
  const broken = problems.find(({ file }) => basename(file) === `${scope}.schema.json`);
  if (broken !== undefined) throw new CommandError(described(broken), exitCodes.refused);
  const isKnown = scope === undefined || [...fields.keys()].some(field => field.startsWith(`${scope}.`));
  if (isKnown) return fields.has(name) ? { field: name, path: "" } : readPlace(name, fields);
  const { message } = unknownField(name, fields);
  const hint = "Without a daemon, only the svc scope and the schemas in .repoconf/scopes are known.";
  throw new CommandError(`${message}\n${hint}`, exitCodes.refused);
}

function refusal(refused: FileProblem): CommandError {
  const hint =
    refused.problem.code === 1114
      ? "\nWithout a daemon there is no record of trust. If the work tree's commands are run anyway, as in CI, pass --trust-commands"
      : "";
  // Here the default is not used, unlike in the daemon.
  const message = described(refused).replace(/; using its default\.$/, ".");
  return new CommandError(`${message}${hint}`, exitCodes.refused);
}

function described({ file, problem: { line = 1, column = 1, message } }: FileProblem): string {
  return `${file}:${line}:${column}: ${message}`;
}
