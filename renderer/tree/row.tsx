import { ChevronRight, Star } from "lucide-react";
import { memo } from "react";
import { problemsIn } from "../../shared/health.ts";
import type { TreeRow } from "./rows.ts";

interface TreeRowProps {
  readonly row: TreeRow;
  /** Of the page that it shows. */
  readonly address: string;
  /** Pixels from the top of the tree. */
  readonly top: number;
  /** Undefined: it has no children. */
  readonly open: boolean | undefined;
  readonly active: boolean;
  readonly selected: boolean;
  onFocus(row: HTMLElement): void;
  onSelect(): void;
  onToggle(): void;
}

/** One row of the tree. */
export const TreeRowView = memo(function TreeRowView(props: TreeRowProps) {
  const { row, address, top, open, active, selected, onFocus, onSelect, onToggle } = props;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys of all its rows.
    <div
      className={`tree-row tree-row-${row.kind}`}
      role="treeitem"
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-selected={selected}
      {...(open !== undefined && { "aria-expanded": open })}
      data-active={active}
      data-address={address}
      data-flashing={row.kind === "field" && row.flashing}
      tabIndex={active ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onFocus={event => onFocus(event.currentTarget)}
      onClick={onSelect}
    >
      {open !== undefined && (
        <span
          className="tree-toggle"
          data-open={open}
          aria-hidden="true"
          onClick={event => {
            event.stopPropagation();
            onToggle();
          }}
        >
          <ChevronRight />
        </span>
      )}
      <RowContent row={row} />
    </div>
  );
}, sameRow);

function RowContent({ row }: { readonly row: TreeRow }) {
  switch (row.kind) {
    case "repository": {
      const { name, path, favourite, health, modified } = row.entry;
      const [problem] = problemsIn(health);
      return (
        <>
          <span className="tree-repository">
            <span className="tree-name">{name}</span>
            {path !== undefined && (
              <span className="tree-path" title={path}>
                {path}
              </span>
            )}
          </span>
          <span className="tree-marks">
            {problem !== undefined && (
              <span className="mark mark-problem" title={problem.message}>
                <span className="visually-hidden">has problems</span>
              </span>
            )}
            {row.edits > 0 && (
              <span className="count count-edited">
                {row.edits} {row.edits === 1 ? "edit" : "edits"}
              </span>
            )}
            {modified > 0 && (
              <span className="count" title={`${modified} modified`}>
                {modified}
                <span className="visually-hidden"> modified</span>
              </span>
            )}
            {favourite && (
              <span className="mark-favourite" title="Favourite">
                <Star size="0.875rem" fill="currentColor" aria-hidden="true" />
                <span className="visually-hidden">favourite</span>
              </span>
            )}
          </span>
        </>
      );
    }
    case "scope":
      return (
        <>
          <span className="tree-name">{row.title}</span>
          <span className="tree-marks">
            {row.modified > 0 && (
              <span className="count">
                {row.modified}
                <span className="visually-hidden"> modified</span>
              </span>
            )}
          </span>
        </>
      );
    case "field":
      return (
        <>
          <span className="tree-name" data-modified={row.modified} data-edited={row.edited}>
            {row.title}
            {row.edited && <span className="visually-hidden"> (edited)</span>}
            {row.modified && !row.edited && <span className="visually-hidden"> (modified)</span>}
          </span>
          <span className="tree-value">{row.value}</span>
        </>
      );
    case "waiting":
      return <span className="tree-value">Reading…</span>;
  }
}

/** Rows are rebuilt at each change of the screen; equal ones are not rendered again. */
function sameRow(before: TreeRowProps, after: TreeRowProps): boolean {
  const sameProps = (["address", "top", "open", "active", "selected"] as const).every(
    name => before[name] === after[name],
  );
  return sameProps && sameContent(before.row, after.row);
}

function sameContent(one: TreeRow, other: TreeRow): boolean {
  const [left, right]: { readonly [name: string]: unknown }[] = [
    { ...one, selection: 0 },
    { ...other, selection: 0 },
  ];
  return Object.keys(left ?? {}).every(name => left?.[name] === right?.[name]);
}
