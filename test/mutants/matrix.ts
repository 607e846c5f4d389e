import type { Mutant } from "./mutant.ts";

const shared = { promise: "matrix", test: "test/screen/matrix.test.ts" };

/** The screen's matrix: it sets exactly what is selected, and no more than can be saved and undone. */
export const mutants: readonly Mutant[] = [
  {
    ...shared,
    removed: "saving several repositories as one batch",
    file: "renderer/state/saving.ts",
    find: "{ batch, ...(reason",
    replace: "{ batch: newBatch(), ...(reason",
    name: "turns proxy_https on",
  },
  {
    ...shared,
    removed: "loading the stored value before an edit is made",
    file: "renderer/matrix/set-bar.tsx",
    find: "      await openRepositories([...new Set(selected.flatMap(({ repos }) => repos))]);\n",
    replace: "",
    name: "works by keyboard alone",
  },
  {
    ...shared,
    removed: "requesting the cells of a changed repository again",
    file: "renderer/matrix/use-cells.ts",
    find: "row === undefined || row.revision < entry.revision || row.health !== entry.health",
    replace: "row === undefined",
    name: "follows changes and edits by others",
  },
  {
    ...shared,
    removed: "requesting the most common value again after a change",
    file: "renderer/matrix/use-matrix.ts",
    find: "if (state.repositories !== before.repositories || state.scopes !== before.scopes) askLater();",
    replace: "if (state.scopes !== before.scopes) askLater();",
    name: "follows changes and edits by others",
  },
  {
    ...shared,
    removed: "requesting only visible cells",
    file: "renderer/matrix/grid.tsx",
    find: "rows.slice(firstRow, lastRow + 1)",
    replace: "rows.slice(0, 900)",
    name: "with very many repositories",
  },
  {
    ...shared,
    removed: "rendering only visible rows",
    file: "renderer/matrix/grid.tsx",
    find: "overscan: moreRows,",
    replace: "overscan: 200,",
    name: "with very many repositories",
  },
  {
    ...shared,
    removed: "the refusal to save more than the limit at once",
    file: "renderer/matrix/set-bar.tsx",
    find: "const isApplicable = tooMany === undefined && problems",
    replace: "const isApplicable = problems",
    name: "with very many repositories",
  },
  {
    ...shared,
    removed: "clearing the selection when rows are added or removed",
    file: "renderer/matrix/use-grid-selection.ts",
    find: ": { active: moved(), ranges: [] };",
    replace: ": { active: moved(), ranges: state.selection.ranges };",
    name: "clears the selection when repositories are added",
  },
  {
    ...shared,
    removed: "showing why a query was refused",
    file: "renderer/matrix/use-matrix.ts",
    find: "if (isWanted) setProblem(messageOf(error));",
    replace: "",
    name: "keeps its query in the address",
  },
  {
    ...shared,
    removed: "reporting what an undo left unchanged",
    file: "renderer/state/undo.ts",
    find: "[...good, ...problems].join",
    replace: "good.join",
    name: "reports what was refused where",
  },
];
