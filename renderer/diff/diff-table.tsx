import { type ReactNode, useMemo } from "react";
import { type DiffLine, diffLines, type FieldChange } from "./diff-lines.ts";
import { DiffValue, type SideNames } from "./diff-value.tsx";

interface DiffTableProps<Change extends FieldChange> {
  /** Compared again when the array changes. */
  readonly changes: readonly Change[];
  /** The maximum of lines, but at least one of each field. */
  readonly most?: number;
  /** The names of the two sides; omitted: before and after. */
  readonly sides?: SideNames | undefined;
  /** The possible actions for a field. */
  actions?(change: Change): readonly DiffAction[];
}

export interface DiffAction {
  /** Unique among the actions of the field; an action that stays keeps the focus when its text changes. */
  readonly key: string;
  readonly text: ReactNode;
  run(): void;
}

/** Changes by path, in readable form, with the value before and after. */
export function DiffTable<Change extends FieldChange>({ changes, most = 200, sides, actions }: DiffTableProps<Change>) {
  const fields = useMemo(() => {
    let left = most;
    return changes.map(change => {
      const { lines, more } = diffLines(change, left);
      left -= lines.length;
      return { change, lines, more };
    });
  }, [changes, most]);
  return (
    <div className="diff-place">
      <table className="table diff" data-beside={sides !== undefined}>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">{sides?.before ?? "Before"}</th>
            <th scope="col" className="diff-after">
              {sides?.after ?? "After"}
            </th>
            {actions !== undefined && (
              <th scope="col">
                <span className="visually-hidden">Action</span>
              </th>
            )}
          </tr>
        </thead>
        {fields.map(({ change, lines, more }) => {
          const buttons = actions?.(change);
          return (
            <tbody key={`${change.title} ${change.path}`}>
              {change.title !== undefined && (
                <tr className="diff-title">
                  <th scope="rowgroup" colSpan={3}>
                    {change.title}
                  </th>
                </tr>
              )}
              {/* The buttons, one of which may have the focus, are kept when the first line changes. */}
              {lines.map((line, index) => (
                <tr key={index === 0 ? "first" : line.key}>
                  <LineCells key={line.key} line={line} sides={sides} />
                  {buttons !== undefined && index === 0 && (
                    <td className="diff-action" rowSpan={lines.length + (more === undefined ? 0 : 1)}>
                      {buttons.map(({ key, text, run }) => (
                        <button key={key} type="button" className="button button-quiet" onClick={run}>
                          {text}
                          <span className="visually-hidden"> {change.path}</span>
                        </button>
                      ))}
                    </td>
                  )}
                </tr>
              ))}
              {more !== undefined && (
                <tr>
                  <td className="hint" colSpan={3}>
                    {more}
                  </td>
                </tr>
              )}
            </tbody>
          );
        })}
      </table>
    </div>
  );
}

function LineCells({ line, sides }: { readonly line: DiffLine; readonly sides: SideNames | undefined }) {
  return (
    <>
      <th scope="row">
        <code>{line.path}</code>
      </th>
      <td className="diff-before">
        <span className="diff-side visually-hidden">{sides === undefined ? "from" : `${sides.before}:`} </span>
        <DiffValue line={line} side="before" sides={sides} />
      </td>
      <td className="diff-after">
        <span className="diff-side visually-hidden">{sides === undefined ? "to" : `${sides.after}:`} </span>
        <DiffValue line={line} side="after" sides={sides} />
      </td>
    </>
  );
}
