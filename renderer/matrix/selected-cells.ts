import { configValue } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { masksAnything } from "../../shared/scopes/masks.ts";
import { openRepositories } from "../state/connection.ts";
import { copyText } from "../state/copy.ts";
import { editAll } from "../state/edits.ts";
import { messageOf, notify } from "../state/notices.ts";
import { editKey, findField, orDefault, type ScreenState, screenStore } from "../state/store.ts";
import type { GridField } from "./cell-view.ts";
import type { SelectedCells } from "./selection.ts";
import { cellsOf } from "./use-sorted-rows.ts";

/** The selected cells of one field. */
export interface SelectedField {
  readonly scope: string;
  readonly field: string;
  readonly repos: readonly string[];
}

/** The selected cells by field, in the order of the columns and rows. */
export function selectedFields(
  selected: SelectedCells,
  rows: readonly RepositoryEntry[],
  fields: readonly GridField[],
): readonly SelectedField[] {
  return selected.columns.flatMap(column => {
    const field = fields[column];
    const repos = selected.rows.flatMap(row => (selected.has({ row, column }) ? [rows[row]?.id ?? ""] : []));
    return field === undefined ? [] : [{ scope: field.scope, field: field.name, repos }];
  });
}

/** Edits all of these cells to a value, or to their defaults. Tells why if it cannot. */
export async function setCells(cells: readonly SelectedField[], value: JsonValue | undefined): Promise<boolean> {
  try {
    const excess = describeExcess(cells, screenStore.getState().pending);
    if (excess !== undefined) throw new Error(excess);
    await openRepositories([...new Set(cells.flatMap(({ repos }) => repos))]);
    editAll(cells.flatMap(({ repos, ...path }) => repos.map(repo => ({ repo, ...path, value }))));
    return true;
  } catch (error) {
    notify("problem", messageOf(error), "matrix");
    return false;
  }
}

/** The maximum of copied cells. */
const mostCopied = 10_000;

/** Copies the values as a spreadsheet takes them: a line for each row, a tab between fields. Masked values are left out. */
export async function copyCells(cells: readonly SelectedField[], rows: readonly RepositoryEntry[]): Promise<void> {
  const { scopes, pending } = screenStore.getState();
  const fields = cells.filter(({ scope, field }) => {
    const schema = findField(scopes, scope, field);
    // A value without a schema counts as masked, as everywhere.
    return schema !== undefined && !masksAnything(schema);
  });
  const wanted = new Set(fields.flatMap(({ repos }) => repos));
  const repos = rows.map(({ id }) => id).filter(id => wanted.has(id));
  if (fields.length === 0)
    return notify("problem", "Masked values are not copied: any program can read the clipboard.", "matrix");
  if (repos.length * fields.length > mostCopied)
    return notify("problem", `At most ${mostCopied.toLocaleString("en")} cells can be copied. Select fewer.`, "matrix");
  try {
    const paths = fields.map(({ scope, field }) => joinConfigPath(scope, field));
    const configs = new Map((await cellsOf(repos, paths)).map(({ repo, config }) => [repo, config]));
    const textAt = (repo: string, { scope, field, repos: some }: SelectedField) => {
      if (!some.includes(repo)) return "";
      const edit = pending.get(editKey(repo, scope, field));
      const stored = configValue(configs.get(repo) ?? {}, scope, field);
      return typed(edit === undefined ? stored : orDefault(edit.value, findField(scopes, scope, field)?.default));
    };
    const text = repos.map(repo => fields.map(one => textAt(repo, one)).join("\t")).join("\n");
    const left = fields.length < cells.length ? ", without masked ones" : "";
    const count = fields.reduce((sum, one) => sum + one.repos.length, 0);
    await copyText(
      text,
      `Copied ${count === 1 ? "1 value" : `${count.toLocaleString("en")} values`}${left}.`,
      "The values",
    );
  } catch (error) {
    notify("problem", messageOf(error), "matrix");
  }
}

/** A text unchanged if it stays one cell, anything else as JSON. */
function typed(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" && !/[\t\r\n]/.test(value) ? value : JSON.stringify(value);
}

/** Why so many edits cannot be saved at once; undefined: they can. Existing edits count too, because they are saved together. */
export function describeExcess(
  selected: readonly SelectedField[],
  pending: ScreenState["pending"],
): string | undefined {
  let others = 0;
  const describe = (count: number, most: number, what: string) =>
    `At most ${most.toLocaleString("en")} ${what} can be saved at once; this would make ${count.toLocaleString("en")}. ` +
    (others > 0 ? "Select fewer, or save your edits first." : "Select fewer.");
  const longest = Math.max(0, ...selected.map(({ repos }) => repos.length));
  // The cheap check first: with very many cells it is enough.
  if (longest > limits.repositoriesPerSet) return describe(longest, limits.repositoriesPerSet, "repositories");
  const keys = new Set<string>();
  const fields = new Map<string, number>();
  const add = (repo: string) => fields.set(repo, (fields.get(repo) ?? 0) + 1);
  for (const { scope, field, repos } of selected)
    for (const repo of repos) {
      keys.add(editKey(repo, scope, field));
      add(repo);
    }
  if (keys.size === 0) return undefined;
  for (const [key, { repo }] of pending) {
    if (keys.has(key)) continue;
    add(repo);
    others += 1;
  }
  if (fields.size > limits.repositoriesPerSet) return describe(fields.size, limits.repositoriesPerSet, "repositories");
  const most = Math.max(...fields.values());
  if (most > limits.fieldsPerSet) return describe(most, limits.fieldsPerSet, "fields of a repository");
  const total = keys.size + others;
  return total > limits.setWorkFields ? describe(total, limits.setWorkFields, "cells") : undefined;
}
