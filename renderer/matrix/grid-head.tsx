import type { VirtualItem } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp, ArrowUpDown } from "lucide-react";
import type { ComponentProps, PointerEvent } from "react";
import { rootFontSize } from "../root-font-size.ts";
import { type MatrixSort, useScreen } from "../state/store.ts";
import { type GridField, textOfValue } from "./cell-view.ts";
import { resize, sortBy } from "./matrix-view.ts";

export interface ColumnsProps {
  readonly fields: readonly GridField[];
  /** The rendered columns. */
  readonly columns: readonly VirtualItem[];
}

/** The header with the fields and the most common value of each. */
export function GridHead({ fields, columns, isCounted }: ColumnsProps & { readonly isCounted: boolean }) {
  const sort = useScreen(state => state.matrixView.sort);
  return (
    <Part role="row" className="matrix-head" aria-rowindex={1}>
      <Part role="columnheader" className="matrix-corner" aria-colindex={1}>
        Repository
      </Part>
      {columns.map(({ index, start, size }) => {
        const one = fields[index];
        return (
          one && (
            <Part
              key={one.field}
              role="columnheader"
              className="matrix-field"
              aria-colindex={index + 2}
              aria-sort={sortOf(one, sort)}
              data-column={index}
              style={{ left: start, width: size }}
              title={one.field}
            >
              <strong>{one.schema.title ?? one.name}</strong>
              <code>{one.field}</code>
              <span className="hint">{isCounted ? maxText(one) : "…"}</span>
              {one.count !== undefined && <SortButton field={one} sort={sort} />}
              <span className="matrix-edge" aria-hidden="true" onPointerDown={event => drag(event, one.field, size)} />
            </Part>
          )
        );
      })}
    </Part>
  );
}

/** For the pointer; by keyboard it is S in the grid, which keeps the focus. */
function SortButton({ field, sort }: { readonly field: GridField; readonly sort: MatrixSort | undefined }) {
  const order = sortOf(field, sort);
  const Icon = order === "none" ? ArrowUpDown : order === "ascending" ? ArrowUp : ArrowDown;
  return (
    <button
      type="button"
      className="matrix-sort"
      tabIndex={-1}
      title={`Sort by ${field.field} (S)`}
      aria-label={`Sort by ${field.field}`}
      // The header selects its column.
      onMouseDown={event => event.stopPropagation()}
      onClick={() => sortBy(field.field)}
    >
      <Icon aria-hidden="true" />
    </button>
  );
}

function sortOf({ field }: GridField, sort: MatrixSort | undefined): "none" | "ascending" | "descending" {
  if (sort?.field !== field) return "none";
  return sort.isDescending ? "descending" : "ascending";
}

/** Resizes a column by its edge; `size`: its width in pixels. By keyboard it is + and - in the grid. */
function drag(event: PointerEvent<HTMLElement>, field: string, size: number): void {
  if (event.button !== 0) return;
  // The header selects its column.
  event.preventDefault();
  event.stopPropagation();
  const edge = event.currentTarget;
  const begin = event.clientX;
  edge.setPointerCapture(event.pointerId);
  const move = ({ clientX }: globalThis.PointerEvent) => resize(field, (size + clientX - begin) / rootFontSize());
  edge.addEventListener("pointermove", move);
  edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), { once: true });
}

function maxText({ schema, of, count, value, like }: GridField): string {
  if (count === undefined) return "masked";
  return `${like === undefined ? textOfValue(value, schema) : "a long value"}: ${count} of ${of}`;
}

/** A part of the grid. The focus stays on the grid itself, which names the active cell. */
export function Part(props: ComponentProps<"div">) {
  return <div {...props} />;
}
