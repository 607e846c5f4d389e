import type { RepoconfClient } from "../../../shared/client/client.ts";
import { entriesOfBatch, type LeftField, previewUndo, undoEntries } from "../../../shared/client/undo-batch.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import type { FoundHistoryEntry } from "../../../shared/protocol.ts";
import { listFields, showValue } from "../connect/fields.ts";
import { changeArguments, warnOfMirrorProblem } from "../output/changes.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { printable, printableResult } from "../output/masking.ts";
import { print, printJson, showProgress, visible } from "../output/terminal.ts";
import type { ChangeCommandOptions } from "./change.ts";
import { describeAuthor, showDifference } from "./describe-change.ts";
import { confirmChange, labels } from "./preview-changes.ts";

export interface UndoOptions extends ChangeCommandOptions {
  /** The id; true if --batch was given without one. */
  readonly batch?: string | true;
  readonly to?: number;
  readonly yes?: boolean;
}

/** `repoconf undo --batch [ID]`: undoes what one command changed in several repositories, except what was changed since. */
export async function undoWholeBatch(
  client: RepoconfClient,
  id: string | undefined,
  options: UndoOptions,
): Promise<void> {
  showProgress("Searching the histories…");
  const searched = id === undefined ? newestOwnBatch(client) : entriesOfBatch(client, id);
  const entries = await searched.finally(() => showProgress(""));
  const [newest] = entries;
  if (newest?.batch === undefined) throw nothingFound(id);
  const { batch } = newest;
  const [fields, repositories] = [await listFields(client), await client.repositories()];
  const labelOf = labels(repositories);
  const describeLeft = ({ repo, field, message }: LeftField) =>
    `Not changed: ${labelOf(repo)}${field === undefined ? "" : `, ${field}`}: ${message}`;
  const refuse = (left: readonly LeftField[]) => {
    if (left.length > 0) throw new CommandError(left.map(describeLeft).map(visible).join("\n"), exitCodes.refused);
  };

  const preview = await previewUndo(client, entries);
  const count = new Set(preview.changes.map(({ repo }) => repo)).size;
  if (count === 0) refuse(preview.left);
  if (count === 0) throw new CommandError("Nothing to undo.", exitCodes.refused);
  const why = newest.reason === undefined ? "" : `: ${newest.reason}`;
  const lines = [
    `The change of ${newest.time}, ${describeAuthor(newest)}${why}`,
    ...preview.changes.map(({ repo, scope, field, before, after }) => {
      const path = joinConfigPath(scope, field);
      const schema = fields.get(path);
      const show = (value: typeof after) => showValue(value, schema, false);
      const shown = showDifference(
        before === undefined ? `${show(schema?.default ?? null)} (default)` : show(before),
        show(after),
      );
      return `${labelOf(repo)}: ${path}: ${shown}`;
    }),
    ...preview.left.map(describeLeft),
  ];
  if (options.dryRun) {
    if (options.json) {
      const changes = preview.changes.map(({ repo, scope, field, before, after }) => {
        const path = joinConfigPath(scope, field);
        const shown = before === undefined ? {} : { before: printable(path, before, fields) };
        return { repo, field: path, ...shown, after: printable(path, after, fields) };
      });
      printJson({ undone: batch, changes, left: preview.left });
    } else print(...lines, "Nothing was changed (--dry-run).");
    return refuse(preview.left);
  }
  const where = count === 1 ? "1 repository" : `${count} repositories`;
  if (!options.yes) await confirmChange(lines, `Undo this in ${where}?`);

  const { restored, left } = await undoEntries(client, entries, {
    reason: `undo of batch ${batch}`,
    ...changeArguments(options),
    batch: `undo of ${batch} at ${Date.now()}`,
  });
  const again = restored[0]?.batch;
  if (options.json) {
    const printed = restored.map(changed => printableResult(changed, fields));
    printJson({ undone: batch, ...(again !== undefined && { batch: again }), repositories: printed, left });
    return refuse(left);
  }
  for (const changed of restored) {
    for (const [scope, values] of Object.entries(changed.config))
      for (const [field, { value }] of Object.entries(values)) {
        const path = joinConfigPath(scope, field);
        print(`${labelOf(changed.repo)}: Restored ${path} = ${showValue(value, fields.get(path), false)}`);
      }
    warnOfMirrorProblem(changed);
  }
  if (again !== undefined) print(`To redo: repoconf undo --batch ${again}`);
  refuse(left);
}

/** The entries of the newest batch of several repositories that this key, or any window of the owner, has made; none without one. */
async function newestOwnBatch(client: RepoconfClient): Promise<readonly FoundHistoryEntry[]> {
  const others = new Set<string>();
  for await (const { batch, actor, time } of client.activity()) {
    // Only the owner sees batches of others.
    if (batch === undefined || others.has(batch) || !/^(this key|owner)\b/.test(actor)) continue;
    const entries = await entriesOfBatch(client, batch, time);
    if (new Set(entries.map(({ repo }) => repo)).size > 1) return entries;
    others.add(batch);
  }
  return [];
}

function nothingFound(id: string | undefined): CommandError {
  const message =
    id === undefined
      ? "Nothing to undo: the histories have no change of several repositories that you made."
      : `There is no change with the batch ${JSON.stringify(id)} in the histories that this key may read. To undo your newest one: repoconf undo --batch`;
  return new CommandError(message, exitCodes.refused);
}
