import { expect, test } from "vitest";
import type { Commit, LogEntry } from "../../../../main/store/log/commit-log.ts";
import { StreamSnapshots } from "../../../../main/store/shared/stream/stream-snapshots.ts";
import { TestClock } from "../../../helpers/test-clock.ts";

const time = "2025-01-01T00:00:00.000Z";

function commit(repo: string, revision: number, more: object = {}): Commit {
  const edits = [{ scope: "svc", field: "timeout", value: revision }];
  const document = { repo, lineage: "", revision, edits, ...more };
  return { kind: "commit", time, actor: { kind: "file" }, source: "file", documents: [document] };
}

function part(snapshot: number, repo: string, commits: readonly Commit[], isFirst: boolean, isLast: boolean): LogEntry {
  return { kind: "part", snapshot, repo, commits, erasures: [], isFirst, isLast };
}

const snapshot: LogEntry = { kind: "snapshot", time };
const whole = { begins: true, isWhole: true };

/** What a follower receives, as text, of entries with the numbers 11, 12 and so on. */
function followed(entries: readonly LogEntry[], skipsTo: number): string[] {
  const snapshots = new StreamSnapshots(new TestClock());
  snapshots.skipTo(skipsTo);
  return entries.flatMap((entry, index) => {
    const number = 11 + index;
    snapshots.track({ number, entry }, number);
    return snapshots.followedEntries({ number, entry }).map(followed => {
      const { entry: one } = followed;
      if (one.kind === "remaining") return `remaining ${[...one.repos].join()}`;
      const commits = one.kind === "kept" ? one.commits : one.kind === "commit" ? [one] : [];
      const of = commits.flatMap(({ documents }) =>
        documents.map(({ repo, revision, edits }) => `${repo} ${revision}/${edits.length}`),
      );
      return `${followed.number} ${one.kind} ${of.join(" ")}`;
    });
  });
}

test("a follower that missed earlier entries takes each repository as a whole, and skips commits to it until then", () => {
  const entries: LogEntry[] = [
    snapshot,
    commit("shop", 6),
    part(11, "shop", [commit("shop", 4, whole), commit("shop", 4, whole), commit("shop", 5)], true, false),
    commit("shop", 7),
    commit("new", 1, { begins: true }),
    part(11, "shop", [commit("shop", 6), commit("shop", 7)], false, true),
    commit("shop", 8),
    { kind: "end", snapshot: 11 },
    commit("site", 9),
  ];
  expect(followed(entries, 11)).toEqual([
    "15 commit new 1/1",
    "16 kept shop 4/2 shop 5/1 shop 6/1 shop 7/1",
    "17 commit shop 8/1",
    "remaining new,shop",
    "19 commit site 9/1",
  ]);
});

test("an unfinished part is not combined with later parts, whether of the same snapshot or of another", () => {
  const entries: LogEntry[] = [
    snapshot,
    part(11, "shop", [commit("shop", 1)], true, false),
    part(3, "shop", [commit("shop", 9)], false, true),
    part(11, "shop", [commit("shop", 4, whole)], true, false),
    snapshot,
    part(15, "shop", [commit("shop", 7)], true, true),
    part(11, "shop", [commit("shop", 5)], false, true),
    { kind: "end", snapshot: 15 },
    { kind: "end", snapshot: 11 },
  ];
  expect(followed(entries, 11)).toEqual(["17 kept shop 4/1 shop 5/1", "remaining shop"]);
});
