import { expect, test } from "vitest";
import { changesIn, nameRevisions } from "../../shared/history-changes.ts";

test.each<[title: string, entries: readonly (readonly [revision: number, together?: number])[], names: string[]]>([
  ["each revision is a change", [[3], [2], [1]], ["revision 3", "revision 2", "revision 1"]],
  ["two that name each other are one", [[4], [3, 2], [2, 3], [1]], ["revision 4", "revisions 2 and 3", "revision 1"]],
  ["one name is enough, as in events", [[3, 2], [2], [1]], ["revisions 2 and 3", "revision 1"]],
  [
    "three of one entry of the log are one",
    [
      [4, 3],
      [3, 4],
      [2, 3],
    ],
    ["revisions 2 to 4"],
  ],
  [
    "two changes of two layers stay two",
    [
      [5, 4],
      [4, 5],
      [3, 2],
      [2, 3],
    ],
    ["revisions 4 and 5", "revisions 2 and 3"],
  ],
  ["the other one may be on another page, or hidden", [[3, 2], [1]], ["revision 3", "revision 1"]],
])("%s", (_title, entries, names) => {
  const listed = entries.map(([revision, together]) => ({ revision, ...(together !== undefined && { together }) }));
  expect(changesIn(listed).map(nameRevisions)).toEqual(names);
});
