import type { JsonValue } from "../../shared/json.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { differsHidden, showJson } from "../page/show-json.ts";

export interface DiffRow {
  readonly path: string;
  readonly schema: ValueSchema;
  /** Undefined: the default. */
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
  readonly action?: { readonly text: string; run(): void };
}

/** What changes, field by field: before and after. */
export function DiffTable({ rows }: { readonly rows: readonly DiffRow[] }) {
  return (
    <table className="table diff">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
          {rows.some(({ action }) => action !== undefined) && (
            <th>
              <span className="visually-hidden">Drop</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ path, schema, before, after, action }) => (
          <tr key={path}>
            <th scope="row">
              <code>{path}</code>
            </th>
            <td className="diff-before">
              <Side value={before} schema={schema} />
            </td>
            <td className="diff-after">
              <Side value={after} schema={schema} />
              {differsHidden(before ?? schema.default ?? null, after ?? schema.default ?? null, schema) && (
                <span className="hint"> another value, which is masked</span>
              )}
            </td>
            {action !== undefined && (
              <td>
                <button type="button" className="button button-quiet" onClick={action.run}>
                  {action.text}
                  <span className="visually-hidden"> {path}</span>
                </button>
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Side({ value, schema }: { readonly value: JsonValue | undefined; readonly schema: ValueSchema }) {
  return (
    <>
      <code>{showJson(value ?? schema.default, schema)}</code>
      {value === undefined && <span className="hint"> default</span>}
    </>
  );
}
