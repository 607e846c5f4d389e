import type { RepoconfClient } from "../../../shared/client/client.ts";
import { entriesOfBatch, type LeftField, previewUndo, undoEntries } from "../../../shared/client/undo-batch.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import type { FoundHistoryEntry } from "../../../shared/protocol.ts";
import { visible } from "../../../shared/visible.ts";
import { listFields, mask, showValue } from "../connect/fields.ts";
import { changeArguments, isOfLayer, layerOf, warnOfMirrorProblem } from "../output/changes.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { printable, printableResult } from "../output/masking.ts";
import { print, printJson, showProgress } from "../output/terminal.ts";
import type { ChangeCommandOptions } from "./change.ts";
import { describeAuthor, showDifference } from "./describe-change.ts";
import { confirmChange, labels } from "./preview-changes.ts";

export interface UndoOptions extends ChangeCommandOptions {
  /** The id; true if --batch was given without one. */
  readonly batch?: string | true;
  readonly to?: number;
  /** The id or name of a key. */
  readonly by?: string;
  /** As in `since:` of a query. */
  readonly since?: string;
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
  const all = await searched.finally(() => showProgress(""));
  const layer = layerOf(options);
  const entries = all.filter(entry => isOfLayer(entry, layer));
  const [newest] = entries;
  if (newest?.batch === undefined) throw nothingFound(id);
  const { batch } = newest;
  const why = newest.reason === undefined ? "" : `: ${newest.reason}`;
  const title = `The change of ${newest.time}, ${describeAuthor(newest)}${why}`;
  await undoChanges(client, { entries, title, name: `batch ${batch}`, told: { undone: batch } }, options);
}

/** `repoconf undo --by KEY --since TIME`: undoes all that one key changed, except what was changed since. Throws CommandError. */
export async function undoAllBy(
  client: RepoconfClient,
  named: string,
  since: string,
  options: UndoOptions,
): Promise<void> {
  showProgress("Searching the histories…");
  const found = await entriesBy(client, named, since).finally(() => showProgress(""));
  const { id } = found;
  const layer = layerOf(options);
  const entries = found.entries.filter(entry => isOfLayer(entry, layer));
  const [newest] = entries;
  if (newest === undefined)
    throw new CommandError(
      `Nothing to undo: the key ${named} (${id}) has changed nothing since then.`,
      exitCodes.refused,
    );
  const count = entries.length === 1 ? "1 revision" : `${entries.length} revisions`;
  const title = `What the key ${newest.actor} (${id}) changed, ${count}, the last one at ${newest.time}`;
  await undoChanges(client, { entries, title, name: `the changes of ${newest.actor}`, told: { undone: id } }, options);
}

interface UndoneChanges {
  /** Newest first. */
  readonly entries: readonly FoundHistoryEntry[];
  /** The first line of the preview. */
  readonly title: string;
  /** What they are, in the reason and as the new batch's name. */
  readonly name: string;
  /** What `--json` says of them. */
  readonly told: object;
}

/** Shows what undoing these changes would do, asks, and undoes them as one batch, except what was changed since. Throws CommandError. */
async function undoChanges(
  client: RepoconfClient,
  { entries, title, name, told }: UndoneChanges,
  options: UndoOptions,
): Promise<void> {
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
  const lines = [
    title,
    ...preview.changes.map(({ repo, scope, field, before, after, masked, shadowedBy }) => {
      const path = joinConfigPath(scope, field);
      const schema = fields.get(path);
      const show = (value: typeof after) => (masked ? mask : showValue(value, schema, false));
      if (shadowedBy !== undefined)
        return `${labelOf(repo)}: ${path}: the shared value; what counts stays ${show(after)} (${shadowedBy})`;
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
      const changes = preview.changes.map(({ repo, scope, field, before, after, masked, shadowedBy }) => {
        const path = joinConfigPath(scope, field);
        const show = (value: typeof after) => (masked ? mask : printable(path, value, fields));
        const values = { ...(before !== undefined && { before: show(before) }), after: show(after) };
        return { repo, field: path, ...values, ...(shadowedBy && { shadowedBy }) };
      });
      printJson({ ...told, changes, left: preview.left });
    } else print(...lines, "Nothing was changed (--dry-run).");
    return refuse(preview.left);
  }
  const where = count === 1 ? "1 repository" : `${count} repositories`;
  if (!options.yes) await confirmChange(lines, `Undo this in ${where}?`);

  const { restored, left } = await undoEntries(client, entries, {
    reason: `undo of ${name}`,
    ...changeArguments(options),
    batch: `undo of ${name.slice(0, 60)} at ${Date.now()}`,
  });
  const again = restored[0]?.batch;
  if (options.json) {
    const printed = restored.map(changed => printableResult(changed, fields));
    printJson({ ...told, ...(again !== undefined && { batch: again }), repositories: printed, left });
    return refuse(left);
  }
  for (const changed of restored) {
    for (const [scope, values] of Object.entries(changed.config))
      for (const [field, { value, masked }] of Object.entries(values)) {
        const path = joinConfigPath(scope, field);
        const shown = masked ? mask : showValue(value, fields.get(path), false);
        print(`${labelOf(changed.repo)}: Restored ${path} = ${shown}`);
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

/**
 * The changes of the key with this id or name since a time. Its id decides, and a key that was revoked has one too, in the histories.
 * Throws CommandError if no key is called so, or several are.
 */
async function entriesBy(
  client: RepoconfClient,
  named: string,
  since: string,
): Promise<{ readonly id: string; readonly entries: readonly FoundHistoryEntry[] }> {
  const keys = await client.run("key/list", { limit: 1_000 });
  const isNamed = (id: string, name: string) => id === named || name === named;
  const ids = new Set(keys.filter(({ id, name, kind }) => kind === undefined && isNamed(id, name)).map(({ id }) => id));
  const entries: FoundHistoryEntry[] = [];
  for await (const entry of client.activity(`since:${since}`)) {
    if (entry.key === undefined || !isNamed(entry.key, entry.actor)) continue;
    ids.add(entry.key);
    // An erasure is no change.
    if (entry.source !== "forget") entries.push(entry);
  }
  const [id, ...others] = ids;
  if (id === undefined) {
    const message = `No key is called "${named}", and none of that name has changed anything since then. To list the keys: repoconf key list`;
    throw new CommandError(message, exitCodes.refused);
  }
  if (others.length > 0) {
    const message = `"${named}" names ${ids.size} keys, of which some may have been revoked. Use an id: ${[...ids].join(", ")}`;
    throw new CommandError(message, exitCodes.refused);
  }
  return { id, entries };
}
