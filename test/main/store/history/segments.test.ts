import { readdir, readFile, truncate, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Retention } from "../../../../main/store/history/journal.ts";
import { parseLine, type TextRecord } from "../../../../main/store/history/record.ts";
import { JournalDamageError, SegmentMissingError } from "../../../../main/store/history/segment.ts";
import { until } from "../../../helpers/daemon.ts";
import { appendUpTo, changeTo, collect, configOf, openJournal, revisionsOf } from "../../../helpers/journal.ts";
import { temporaryFolder } from "../../../helpers/temporary-folder.ts";

/** Segments of two revisions. */
const retention: Retention = { revisions: 20, bytes: 64 * 1024 * 1024 };

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

async function firstAndLast(path: string) {
  const lines = (await readFile(path, "utf8")).slice(0, -1).split("\n").map(parseLine);
  return { first: lines[0], last: lines.at(-1) };
}

describe("a journal of several segments", () => {
  test("is read across all of them, forward and backward, after it is reopened for each revision", async () => {
    await using folder = await temporaryFolder();
    for (let revision = 1; revision <= 9; revision++)
      await appendUpTo((await openJournal(folder.path, { retention })).journal, revision, revision);
    expect((await readdir(folder.path)).sort()).toEqual([0, 2, 4, 6, 8].map(n => `shop.0-${n}.jsonl`));
    const { journal } = await openJournal(folder.path, { retention });
    for (const after of range(0, 9)) expect(await revisionsOf(journal.forward(after, 9))).toEqual(range(after + 1, 9));
    for (const upTo of range(0, 9)) expect(await revisionsOf(journal.backward(upTo))).toEqual(range(1, upTo).reverse());
    expect(await journal.replay()).toEqual({ config: configOf(9), isWhole: true });
  });

  test("loses only the newest one if it is torn before its first change, and still knows whose history it is", async () => {
    await using folder = await temporaryFolder();
    await appendUpTo((await openJournal(folder.path, { retention })).journal, 1, 5);
    const path = join(folder.path, "shop.0-4.jsonl");
    const text = await readFile(path);
    const checkpoint = text.indexOf("\n") + 1;
    for (const length of [0, 1, checkpoint - 1, checkpoint, checkpoint + 1, text.length - 1]) {
      await writeFile(path, text.subarray(0, length));
      const { journal } = await openJournal(folder.path, { retention });
      expect(journal.head).toMatchObject({ revision: 4, lineage: "first" });
      expect(await readdir(folder.path)).not.toContain("shop.0-4.jsonl");
    }
    const { journal } = await openJournal(folder.path, { retention });
    await appendUpTo(journal, 5, 6);
    expect(await revisionsOf(journal.forward(0, 6))).toEqual(range(1, 6));
  });

  test("knows whose history it is, and up to where, if the newest one is torn behind the text record that it repeats", async () => {
    await using folder = await temporaryFolder();
    const { journal: before } = await openJournal(folder.path, { retention });
    // As the first one that a start finds, it does not say so itself.
    const text: TextRecord = {
      ...{ kind: "text", revision: 1, fileRevision: 1, textHash: "one", replacedRevision: 0, replacedHash: "none" },
      isFullyActive: true,
    };
    await before.append([changeTo(1), text], {});
    for (const revision of [2, 3])
      await before.append([{ ...changeTo(revision), position: `log ${revision}` }], configOf(revision - 1));
    const path = join(folder.path, "shop.0-2.jsonl");
    const lines = (await readFile(path, "utf8")).split("\n");
    await writeFile(path, `${lines.slice(0, 2).join("\n")}\n`);
    const { journal } = await openJournal(folder.path, { retention });
    expect(journal.head).toMatchObject({
      revision: 2,
      lineage: "first",
      position: "log 2",
      textRecord: { textHash: "one" },
    });
  });

  test("keeps one aside that claims 5 GB, and reads the others", async () => {
    await using folder = await temporaryFolder();
    const { journal: before } = await openJournal(folder.path, { retention });
    await appendUpTo(before, 1, 5);
    await writeFile(join(folder.path, "shop.1-9.jsonl"), "");
    for (const name of ["shop.0-4.jsonl", "shop.1-9.jsonl"]) await truncate(join(folder.path, name), 5 * 1024 ** 3);
    await expect(collect(before.backward(5))).rejects.toThrow(JournalDamageError);
    await expect(collect(before.forward(4, 5))).rejects.toThrow(JournalDamageError);
    const { journal, damage } = await openJournal(folder.path, { retention });
    expect(damage.join()).toMatch(/larger than any.*larger than any/);
    expect((await readdir(folder.path)).filter(name => name.endsWith(".damaged"))).toHaveLength(2);
    expect(await revisionsOf(journal.forward(0, 4))).toEqual(range(1, 4));
  });

  test("reports a missing one in the middle as damage, and returns the revisions up to it", async () => {
    await using folder = await temporaryFolder();
    await appendUpTo((await openJournal(folder.path, { retention })).journal, 1, 7);
    await unlink(join(folder.path, "shop.0-2.jsonl"));
    const { journal } = await openJournal(folder.path, { retention });
    const seen: number[] = [];
    const read = async () => {
      for await (const { kind, revision } of journal.backward(7)) if (kind === "change") seen.push(revision);
    };
    await expect(read()).rejects.toThrow(JournalDamageError);
    expect(seen).toEqual([7, 6, 5]);
    await expect(collect(journal.forward(0, 7))).rejects.toThrow(JournalDamageError);
  });
});

