import type { CellPlace } from "./selection.ts";

interface GridKeys {
  readonly active: CellPlace;
  /** The last cell of the last row. */
  readonly last: CellPlace;
  /** The number of rows per page. */
  readonly page: number;
}

/** The cell that a key moves to from the active cell, with or without Ctrl or Command; undefined: none. */
export function keyTarget(
  key: string,
  isCommand: boolean,
  { active: { row, column }, last, page }: GridKeys,
): CellPlace | undefined {
  const rows = Math.max(1, page);
  switch (key) {
    case "ArrowDown":
      return { row: isCommand ? last.row : Math.min(last.row, row + 1), column };
    case "ArrowUp":
      return { row: isCommand ? 0 : Math.max(0, row - 1), column };
    case "ArrowRight":
      return { row, column: isCommand ? last.column : Math.min(last.column, column + 1) };
    case "ArrowLeft":
      return { row, column: isCommand ? 0 : Math.max(0, column - 1) };
    case "Home":
      return { row: isCommand ? 0 : row, column: 0 };
    case "End":
      return { row: isCommand ? last.row : row, column: last.column };
    case "PageDown":
      return { row: Math.min(last.row, row + rows), column };
    case "PageUp":
      return { row: Math.max(0, row - rows), column };
    default:
      return undefined;
  }
}
