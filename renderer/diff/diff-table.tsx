import { useMemo } from "react";
import { type DiffLine, diffLines, type FieldChange } from "./diff-lines.ts";
import { DiffValue } from "./diff-value.tsx";

interface DiffTableProps<Change extends FieldChange> {
  /** Compared again when this is another array. */
  readonly changes: readonly Change[];
  /** So many lines at most, but one of each field at least. */
  readonly most?: number;
  /** What can be done about a field. */
  action?(change: Change): { readonly text: string; run(): void };
}

/** What changes, path by path, as people read it: from what, and to what. */
export function DiffTable<Change extends FieldChange>({ changes, most = 200, action }: DiffTableProps<Change>) {
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
      <table className="table diff">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col" className="diff-after">
              After
            </th>
            {action !== undefined && (
              <th scope="col">
                <span className="visually-hidden">Action</span>
              </th>
            )}
          </tr>
        </thead>
        {fields.map(({ change, lines, more }) => {
          const button = action?.(change);
          return (
            <tbody key={`${change.title} ${change.path}`}>
              {change.title !== undefined && (
                <tr className="diff-title">
                  <th scope="rowgroup" colSpan={3}>
                    {change.title}
                  </th>
                </tr>
              )}
              {lines.map((line, index) => (
                <tr key={line.key}>
                  <LineCells line={line} />
                  {button !== undefined && index === 0 && (
                    <td className="diff-action" rowSpan={lines.length + (more === undefined ? 0 : 1)}>
                      <button type="button" className="button button-quiet" onClick={button.run}>
                        {button.text}
                        <span className="visually-hidden"> {change.path}</span>
                      </button>
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

function LineCells({ line }: { readonly line: DiffLine }) {
  return (
    <>
      <th scope="row">
        <code>{line.path}</code>
      </th>
      <td className="diff-before">
        <span className="visually-hidden">from </span>
        <DiffValue line={line} side="before" />
      </td>
      <td className="diff-after">
        <span className="visually-hidden">to </span>
        <DiffValue line={line} side="after" />
      </td>
    </>
  );
}
