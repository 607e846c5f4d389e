import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type MouseEvent, useCallback, useEffect, useRef } from "react";
import { flushSync } from "react-dom";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { rootFontSize } from "../root-font-size.ts";
import { useScreen } from "../state/store.ts";
import type { GridField } from "./cell-view.ts";
import { GridHead } from "./grid-head.tsx";
import { GridRow, idOf } from "./grid-row.tsx";
import { keyTarget } from "./key-target.ts";
import { resize, sortBy, widthOf } from "./matrix-view.ts";
import {
  type CellPlace,
  choose,
  chooseColumn,
  chooseRow,
  extendTo,
  type GridSelection,
  moveTo,
  SelectedCells,
} from "./selection.ts";
import type { CellOf } from "./use-cells.ts";

/** Sizes in rem, as in matrix.css: of the headers and of a row. */
const [headHeight, headWidth, rowHeight] = [4, 13, 2];
/** Rows and columns rendered beyond the visible ones. */
const [moreRows, moreColumns] = [6, 2];

interface GridProps {
  readonly rows: readonly RepositoryEntry[];
  readonly fields: readonly GridField[];
  /** Whether the values of the fields have been counted. */
  readonly isCounted: boolean;
  readonly selection: GridSelection;
  readonly selected: SelectedCells;
  onSelection(selection: GridSelection): void;
  /** Called when the person wants to set the selected cells. */
  onEdit(): void;
  /** Called when the person wants these cells to have their defaults, or to copy their values. */
  onReset(cells: SelectedCells): void;
  onCopy(cells: SelectedCells): void;
  readonly cellOf: CellOf;
  /** Called when other cells become visible. */
  onSight(repos: readonly string[], fields: readonly string[]): void;
}

/**
 * Repositories are rows, because there are many of them and their names have similar lengths. Fields are columns, so that a
 * glance down a column shows a field's value everywhere. Only visible cells are rendered and requested.
 */
