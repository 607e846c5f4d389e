/** A cell by the indexes of its row and column, from 0. */
export interface CellPlace {
  readonly row: number;
  readonly column: number;
}

/** The cells between two corners: selected or deselected. */
interface CellRange {
  readonly from: CellPlace;
  readonly to: CellPlace;
  readonly isOn: boolean;
}

/** The selection of a grid and its active cell. Where ranges overlap, the last one counts. */
export interface GridSelection {
  readonly active: CellPlace;
  readonly ranges: readonly CellRange[];
}

/** Makes a cell active; the selection does not change. */
export function moveTo({ ranges }: GridSelection, active: CellPlace): GridSelection {
  return { active, ranges };
}

/** Selects only the cells from one to another, or with `more` adds them to the selection, and makes `active` the active cell. */
export function choose(
  { ranges }: GridSelection,
  {
    from,
    to = from,
    active = from,
  }: { readonly from: CellPlace; readonly to?: CellPlace; readonly active?: CellPlace },
  { more = false, isOn = true } = {},
): GridSelection {
  return { active, ranges: [...(more ? ranges : []), { from, to, isOn }] };
}

/** Selects a column; `last`: the last cell of the last row. */
export function chooseColumn(selection: GridSelection, column: number, last: CellPlace, more = false): GridSelection {
  const active = { row: selection.active.row, column };
  return choose(selection, { from: { row: 0, column }, to: { row: last.row, column }, active }, { more });
}

/** Selects a row. */
export function chooseRow(selection: GridSelection, row: number, last: CellPlace, more = false): GridSelection {
  const active = { row, column: selection.active.column };
  return choose(selection, { from: { row, column: 0 }, to: { row, column: last.column }, active }, { more });
}

/** Extends the last range to this cell; if the active cell is outside it, selects only from the active cell to this one. */
export function extendTo({ active, ranges }: GridSelection, to: CellPlace): GridSelection {
  const range = ranges.at(-1);
  if (range === undefined || !isWithin(range, active))
    return { active: to, ranges: [{ from: active, to, isOn: true }] };
  return { active: to, ranges: [...ranges.slice(0, -1), { ...range, to }] };
}

function isWithin({ from, to }: CellRange, { row, column }: CellPlace): boolean {
  const isBetween = (at: number, one: number, other: number) =>
    at >= Math.min(one, other) && at <= Math.max(one, other);
  return isBetween(row, from.row, to.row) && isBetween(column, from.column, to.column);
}

/** The selected cells of a grid, for lookup by row and column. */
export class SelectedCells {
  readonly count: number;
  /** Rows and columns that contain selected cells, in order. */
  readonly rows: readonly number[];
  readonly columns: readonly number[];
  readonly #isOn: Uint8Array;
  readonly #width: number;

  constructor({ ranges }: GridSelection, rows: number, columns: number) {
    this.#width = columns;
    this.#isOn = new Uint8Array(rows * columns);
    for (const { from, to, isOn } of ranges) {
      const [first, last] = [Math.min(from.column, to.column), Math.max(from.column, to.column)];
      for (let row = Math.min(from.row, to.row); row <= Math.max(from.row, to.row); row += 1)
        this.#isOn.fill(isOn ? 1 : 0, row * columns + first, row * columns + last + 1);
    }
    const [inRow, inColumn] = [new Set<number>(), new Set<number>()];
    let count = 0;
    for (let at = 0; at < this.#isOn.length; at += 1) {
      if (this.#isOn[at] === 0) continue;
      count += 1;
      inRow.add(Math.floor(at / columns));
      inColumn.add(at % columns);
    }
    this.count = count;
    this.rows = [...inRow];
    this.columns = [...inColumn].sort((one, other) => one - other);
  }

  has({ row, column }: CellPlace): boolean {
    return this.#isOn[row * this.#width + column] === 1;
  }
}
