import { expect, test } from "vitest";
import { FolderIndex } from "../../../main/daemon/folders/folder-index.ts";
import type { Store } from "../../../main/store/store.ts";
import { TestClock } from "../../helpers/test-clock.ts";

test("what changes while the index is read for the first time, in slices, counts as it is afterwards", async () => {
  const folders = new Map(Array.from({ length: 2_000 }, (_, index) => [`r${index}`, `/nowhere/r${index}`]));
  let tell = (_event: object) => {};
  // Only what the index uses.
  const store = {
    reconciled: Promise.resolve(),
    repositories: { ids: () => folders.keys(), brief: (id: string) => folders.has(id) && { path: folders.get(id) } },
    events: {
      subscribe: (listener: typeof tell) => {
        tell = listener;
      },
    },
  };
  const index = new FolderIndex(store as unknown as Store, new TestClock());
  const find = async (path: string) => (await index.nearestNamed(path, () => true))?.id;
  const first = find("/nowhere/r3/below");
  // The first slice has been read, and the last one not.
  await Promise.resolve();
  const put = (kind: string, id: string, path: string) => {
    if (kind === "removed") folders.delete(id);
    else folders.set(id, path);
    tell({ kind, state: { id, path } });
  };
  for (const id of ["r0", "r1998"]) put("updated", id, `/nowhere/moved/${id}`);
  for (const id of ["r1", "r1999"]) put("removed", id, "");
  put("added", "new", "/nowhere/new");
  expect(await first).toBe("r3");
  for (const gone of ["r0", "r1998", "r1", "r1999"]) expect(await find(`/nowhere/${gone}`)).toBeUndefined();
  for (const moved of ["r0", "r1998"]) expect(await find(`/nowhere/moved/${moved}/x`)).toBe(moved);
  expect(await find("/nowhere/new")).toBe("new");
});

test("paths are kept as if they were resolved", async () => {
  const named = ["/a/b/", "/a//c", "/a/./d", "/a/x/../e", "/a/..f", "/a/.g", "/"];
  const store = {
    reconciled: Promise.resolve(),
    repositories: { ids: () => [...named, "relative"], brief: (path: string) => ({ path }) },
    events: { subscribe: () => {} },
  };
  const index = new FolderIndex(store as unknown as Store, new TestClock());
  const find = async (path: string) => (await index.nearestNamed(path, () => true))?.id;
  expect(await Promise.all(["/a/b", "/a/c", "/a/d", "/a/e", "/a/..f", "/a/.g", "/z"].map(find))).toEqual(named);
});
