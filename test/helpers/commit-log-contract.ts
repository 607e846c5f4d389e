import { expect, test } from "vitest";
import { AppendError, type Commit, type OpenedLog } from "../../main/store/log/commit-log.ts";
import type { LogNumber } from "../../main/store/types.ts";
import { until } from "./daemon.ts";

export type TestLog = ReturnType<typeof testLog>;

/** A log whose commits each set a timeout, which identifies them. */
export function testLog({ log, entries, lost }: OpenedLog, problems: readonly string[]) {
  /** The numbers and timeouts of the reported commits, in order. */
  const committed: [LogNumber, number][] = [];
  return {
    log,
    /** The timeouts of the commits that a start would have to process. */
    found: entries.map(({ entry }) => (entry.kind === "commit" ? timeoutOf(entry) : Number.NaN)) as readonly number[],
    lost: lost.length,
    problems,
    committed,
    /** Sends one request with these commits. */
    append: (...timeouts: number[]) =>
      log.append({
        entries: timeouts.map(commitOf),
        after: log.newest,
        committed: first => {
          for (const [index, timeout] of timeouts.entries()) committed.push([first + index, timeout]);
        },
      }),
  };
}

export function commitOf(timeout: number): Commit {
  const edits = [{ scope: "svc", field: "timeout", value: timeout }];
  return {
    kind: "commit",
    time: "2025-01-01T00:00:00.000Z",
    actor: { kind: "file" },
    source: "file",
    documents: [{ repo: "shop", lineage: "", revision: timeout, edits }],
  };
}

export function timeoutOf({ documents }: Commit): number {
  return Number(documents[0]?.edits[0]?.value);
}

/** What every implementation of `CommitLog` must fulfil; each place is for one log, which can be reopened after it was closed. */
export function commitLogTests(makePlace: () => Promise<AsyncDisposable & { open(): Promise<TestLog> }>): void {
  test("is empty at first, and returns what was appended, in order, after each start", async () => {
    await using place = await makePlace();
    const first = await place.open();
    expect([first.found, first.log.newest]).toEqual([[], 0]);
    await Promise.all([first.append(1), first.append(2, 3), first.append(4)]);
    expect(first.committed).toEqual([1, 2, 3, 4].map(timeout => [timeout, timeout]));
    await first.log.close();
    const second = await place.open();
    expect([second.found, second.log.newest]).toEqual([[1, 2, 3, 4], 4]);
    await second.append(5);
    await second.log.close();
    const third = await place.open();
    expect(third.found).toEqual([1, 2, 3, 4, 5]);
    expect(third.log.id).toBe(first.log.id);
    expect([third.lost, third.problems]).toEqual([0, []]);
    await third.log.close();
  });

  test("reports its commits to each caller before it answers, and all in the order of the log", async () => {
    await using place = await makePlace();
    const { log, append, committed } = await place.open();
    const answered: number[] = [];
    const appended = Array.from({ length: 100 }, async (_, index) => {
      await append(2 * index + 1, 2 * index + 2);
      expect(committed.map(([, timeout]) => timeout)).toContain(2 * index + 2);
      answered.push(index);
    });
    await Promise.all(appended);
    expect(answered).toHaveLength(100);
    expect(committed).toEqual(Array.from({ length: 200 }, (_, index) => [index + 1, index + 1]));
    expect(log.newest).toBe(200);
    await log.close();
  });

  test("continues when reporting to one caller fails", async () => {
    await using place = await makePlace();
    const { log, append, committed } = await place.open();
    const failing = () => {
      throw new Error("a bug of a caller");
    };
    await Promise.all([log.append({ entries: [commitOf(1)], after: 0, committed: failing }), append(2)]);
    expect(committed).toEqual([[2, 2]]);
    await log.close();
  });

  test("drops only what is sealed and released, and continues its numbering", async () => {
    await using place = await makePlace();
    let opened = await place.open();
    await opened.append(1, 2, 3);
    await opened.log.seal();
    await opened.append(4);
    expect(opened.log.hasSealed).toBe(true);
    await opened.log.release(3);
    await opened.log.close();
    opened = await place.open();
    expect([opened.found, opened.log.newest]).toEqual([[4], 4]);
    await opened.log.seal();
    await opened.log.release(4);
    await opened.append(5);
    expect(opened.committed).toEqual([[5, 5]]);
    await opened.log.close();
    opened = await place.open();
    expect(opened.found).toEqual([5]);
    await opened.log.close();
  });

  test("can be sealed although entries never stop arriving", async () => {
    await using place = await makePlace();
    const opened = await place.open();
    let isEnded = false;
    let count = 0;
    const append = async () => {
      while (!isEnded) await opened.append(++count);
    };
    // While one of them is being written, the other waits.
    const appending = [append(), Promise.resolve().then(append)];
    await until(async () => count > 10, "entries");
    await opened.log.seal();
    isEnded = true;
    await Promise.all(appending);
    expect(opened.log.newest).toBe(count);
    await opened.log.close();
    const again = await place.open();
    expect(again.found).toHaveLength(count);
    await again.log.close();
  });

  test("rejects entries once it is closed, and earlier ones are durable", async () => {
    await using place = await makePlace();
    const first = await place.open();
    const before = first.append(1);
    const closed = first.log.close();
    const refused = await first.append(2).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(AppendError);
    expect(refused).toMatchObject({ isOutcomeUnknown: false });
    await Promise.all([before, closed]);
    const second = await place.open();
    expect(second.found).toEqual([1]);
    await second.log.close();
  });
}
