/** A cell by the places of its row and its column, from 0. */
export interface CellPlace {
  readonly row: number;
  readonly column: number;
}

/** The cells between two corners: selected, or no more. */
interface CellRange {
  readonly from: CellPlace;
  readonly to: CellPlace;
  readonly isOn: boolean;
}

/** What is selected in a grid, and where the keyboard is. Of ranges that meet, the last one counts. */
export interface GridSelection {
  readonly active: CellPlace;
  readonly ranges: readonly CellRange[];
}

/** Moves the keyboard focus to a cell; the selection stays. */
export function moveTo({ ranges }: GridSelection, active: CellPlace): GridSelection {
  return { active, ranges };
}

/** From one cell to another, and nothing else; `more`: beside what is selected. The keyboard is at `active` then. */
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

/** A column; `last`: the last cell of the last row. */
export function chooseColumn(selection: GridSelection, column: number, last: CellPlace, more = false): GridSelection {
  const active = { row: selection.active.row, column };
  return choose(selection, { from: { row: 0, column }, to: { row: last.row, column }, active }, { more });
}

/** A row. */
export function chooseRow(selection: GridSelection, row: number, last: CellPlace, more = false): GridSelection {
  const active = { row, column: selection.active.column };
  return choose(selection, { from: { row, column: 0 }, to: { row, column: last.column }, active }, { more });
}

/** The last range reaches to this cell now; where the keyboard has left it, one that begins at the keyboard is all there is. */
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

/** The selected cells of a grid, looked up by their places. */
export class SelectedCells {
  readonly count: number;
  /** Rows and columns that have some, in order. */
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
