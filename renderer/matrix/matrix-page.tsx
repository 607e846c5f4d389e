import { useMemo, useRef, useState } from "react";
import { joinConfigPath, splitConfigPath } from "../../shared/config-path.ts";
import { Failure } from "../fields/problems.tsx";
import { unknownSchema } from "../parts/show-json.ts";
import { focusPlace } from "../state/navigation.ts";
import { editKey, findField, orDefault, type ScreenState, useScreen } from "../state/store.ts";
import type { GridField } from "./cell-view.ts";
import { Grid } from "./grid.tsx";
import { changeView } from "./matrix-view.ts";
import { QueryBox } from "./query-box.tsx";
import { copyCells, selectedFields, setCells } from "./selected-cells.ts";
import { SelectedCells } from "./selection.ts";
import { SetBar } from "./set-bar.tsx";
import { useCells } from "./use-cells.ts";
import { useGridSelection } from "./use-grid-selection.ts";
import { useMatrix } from "./use-matrix.ts";
import { useSortedRows } from "./use-sorted-rows.ts";

const problemId = "matrix-problem";

/** A table of the fields and repositories that match a query: differences stand out, and many cells can be set at once. */
export function MatrixPage({ query }: { readonly query: string }) {
  const repositories = useScreen(state => state.repositories);
  const scopes = useScreen(state => state.scopes);
  const pending = useScreen(state => state.pending);
  const { matrix, isCounted, problem } = useMatrix(query);
  const [sight, setSight] = useState<{ readonly repos: readonly string[]; readonly fields: readonly string[] }>(
    nothing,
  );
  const cellOf = useCells(sight.repos, sight.fields);
  const page = useRef<HTMLElement>(null);
  const bar = useRef<HTMLElement>(null);
  const view = useScreen(state => state.matrixView);
  const found = useMemo(() => {
    const ids = new Set(matrix?.repositories);
    return (repositories ?? []).filter(({ id }) => ids.has(id));
  }, [repositories, matrix]);
  const rows = useSortedRows(found, view.sort);
  const allFields = useMemo(
    () =>
      (matrix?.fields ?? []).map((one): GridField => {
        const { scope, field } = splitConfigPath(one.field) ?? { scope: "", field: "" };
        return {
          ...one,
          scope,
          name: field,
          schema: findField(scopes, scope, field) ?? { ...unknownSchema, default: null },
          scopeSchema: scopes.find(one => one.scope === scope)?.schema,
        };
      }),
    [matrix, scopes],
  );
  const fields = useMemo(
    () => (view.isOfDifferences ? withDifferences(allFields, pending) : allFields),
    [view.isOfDifferences, allFields, pending],
  );
  const [selection, setSelection] = useGridSelection(rows, fields);
  const selected = useMemo(
    () => new SelectedCells(selection, rows.length, fields.length),
    [selection, rows.length, fields.length],
  );
  const chosen = useMemo(() => selectedFields(selected, rows, fields), [selected, rows, fields]);
  const focusGrid = () => page.current?.querySelector<HTMLElement>('[role="grid"]')?.focus();
  const [only] = chosen;
  return (
    <article ref={page} className="page matrix-page" aria-labelledby="page-title">
      <header className="matrix-top">
        <h1 id="page-title">Matrix</h1>
        <QueryBox
          query={query}
          describedBy={problem === undefined ? undefined : problemId}
          onQuery={next => focusPlace({ page: "matrix", query: next })}
          onDone={focusGrid}
        />
        <button
          type="button"
          className="chip"
          aria-pressed={view.isOfDifferences}
          onClick={() => changeView({ isOfDifferences: !view.isOfDifferences })}
        >
          Differences only
        </button>
        <p className="hint" role="status">
          {matrix && sizeText(matrix.total.repositories, matrix.total.fields, matrix.fields.length)}
          {matrix && !isCounted && ", counting their values…"}
          {matrix && isCounted && view.isOfDifferences && `, ${fields.length.toLocaleString("en")} with differences`}
        </p>
      </header>
      <Failure id={problemId} text={problem} />
      {rows.length > 0 && fields.length > 0 ? (
        <>
          <Grid
            rows={rows}
            fields={fields}
            isCounted={isCounted}
            selection={selection}
            selected={selected}
            cellOf={cellOf}
            onSelection={setSelection}
            onReset={cells => void setCells(selectedFields(cells, rows, fields), undefined)}
            onCopy={cells => void copyCells(selectedFields(cells, rows, fields), rows)}
            onEdit={() => bar.current?.querySelector<HTMLElement>(controls)?.focus()}
            onSight={(repos, inSight) => setSight({ repos, fields: inSight })}
          />
          <SetBar
            key={chosen.map(({ scope, field }) => `${scope}.${field}`).join(" ")}
            ref={bar}
            selected={chosen}
            count={selected.count}
            value={only && valueAt(only.scope, only.field)}
            onDone={focusGrid}
          />
        </>
      ) : (
        problem === undefined && <p className="waiting">{emptyText()}</p>
      )}
    </article>
  );

  /** The value of the active cell if it is selected, else of the first selected one. */
  function valueAt(scope: string, field: string) {
    const isActive = selected.has(selection.active);
    const repo = isActive ? rows[selection.active.row]?.id : only?.repos[0];
    if (repo === undefined) return undefined;
    const edit = pending.get(editKey(repo, scope, field));
    if (edit === undefined) return cellOf(repo, `${scope}.${field}`)?.value;
    return orDefault(edit.value, findField(scopes, scope, field)?.default);
  }

  function emptyText(): string {
    if (!isCounted) return "Reading…";
    if (allFields.length > 0 && found.length > 0)
      return "Nothing differs: each of these fields has the same value everywhere.";
    return repositories?.length === 0 ? "No repository yet. Add one to get started." : "No results.";
  }
}

/** The fields that have several values, or are edited. Whether masked values differ is not told. */
function withDifferences(fields: readonly GridField[], pending: ScreenState["pending"]): readonly GridField[] {
  const edited = new Set(Array.from(pending.values(), edit => joinConfigPath(edit.scope, edit.field)));
  return fields.filter(({ field, of, count = of }) => count < of || edited.has(field));
}

const controls = ".matrix-value :is(input, textarea, button), .matrix-tools button";
const nothing = { repos: [], fields: [] };

function sizeText(repositories: number, fields: number, shown: number): string {
  const count = (many: number, one: string, more: string) => `${many.toLocaleString("en")} ${many === 1 ? one : more}`;
  const left = shown < fields ? `, of which the first ${shown} are shown` : "";
  return `${count(repositories, "repository", "repositories")}, ${count(fields, "field", "fields")}${left}`;
}
