import type { VirtualItem } from "@tanstack/react-virtual";
import type { ComponentProps } from "react";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { useScreen } from "../state/store.ts";
import { cellView, type GridField, textOfValue } from "./cell-view.ts";
import type { CellPlace, SelectedCells } from "./selection.ts";
import type { CellOf } from "./use-cells.ts";

interface ColumnsProps {
  readonly fields: readonly GridField[];
  /** The rendered columns. */
  readonly columns: readonly VirtualItem[];
}

/** The header with the fields and the most common value of each. */
export function GridHead({ fields, columns }: ColumnsProps) {
  return (
    <Part role="row" className="matrix-head" aria-rowindex={1}>
      <Part role="columnheader" className="matrix-corner" aria-colindex={1}>
        Repository
      </Part>
      {columns.map(({ index, start }) => {
        const one = fields[index];
        return (
          one && (
            <Part
              key={one.field}
              role="columnheader"
              className="matrix-field"
              aria-colindex={index + 2}
              data-column={index}
              style={{ left: start }}
              title={one.field}
            >
              <strong>{one.schema.title ?? one.name}</strong>
              <code>{one.field}</code>
              <span className="hint">{maxText(one)}</span>
            </Part>
          )
        );
      })}
    </Part>
  );
}

function maxText({ schema, of, count, value, like }: GridField): string {
  if (count === undefined) return "masked";
  return `${like === undefined ? textOfValue(value, schema) : "a long value"}: ${count} of ${of}`;
}

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
      {columns.map(({ index: column, start: left }) => {
        const field = fields[column];
        if (field === undefined) return undefined;
        const place = { row, column };
        const { flags, text, label } = cellView(entry.id, field, cellOf, pending);
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
            style={{ left }}
            title={label}
          >
            {text}
          </Part>
        );
      })}
    </Part>
  );
}

/** A part of the grid. The focus stays on the grid itself, which names the active cell. */
function Part(props: ComponentProps<"div">) {
  return <div {...props} />;
}

/** The id of a rendered cell. */
export function idOf({ row, column }: CellPlace): string {
  return `matrix-${row}-${column}`;
}
