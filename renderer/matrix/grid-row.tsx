import type { RepositoryEntry } from "../../shared/protocol.ts";
import { useScreen } from "../state/store.ts";
import { cellView } from "./cell-view.ts";
import { type ColumnsProps, Part } from "./grid-head.tsx";
import type { CellPlace, SelectedCells } from "./selection.ts";
import type { CellOf } from "./use-cells.ts";

interface GridRowProps extends ColumnsProps {
  readonly entry: RepositoryEntry;
  /** The index of the row, from 0. */
  readonly row: number;
  /** In pixels. */
  readonly top: number;
  readonly active: CellPlace;
  readonly selected: SelectedCells;
  readonly cellOf: CellOf;
}

/** The cells of one repository. */
export function GridRow({ entry, row, top, fields, columns, active, selected, cellOf }: GridRowProps) {
  const pending = useScreen(state => state.pending);
  return (
    <Part role="row" className="matrix-row" aria-rowindex={row + 2} style={{ top }}>
      <Part role="rowheader" className="matrix-name" aria-colindex={1} data-row={row} title={entry.path}>
        {entry.name}
      </Part>
      {columns.map(({ index: column, start: left, size: width }) => {
        const field = fields[column];
        if (field === undefined) return undefined;
        const place = { row, column };
        const { flags, text, label, whole } = cellView(entry.id, field, cellOf, pending);
        return (
          <Part
            key={field.field}
            id={idOf(place)}
            role="gridcell"
            className="matrix-cell"
            aria-colindex={column + 2}
            aria-selected={selected.has(place)}
            aria-label={label}
            data-row={row}
            data-column={column}
            data-active={row === active.row && column === active.column}
            {...flags}
            style={{ left, width }}
            title={whole}
          >
            {text}
          </Part>
        );
      })}
    </Part>
  );
}

/** The id of a rendered cell. */
export function idOf({ row, column }: CellPlace): string {
  return `matrix-${row}-${column}`;
}