describe("compaction", () => {
  test("drops the oldest segments and advances `oldest`, and the rest begins with a checkpoint", async () => {
    await using folder = await temporaryFolder();
    const { journal } = await openJournal(folder.path, { retention });
    /** The last hash of each segment, by the revision of its checkpoint. */
    const ends = new Map<number, string>();
    for (let revision = 1; revision <= 100; revision++) {
      await appendUpTo(journal, revision, revision);
      const newest = journal.segments.at(-1);
      const end = newest && (await firstAndLast(newest.path)).last?.hash;
      if (newest !== undefined && end !== undefined) ends.set(newest.revision, end);
      await until(
        async () => (await readdir(folder.path)).length === journal.segments.length,
        "the files to be deleted",
      );
      expect(journal.oldest()).toBe(Math.max(0, revision - 20));
      const kept = range(journal.oldest() + 1, revision);
      expect(await revisionsOf(journal.forward(journal.oldest(), revision))).toEqual(kept);
    }
    expect(journal.segments.length).toBeLessThanOrEqual(12);
    const [oldest] = journal.segments;
    const { first } = await firstAndLast(oldest?.path ?? "");
    expect(first?.record).toMatchObject({ kind: "checkpoint", config: configOf(oldest?.revision ?? 0) });
    // The chain continues from the dropped segments.
    const dropped = Math.max(...[...ends.keys()].filter(revision => revision < (oldest?.revision ?? 0)));
    expect(first?.previous).toBe(ends.get(dropped));
  });

  test("also respects the limit of bytes, whatever the number of revisions", async () => {
    await using folder = await temporaryFolder();
    const small = { revisions: 10_000, bytes: 20_000 };
    const { journal } = await openJournal(folder.path, { retention: small });
    await appendUpTo(journal, 1, 400);
    const size = async () => {
      const texts = await Promise.all((await readdir(folder.path)).map(name => readFile(join(folder.path, name))));
      return texts.reduce((sum, text) => sum + text.length, 0);
    };
    await until(async () => (await size()) < 30_000, "the oldest to be dropped");
    expect(await size()).toBeGreaterThanOrEqual(20_000 - 4_000);
    expect(journal.oldest()).toBeGreaterThan(200);
    expect(await revisionsOf(journal.forward(journal.oldest(), 400))).toEqual(range(journal.oldest() + 1, 400));
  });

  test("ends a read that it overtakes, and reports no damage", async () => {
    await using folder = await temporaryFolder();
    const { journal, damage } = await openJournal(folder.path, { retention });
    await appendUpTo(journal, 1, 20);
    const reading = journal.forward(0, 20);
    expect((await reading.next()).value).toMatchObject({ revision: 1 });
    await appendUpTo(journal, 21, 60);
    await until(async () => !(await readdir(folder.path)).includes("shop.0-10.jsonl"), "the compaction");
    await expect(collect(reading)).rejects.toThrow(SegmentMissingError);
    expect(damage).toEqual([]);
  });
});
