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

/** The keyboard goes to a cell; what is selected stays. */
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

/** The last range, or else the cell of the keyboard, reaches to this cell now. */
export function extendTo({ active, ranges }: GridSelection, to: CellPlace): GridSelection {
  const { from, isOn } = ranges.at(-1) ?? { from: active, isOn: true };
  return { active: to, ranges: [...ranges.slice(0, -1), { from, to, isOn }] };
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
    for (const [at, isOn] of this.#isOn.entries()) {
      if (isOn === 0) continue;
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
