import { useState } from "react";
import type { GridSelection } from "./selection.ts";

const atStart: GridSelection = { active: { row: 0, column: 0 }, ranges: [] };

/**
 * The selection among these repositories and fields. When rows or columns are added or removed, the selection is cleared, because
 * the chosen cells may have moved; the active cell stays where it is, as far as it still exists.
 */
export function useGridSelection(
  rows: readonly { readonly id: string }[],
  fields: readonly { readonly field: string }[],
): readonly [GridSelection, (selection: GridSelection) => void] {
  const [state, setState] = useState({ rows, fields, selection: atStart });
  if (state.rows === rows && state.fields === fields) return [state.selection, set];
  const isSame =
    rows.length === state.rows.length &&
    fields.length === state.fields.length &&
    rows.every(({ id }, at) => id === state.rows[at]?.id) &&
    fields.every(({ field }, at) => field === state.fields[at]?.field);
  const selection = isSame ? state.selection : { active: moved(), ranges: [] };
  setState({ rows, fields, selection });
  return [selection, set];

  function set(next: GridSelection): void {
    setState({ rows, fields, selection: next });
  }

  function moved() {
    const { row, column } = state.selection.active;
    const atRow = rows.findIndex(({ id }) => id === state.rows[row]?.id);
    const atColumn = fields.findIndex(({ field }) => field === state.fields[column]?.field);
    return {
      row: atRow === -1 ? Math.max(0, Math.min(row, rows.length - 1)) : atRow,
      column: atColumn === -1 ? Math.max(0, Math.min(column, fields.length - 1)) : atColumn,
    };
  }
}
