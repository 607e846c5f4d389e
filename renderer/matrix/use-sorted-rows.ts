import { useMemo } from "react";
import { configValue } from "../../shared/config.ts";
import { splitConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { MatrixRow, RepositoryEntry } from "../../shared/protocol.ts";
import { daemon } from "../state/connection.ts";
import type { MatrixSort } from "../state/store.ts";
import { useAnswer } from "../state/use-answer.ts";

interface Known {
  readonly field: string;
  /** By repository; undefined: masked or not readable. */
  readonly values: ReadonlyMap<string, JsonValue | undefined>;
}

/**
 * The repositories in the order of a field's values. They are read when the sorting is chosen and when repositories are added or removed: rows
 * must not move because somebody edits them.
 */
export function useSortedRows(
  rows: readonly RepositoryEntry[],
  sort: MatrixSort | undefined,
): readonly RepositoryEntry[] {
  const ids = useMemo(() => rows.map(({ id }) => id).join(" "), [rows]);
  const field = sort?.field;
  const known = useAnswer(async (): Promise<Known | undefined> => {
    if (field === undefined || ids === "") return undefined;
    const { scope = "", field: name = "" } = splitConfigPath(field) ?? {};
    const cells = await cellsOf(ids.split(" "), [field]);
    return { field, values: new Map(cells.map(({ repo, config }) => [repo, configValue(config, scope, name)])) };
  }, [ids, field]);
  return useMemo(() => {
    if (sort === undefined || known?.field !== sort.field) return rows;
    const { values } = known;
    return rows.toSorted((one, other) => compare(values.get(one.id), values.get(other.id), sort.isDescending));
  }, [rows, sort, known]);
}

/** The cells of any number of repositories. */
export async function cellsOf(repos: readonly string[], fields: readonly string[]): Promise<readonly MatrixRow[]> {
  const rows: MatrixRow[] = [];
  const most = limits.repositoriesPerSet;
  for (let at = 0; at < repos.length; at += most)
    rows.push(...(await daemon().cells(repos.slice(at, at + most), fields)));
  return rows;
}

/** Numbers by their size, anything else by its text; what is not known stands last. */
function compare(one: JsonValue | undefined, other: JsonValue | undefined, isDescending: boolean): number {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
  const order =
    typeof one === "number" && typeof other === "number"
      ? one - other
      : textOf(one).localeCompare(textOf(other), "en", { numeric: true });
  return isDescending ? -order : order;
}

function textOf(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
