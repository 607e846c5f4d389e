import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
import { expand, select } from "../state/navigation.ts";
import { useScreen } from "../state/store.ts";
import { TreeRowView } from "./row.tsx";
import { type TreeRow, treeRows } from "./rows.ts";

const rowHeight = 28;

/** Repositories, scopes and fields as flat rows, of which only those in sight are in the page. */
export function Tree() {
  const repositories = useScreen(state => state.repositories);
  const scopes = useScreen(state => state.scopes);
  const opened = useScreen(state => state.opened);
  const pending = useScreen(state => state.pending);
  const expanded = useScreen(state => state.expanded);
  const query = useScreen(state => state.query);
  const found = useScreen(state => state.found);
  const flashes = useScreen(state => state.flashes);
  const selection = useScreen(state => state.selection);
  const rows = useMemo(
    () => treeRows({ repositories, scopes, opened, pending, expanded, query, found, flashes }),
    [repositories, scopes, opened, pending, expanded, query, found, flashes],
  );
  const [activeKey, setActiveKey] = useState<string>();
  const focusWanted = useRef(false);
  const scroller = useRef<HTMLDivElement>(null);
  const activeIndex = Math.max(
    0,
    rows.findIndex(({ key }) => key === activeKey),
  );
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: index => rows[index]?.key ?? index,
    overscan: 12,
    // The active row stays in the page, or focus would fall to the body when it scrolls out of sight.
    rangeExtractor: range => {
      const visible = defaultRangeExtractor(range);
      return visible.includes(activeIndex) ? visible : [...visible, activeIndex].sort((one, other) => one - other);
    },
  });

  useLayoutEffect(() => {
    if (!focusWanted.current) return;
    focusWanted.current = false;
    scroller.current?.querySelector<HTMLElement>('[data-active="true"]')?.focus({ preventScroll: true });
  });

  function activate(index: number): void {
    const row = rows[index];
    if (row === undefined) return;
    focusWanted.current = true;
    setActiveKey(row.key);
    virtualizer.scrollToIndex(index, { align: "auto" });
  }

  function onKeyDown(event: KeyboardEvent): void {
    const row = rows[activeIndex];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const handled = move(event.key, row);
    if (handled) event.preventDefault();
  }

  function move(key: string, row: TreeRow): boolean {
    const open = isOpen(row);
    switch (key) {
      case "ArrowDown":
        activate(Math.min(rows.length - 1, activeIndex + 1));
        return true;
      case "ArrowUp":
        activate(Math.max(0, activeIndex - 1));
        return true;
      case "PageDown":
        activate(Math.min(rows.length - 1, activeIndex + pageRows(scroller.current)));
        return true;
      case "PageUp":
        activate(Math.max(0, activeIndex - pageRows(scroller.current)));
        return true;
      case "Home":
        activate(0);
        return true;
      case "End":
        activate(rows.length - 1);
        return true;
      case "ArrowRight":
        if (open === false) expand(row.key, true);
        else if (open) activate(activeIndex + 1);
        return true;
      case "ArrowLeft":
        if (open && row.level < 3) expand(row.key, false);
        else activate(parentIndex(rows, activeIndex));
        return true;
      case "Enter":
      case " ":
        select(row.selection);
        return true;
      default:
        return false;
    }
  }

  return (
    <div
      ref={scroller}
      className="tree"
      role="tree"
      aria-label="Repositories"
      aria-busy={repositories === undefined}
      onKeyDown={onKeyDown}
    >
      {repositories !== undefined && rows.length === 0 && <p className="tree-empty">{emptyText(query)}</p>}
      <div className="tree-rows" role="presentation" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return undefined;
          return (
            <TreeRowView
              key={row.key}
              row={row}
              top={start}
              open={isOpen(row)}
              active={index === activeIndex}
              selected={isSelected(row, selection)}
              onSelect={() => {
                setActiveKey(row.key);
                select(row.selection);
              }}
              onToggle={() => {
                setActiveKey(row.key);
                expand(row.key, isOpen(row) !== true);
              }}
            />
          );
        })}
      </div>
    </div>
  );
}

function emptyText(query: string): string {
  return query.trim() === "" ? "No repository yet. Add one to begin." : "Nothing matches.";
}

function isOpen(row: TreeRow): boolean | undefined {
  return row.kind === "repository" || row.kind === "scope" ? row.open : undefined;
}

function isSelected({ selection }: TreeRow, selected: TreeRow["selection"] | undefined): boolean {
  return selected?.repo === selection.repo && selected.scope === selection.scope && selected.field === selection.field;
}

function parentIndex(rows: readonly TreeRow[], index: number): number {
  const level = rows[index]?.level ?? 1;
  for (let above = index - 1; above >= 0; above -= 1) if ((rows[above]?.level ?? 1) < level) return above;
  return index;
}

function pageRows(element: HTMLElement | null): number {
  return Math.max(1, Math.floor((element?.clientHeight ?? 0) / rowHeight) - 1);
}
