import type { Mutant } from "./mutant.ts";

const shared = { promise: "matrix", test: "test/screen/matrix.test.ts" };

/** What the screen's matrix protects: that what is set is what was selected, and no more than can be saved and undone. */
export const mutants: readonly Mutant[] = [
  {
    ...shared,
    removed: "that a save of several repositories is one batch",
    file: "renderer/state/saving.ts",
    find: "{ batch, ...(reason",
    replace: "{ batch: newBatch(), ...(reason",
    name: "turns proxy_https on",
  },
  {
    ...shared,
    removed: "that the stored value is known before an edit is made",
    file: "renderer/matrix/set-bar.tsx",
    find: "      await openRepositories([...new Set(selected.flatMap(({ repos }) => repos))]);\n",
    replace: "",
    name: "is worked by keys alone",
  },
  {
    ...shared,
    removed: "that the cells of a repository that changed are requested again",
    file: "renderer/matrix/use-cells.ts",
    find: "row === undefined || row.revision < entry.revision || row.health !== entry.health",
    replace: "row === undefined",
    name: "follows changes and edits of others",
  },
  {
    ...shared,
    removed: "that the value which most have is requested again",
    file: "renderer/matrix/use-matrix.ts",
    find: "if (state.repositories !== before.repositories || state.scopes !== before.scopes) askLater();",
    replace: "if (state.scopes !== before.scopes) askLater();",
    name: "follows changes and edits of others",
  },
  {
    ...shared,
    removed: "that only cells in sight are asked for",
    file: "renderer/matrix/grid.tsx",
    find: "rows.slice(firstRow, lastRow + 1)",
    replace: "rows.slice(0, 900)",
    name: "of very many repositories",
  },
  {
    ...shared,
    removed: "that only rows in sight are in the page",
    file: "renderer/matrix/grid.tsx",
    find: "overscan: moreRows,",
    replace: "overscan: 200,",
    name: "of very many repositories",
  },
  {
    ...shared,
    removed: "the refusal of more than can be saved at once",
    file: "renderer/matrix/set-bar.tsx",
    find: "const isApplicable = tooMany === undefined && problems",
    replace: "const isApplicable = problems",
    name: "of very many repositories",
  },
  {
    ...shared,
    removed: "that nothing is selected any more when rows come or go",
    file: "renderer/matrix/use-grid-selection.ts",
    find: ": { active: moved(), ranges: [] };",
    replace: ": { active: moved(), ranges: state.selection.ranges };",
    name: "selects nothing any more when repositories come",
  },
  {
    ...shared,
    removed: "what a refused query says",
    file: "renderer/matrix/use-matrix.ts",
    find: "if (isWanted) setProblem(messageOf(error));",
    replace: "",
    name: "has its query in the address",
  },
  {
    ...shared,
    removed: "that undo tells what it left",
    file: "renderer/state/undo.ts",
    find: "[...good, ...problems].join",
    replace: "good.join",
    name: "tells what was refused where",
  },
];
