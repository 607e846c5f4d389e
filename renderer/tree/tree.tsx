import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  memo,
  useCallback,
  useDeferredValue,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { focusField } from "../parts/focus-when-there.ts";
import { rootFontSize } from "../root-font-size.ts";
import { expand, placeOf, select } from "../state/navigation.ts";
import { addressOf, type Place } from "../state/place.ts";
import { type ScreenState, useScreen } from "../state/store.ts";
import { TreeRowView } from "./row.tsx";
import { type TreeRow, treeRows } from "./rows.ts";

/** Row heights in rem, as in frame.css: of a repository, with its path below its name, and of the rows inside it. */
const [tallRow, lowRow] = [2.75, 1.75];

/**
 * Repositories, scopes and fields as flat rows, of which only the visible ones are in the page. React Aria's Tree in its
 * Virtualizer first builds a collection of all rows: measured again in November 2026 (react-aria-components 1.22.1, 10,000
 * repositories), its first rows took 6 to 9 times as long as these, 18 times or more with everything open, and an arrow key 70 ms
 * instead of 1.
 */
export function Tree() {
  // Deferred: rendering very many repositories is split into short tasks that do not delay typing.
  const repositories = useDeferredValue(useScreen(state => state.repositories));
  const firstRepositories = useDeferredValue(useScreen(state => state.firstRepositories));
  const query = useDeferredValue(useScreen(state => state.query));
  const found = useDeferredValue(useScreen(state => state.found));
  const isKnown = repositories !== undefined;
  return <Rows isKnown={isKnown} repositories={repositories ?? firstRepositories} query={query} found={found} />;
}

interface RowsProps extends Pick<ScreenState, "query" | "found"> {
  readonly isKnown: boolean;
  readonly repositories: readonly RepositoryEntry[];
}

const Rows = memo(function Rows({ isKnown, repositories, query, found }: RowsProps) {
  const scopes = useScreen(state => state.scopes);
  const opened = useScreen(state => state.opened);
  const pending = useScreen(state => state.pending);
  const expanded = useScreen(state => state.expanded);
  const flashes = useScreen(state => state.flashes);
  const place = useScreen(state => state.place);
  const rows = useMemo(
    () => treeRows({ repositories, scopes, opened, pending, expanded, query, found, flashes }),
    [repositories, scopes, opened, pending, expanded, query, found, flashes],
  );
  const [activeKey, setActiveKey] = useState<string>();
  const focusWanted = useRef(false);
  /** The focused row, while the focus is in the tree. */
  const focusedRow = useRef<HTMLElement>(null);
  const lastIndex = useRef(0);
  const scroller = useRef<HTMLDivElement>(null);
  const foundIndex = rows.findIndex(({ key }) => key === activeKey);
  // If the active row was removed, the row in its place becomes active.
  const inItsPlace = focusedRow.current === null ? 0 : Math.max(0, Math.min(lastIndex.current, rows.length - 1));
  const activeIndex = foundIndex === -1 ? inItsPlace : foundIndex;
  const rem = rootFontSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: with another function all rows are measured again, as they have to be with another size.
  const getItemKey = useCallback((index: number) => rows[index]?.key ?? index, [rows, rem]);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: index => (rows[index]?.kind === "repository" ? tallRow : lowRow) * rem,
    getItemKey,
    overscan: 12,
    // Rendered in a separate task, not in the scroll event.
    useFlushSync: false,
    // The active row stays in the page, or the focus would fall to the body when it scrolls out of view.
    rangeExtractor: range => {
      const visible = defaultRangeExtractor(range);
      return visible.includes(activeIndex) ? visible : [...visible, activeIndex].sort((one, other) => one - other);
    },
  });

  useLayoutEffect(() => {
    lastIndex.current = activeIndex;
    const isDetached = focusedRow.current !== null && !focusedRow.current.isConnected;
    if (!focusWanted.current && !isDetached) return;
    focusWanted.current = false;
    focusedRow.current = null;
    const row = scroller.current?.querySelector<HTMLElement>('[data-active="true"]');
    (row ?? scroller.current)?.focus({ preventScroll: true });
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
        // Search results stay expanded.
        if (open && expanded.has(row.key)) expand(row.key, false);
        else activate(parentIndex(rows, activeIndex));
        return true;
      case "Enter":
        select(row.selection);
        if (row.kind === "field") focusField(row.path);
        return true;
      case " ":
        select(row.selection);
        return true;
      default:
        return false;
    }
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it has a role, either of two.
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both may have a label.
    <div
      ref={scroller}
      className="tree"
      // Without rows it is not a tree; it only shows a message.
      role={rows.length > 0 ? "tree" : "group"}
      aria-label="Repositories"
      aria-busy={!isKnown}
      tabIndex={-1}
      onKeyDown={onKeyDown}
      onBlur={() => {
        focusedRow.current = null;
      }}
    >
      {isKnown && rows.length === 0 && <p className="tree-empty">{emptyText(query, found)}</p>}
      <div className="tree-rows" role="presentation" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return undefined;
          return (
            <TreeRowView
              key={row.key}
              row={row}
              address={addressOf(placeOf(row.selection, place))}
              top={start}
              open={isOpen(row)}
              active={index === activeIndex}
              selected={isSelected(row, place, isOpen(row) === true)}
              onFocus={element => {
                focusedRow.current = element;
                setActiveKey(row.key);
              }}
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
});

function emptyText(query: string, found: ScreenState["found"]): string {
  if (query.trim() === "") return "No repository yet. Add one to get started.";
  if (found?.query !== query) return "Searching…";
  return found.problem === undefined ? "No results." : "No results, because the search failed.";
}

function isOpen(row: TreeRow): boolean | undefined {
  return row.kind === "repository" || row.kind === "scope" ? row.open : undefined;
}

/** A collapsed repository represents its fields. */
function isSelected({ kind, selection: { repo, scope, field } }: TreeRow, place: Place, open: boolean): boolean {
  if (place.page !== "repo" || place.repo !== repo) return false;
  return (kind === "repository" && !open) || (place.scope === scope && place.field === field);
}

function parentIndex(rows: readonly TreeRow[], index: number): number {
  const level = rows[index]?.level ?? 1;
  for (let above = index - 1; above >= 0; above -= 1) if ((rows[above]?.level ?? 1) < level) return above;
  return index;
}

function pageRows(element: HTMLElement | null): number {
  return Math.max(1, Math.floor((element?.clientHeight ?? 0) / (tallRow * rootFontSize())) - 1);
}
