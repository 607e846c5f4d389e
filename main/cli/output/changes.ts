import { RequestError } from "../../../shared/client/request-error.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { ChangedRepository, DescribedValue, HistoryEntry, Layer, Reply } from "../../../shared/protocol.ts";
import type { ToldChange } from "../../../shared/typed-changes.ts";
import { visible } from "../../../shared/visible.ts";
import { describeAbsent, describeEdit } from "../change/value-place.ts";
import type { LayerOptions, WriteOptions } from "../command-options.ts";
import { type Fields, type ReadFields, showValue, withSuggestion } from "../connect/fields.ts";
import { warnOfPlainSecrets } from "../environment/secret-references.ts";
import { CommandError, exitCodeOf, exitCodes } from "./exit-codes.ts";
import { printableResult } from "./masking.ts";
import { describeError } from "./messages.ts";
import { print, printJson, printNote } from "./terminal.ts";

/** The layer that the options name; undefined if none. Throws CommandError if they name both. */
export function layerOf({ local, shared }: LayerOptions): Layer | undefined {
  if (local && shared) throw new CommandError("Use either --local or --shared, not both.", exitCodes.usage);
  return local ? "local" : shared ? "shared" : undefined;
}

/** Whether an entry of a history is one of the layer that is named; any is if none is named. */
export function isOfLayer({ layer = "shared" }: Pick<HistoryEntry, "layer">, named: Layer | undefined): boolean {
  return named === undefined || layer === named;
}

/** The options as arguments of the operations. */
export function changeArguments({ ifRevision, atomic, dryRun, reason, ...options }: WriteOptions) {
  const layer = layerOf(options);
  return {
    ...(layer !== undefined && { layer }),
    // The file must have the value when the command ends.
    flush: true,
    ...(ifRevision !== undefined && { revision: ifRevision }),
    ...(atomic && { atomic }),
    ...(dryRun && { dryRun }),
    ...(reason !== undefined && { reason }),
    ...batchOfEnvironment(),
  };
}

/** With this text as their batch, `watch --exec` knows the changes that its command makes. */
export const batchVariable = "REPOCONF_BATCH";

/** The batch of all changes that commands make in this environment. */
export function batchOfEnvironment(): { readonly batch?: string } {
  const batch = process.env[batchVariable];
  return batch === undefined || batch === "" ? {} : { batch };
}

interface ChangesToTell {
  readonly changes: readonly ToldChange[];
  readonly fields: Fields;
  readonly dryRun: boolean;
  /** What is before each line about a repository, if there are several. */
  readonly headOf?: (changed: ChangedRepository) => string;
}

export function printChanges(
  result: readonly ChangedRepository[],
  { changes, fields, dryRun, headOf = () => "" }: ChangesToTell,
): void {
  for (const changed of result) {
    for (const line of describeChanges(changed, changes, fields))
      print(`${headOf(changed)}${dryRun ? `Would be: ${line}` : capitalized(line)}`);
    warnOfMirrorProblem(changed);
  }
}

/** One line for each field, or for each edit inside its value. */
function describeChanges({ config }: ChangedRepository, changes: readonly ToldChange[], fields: Fields): string[] {
  return Object.entries(config).flatMap(([scope, described]) =>
    Object.entries(described).flatMap(([field, written]) => {
      const { value } = written;
      const where = whereOf(written);
      const path = joinConfigPath(scope, field);
      const schema = fields.get(path);
      const own = changes.filter(change => change.field === path);
      const inside = own.filter(change => change.path !== undefined);
      if (inside.length > 0)
        return inside.map(
          edit => `${edit.absent ? describeAbsent(edit, schema, value) : describeEdit(edit, schema)}${where}`,
        );
      const shown = showValue(value, schema, false);
      if (own.some(({ absent }) => absent)) return [`nothing to unset: ${path} has its default, ${shown}`];
      const isUnset = own.some(({ op }) => op === "unset");
      return [isUnset ? `unset${where}; now ${path} = ${shown}` : `set ${path} = ${shown}${where}`];
    }),
  );
}

/** Where it was written, if that is not the only place, and what counts instead. */
function whereOf({ layer, shadowedBy, localItems, counts }: DescribedValue): string {
  if (localItems !== undefined) return ` (local: ${localItems.join(", ")})`;
  const whose = shadowedBy === "base" ? "the main work tree's local" : `your ${shadowedBy}`;
  if (shadowedBy !== undefined) return ` (${layer ?? "shared"}; ${whose} value still counts)`;
  // A number, or a text of digits.
  if (counts !== undefined) return ` (shared; ${String(counts)} in this worktree, by x-step)`;
  return layer === undefined ? "" : ` (${layer})`;
}

/** The same of a field in a reply; nothing if it was written where everyone has it, and counts. */
export function whereWritten(result: readonly ChangedRepository[], path: string): string {
  const { scope = "", field = "" } = splitConfigPath(path) ?? {};
  const written = result[0]?.config[scope]?.[field];
  return written === undefined ? "" : whereOf(written);
}

/** Warns of secrets among the values that were set. */
export function warnOfSecrets(
  result: readonly ChangedRepository[],
  changes: readonly ToldChange[],
  fields: Fields,
): void {
  const given = changes.map(({ field, value = null }) => [field, value as JsonValue] as const);
  const isSet = (path: string) => result.some(({ config }) => describedAt(config, path));
  warnOfPlainSecrets(
    given.filter(([path]) => isSet(path)),
    fields,
  );
}

function describedAt(config: ChangedRepository["config"], path: string): boolean {
  const { scope = "", field = "" } = splitConfigPath(path) ?? {};
  return config[scope]?.[field] !== undefined;
}

/** Prints the result of a change as JSON. `more` is added to the repository's object. */
export async function printChangeJson(
  { result: [changed], errors }: Reply<readonly ChangedRepository[]>,
  readFields: ReadFields,
  more = {},
): Promise<void> {
  const shown = changed && { ...printableResult(changed, await readFields()), ...more };
  printJson({ ...shown, ...(errors.length > 0 && { errors }) });
}

/** Warns that the file does not contain the change yet. */
export function warnOfMirrorProblem({ mirrorProblem }: ChangedRepository): void {
  if (mirrorProblem !== undefined)
    printNote(`The change is active, but it is not in the file yet: ${mirrorProblem}. Repoconf keeps retrying.`);
}

/** Throws all errors of the reply, with suggestions for unknown fields. */
export async function throwRefusal(reply: Reply, readFields: ReadFields): Promise<void> {
  if (reply.errors.length === 0) return;
  const errors = await Promise.all(
    reply.errors.map(entry => withSuggestion(readFields, new RequestError(entry, reply))),
  );
  const [first, second] = errors;
  if (second === undefined) throw first;
  throw new CommandError(errors.map(describeError).map(visible).join("\n"), exitCodeOf(first));
}

function capitalized(line: string): string {
  return line.charAt(0).toUpperCase() + line.slice(1);
}