export function Grid(props: GridProps) {
  const { rows, fields, isCounted, selection, selected, cellOf, onSelection, onEdit, onReset, onCopy, onSight } = props;
  const view = useScreen(state => state.matrixView);
  const scroller = useRef<HTMLDivElement>(null);
  const isDragging = useRef(false);
  const rem = rootFontSize();
  const widthAt = (index: number) => widthOf(view, fields[index]?.field ?? "");
  // biome-ignore lint/correctness/useExhaustiveDependencies: with another function all columns are measured again, as they have to be with other sizes.
  const getItemKey = useCallback((index: number) => fields[index]?.field ?? index, [fields, view.widths, rem]);
  const vertical = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight * rem,
    paddingStart: headHeight * rem,
    scrollPaddingStart: headHeight * rem,
    overscan: moreRows,
    // Both virtualizers render together: if one rendered first, reading the other's position would force a layout in between.
    useFlushSync: false,
  });
  const horizontal = useVirtualizer({
    horizontal: true,
    count: fields.length,
    getScrollElement: () => scroller.current,
    estimateSize: index => widthAt(index) * rem,
    getItemKey,
    paddingStart: headWidth * rem,
    scrollPaddingStart: headWidth * rem,
    overscan: moreColumns,
    useFlushSync: false,
  });
  const shownRows = vertical.getVirtualItems().filter(({ index }) => index < rows.length);
  const shownColumns = horizontal.getVirtualItems().filter(({ index }) => index < fields.length);
  const [firstRow, lastRow] = [shownRows[0]?.index ?? 0, shownRows.at(-1)?.index ?? -1];
  const [firstColumn, lastColumn] = [shownColumns[0]?.index ?? 0, shownColumns.at(-1)?.index ?? -1];
  // biome-ignore lint/correctness/useExhaustiveDependencies: who is told may be another function each time.
  useEffect(() => {
    const inSight = fields.slice(firstColumn, lastColumn + 1);
    // The reply identifies a long value only by the repository that has it (`like`).
    const likes = inSight.flatMap(({ like }) => (like === undefined ? [] : [like]));
    const repos = rows.slice(firstRow, lastRow + 1).map(({ id }) => id);
    onSight(
      [...new Set([...repos, ...likes])],
      inSight.map(({ field }) => field),
    );
  }, [rows, fields, firstRow, lastRow, firstColumn, lastColumn]);
  useEffect(() => {
    const stop = () => {
      isDragging.current = false;
    };
    window.addEventListener("mouseup", stop);
    return () => window.removeEventListener("mouseup", stop);
  }, []);

  const { active } = selection;
  const last: CellPlace = { row: rows.length - 1, column: fields.length - 1 };

  function show(next: GridSelection): void {
    onSelection(next);
    vertical.scrollToIndex(next.active.row, { align: "auto" });
    horizontal.scrollToIndex(next.active.column, { align: "auto" });
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.altKey || rows.length === 0 || fields.length === 0) return;
    const isCommand = event.ctrlKey || event.metaKey;
    const height = (scroller.current?.clientHeight ?? 0) / rem - headHeight;
    const to = keyTarget(event.key, isCommand, { active, last, page: Math.floor(height / rowHeight) - 1 });
    if (to !== undefined) show(event.shiftKey ? extendTo(selection, to) : moveTo(selection, to));
    else if (event.key === " " && event.shiftKey) onSelection(chooseRow(selection, active.row, last));
    else if (event.key === " " && isCommand) onSelection(chooseColumn(selection, active.column, last));
    else if (event.key === " ")
      onSelection(choose(selection, { from: active }, { more: true, isOn: !selected.has(active) }));
    else if (isCommand && event.key.toLowerCase() === "a") onSelection(chooseColumn(selection, active.column, last));
    else if (event.key === "Escape") onSelection({ active, ranges: [] });
    else if (event.key === "Enter") {
      // The control must exist before it can get the focus.
      if (!selected.has(active)) flushSync(() => onSelection(choose(selection, { from: active })));
      onEdit();
    } else if (!onOtherKey(event.key.toLowerCase(), isCommand)) return;
    event.preventDefault();
  }

  /** The keys that act on the selected cells, which are the active one if it is outside of them, and on its column. */
  function onOtherKey(key: string, isCommand: boolean): boolean {
    const { field } = fields[active.column] ?? {};
    if (isCommand ? key === "c" : key === "delete" || key === "backspace") {
      const wanted = selected.has(active) ? selection : choose(selection, { from: active });
      onSelection(wanted);
      (isCommand ? onCopy : onReset)(new SelectedCells(wanted, rows.length, fields.length));
    } else if (isCommand || field === undefined) return false;
    else if (key === "s") sortBy(field);
    else if (key === "+" || key === "-") resize(field, widthAt(active.column) + (key === "+" ? 2 : -2));
    else return false;
    return true;
  }

  function onMouseDown(event: MouseEvent): void {
    const { row, column } = placeOf(event.target);
    if (event.button !== 0 || (row === undefined && column === undefined)) return;
    const more = event.ctrlKey || event.metaKey;
    if (row === undefined || column === undefined) {
      const to = { row: row ?? last.row, column: column ?? last.column };
      if (event.shiftKey) onSelection(extendTo(selection, to));
      else
        onSelection(
          row === undefined ? chooseColumn(selection, to.column, last, more) : chooseRow(selection, row, last, more),
        );
    } else {
      const place = { row, column };
      isDragging.current = true;
      if (event.shiftKey) show(extendTo(selection, place));
      else show(choose(selection, { from: place }, { more, isOn: !more || !selected.has(place) }));
    }
  }

  function onMouseMove(event: MouseEvent): void {
    if (!isDragging.current) return;
    const { row, column } = placeOf(event.target);
    if (row === undefined || column === undefined || (row === active.row && column === active.column)) return;
    show(extendTo(selection, { row, column }));
  }

  const isActiveShown =
    active.row >= firstRow && active.row <= lastRow && active.column >= firstColumn && active.column <= lastColumn;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table has all of its rows in the page.
    <div
      ref={scroller}
      className="matrix"
      role="grid"
      aria-label="Matrix"
      aria-rowcount={rows.length + 1}
      aria-colcount={fields.length + 1}
      aria-multiselectable="true"
      {...(isActiveShown && { "aria-activedescendant": idOf(active) })}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onMouseDown={onMouseDown}
      onMouseMove={onMouseMove}
    >
      <div role="presentation" style={{ width: horizontal.getTotalSize(), height: vertical.getTotalSize() }}>
        <GridHead fields={fields} columns={shownColumns} isCounted={isCounted} />
        {shownRows.map(({ index, start }) => {
          const entry = rows[index];
          return (
            entry && (
              <GridRow
                key={entry.id}
                entry={entry}
                row={index}
                top={start}
                fields={fields}
                columns={shownColumns}
                active={active}
                selected={selected}
                cellOf={cellOf}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

/** The row and the column of a cell; for a header, only one of the two. */
function placeOf(target: EventTarget): Partial<CellPlace> {
  const element = target instanceof Element ? target.closest<HTMLElement>("[data-row], [data-column]") : null;
  const { row, column } = element?.dataset ?? {};
  return { ...(row !== undefined && { row: Number(row) }), ...(column !== undefined && { column: Number(column) }) };
}
