import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Retention } from "../../../../main/store/history/journal.ts";
import { keptBefore, readLastChanges } from "../../../../main/store/history/kept-changes.ts";
import {
  type ChangeRecord,
  type CheckpointRecord,
  formatLines,
  parseLine,
} from "../../../../main/store/history/record.ts";
import { changeTo, configOf, openJournal } from "../../../helpers/journal.ts";
import { temporaryFolder } from "../../../helpers/temporary-folder.ts";

/** Segments of two revisions. */
const retention: Retention = { revisions: 20, bytes: 64 * 1024 * 1024 };

/** Revision N sets the timeout; the first one also sets the domain, which nothing changes later. */
async function writeJournal(folder: string, to: number): Promise<void> {
  for (let revision = 1; revision <= to; revision++) {
    const { journal } = await openJournal(folder, { retention });
    const { changes, ...rest } = changeTo(revision);
    const first = { scope: "svc", field: "domain", after: "a.test" };
    const record: ChangeRecord = {
      ...rest,
      reason: `number ${revision}`,
      changes: revision === 1 ? [...changes, first] : changes,
    };
    await journal.append([record], configOf(revision - 1));
  }
}

/** When the domain and the timeout changed last, as far as the journal tells. */
async function lastIn(folder: string) {
  const { journal, damage } = await openJournal(folder, { retention });
  const known = await readLastChanges(journal.backward(Number.MAX_SAFE_INTEGER)).catch((error: Error) => error.name);
  if (typeof known === "string") return [known, damage.length];
  return ["svc.domain", "svc.timeout"].map(path => known.get(path)?.revision);
}

/** Changes the lines of a segment, and writes their hashes and those of all later segments again. */
async function rewrite(
  folder: string,
  revisions: readonly number[],
  change: (record: CheckpointRecord) => CheckpointRecord,
) {
  let previous: string | undefined;
  for (const revision of revisions) {
    const path = join(folder, `shop.0-${revision}.jsonl`);
    const lines = (await readFile(path, "utf8"))
      .trimEnd()
      .split("\n")
      .flatMap(line => parseLine(line) ?? []);
    const records = lines.map(({ record }) => (record.kind === "checkpoint" ? change(record) : record));
    const { text, hash } = formatLines(records, previous ?? lines[0]?.previous ?? "");
    previous = hash;
    await writeFile(path, text);
  }
}

describe("the last change of a field that the history no longer has", () => {
  test("is known from the checkpoint of the newest segment, after every revision", async () => {
    await using folder = await temporaryFolder();
    await writeJournal(folder.path, 45);
    expect(await lastIn(folder.path)).toEqual([1, 45]);
  });

  const withoutKept = ({ lastChanges: _, ...record }: CheckpointRecord) => record;
  const states: readonly (readonly [
    what: string,
    damage: (folder: string) => Promise<unknown>,
    last: readonly unknown[],
  ])[] = [
    // As an earlier version wrote it: those before it are read.
    ["one checkpoint without it", folder => rewrite(folder, [6], withoutKept), [1, 7]],
    ["no checkpoint with it", folder => rewrite(folder, [0, 2, 4, 6], withoutKept), [1, 7]],
    ["a segment that only has its checkpoint", folder => cut(folder, 6, 1), [1, 6]],
    // Nothing is concluded over damage, neither then nor by a later checkpoint.
    ["a damaged checkpoint", folder => damage(folder, 6, 0), ["JournalDamageError", 0]],
    ["a damaged older one", folder => damage(folder, 4, 0), [1, 7]],
  ];
  test.each(states)("%s", async (_, act, last) => {
    await using folder = await temporaryFolder();
    await writeJournal(folder.path, 7);
    await act(folder.path);
    expect(await lastIn(folder.path)).toEqual(last);
    const { journal } = await openJournal(folder.path, { retention });
    for (let revision = (journal.head?.revision ?? 0) + 1; revision <= 11; revision++)
      await journal.append([changeTo(revision)], configOf(revision - 1));
    const isLost = last[0] === "JournalDamageError";
    expect(await lastIn(folder.path)).toEqual(isLost ? last : [1, 11]);
  });

  test("has no reason if it changed many fields, but all else; and says if a reference to a secret was among them", async () => {
    const fields = Array.from({ length: 40 }, (_, index) => ({ scope: "svc", field: `f${index}`, after: index }));
    const many: ChangeRecord = { ...changeTo(1), reason: "many", changes: fields };
    const secret: ChangeRecord = {
      ...changeTo(2),
      reason: "one",
      changes: [{ scope: "svc", field: "s", after: ["cmd://a/b"] }],
    };
    async function* records() {
      yield* [secret, many];
    }
    const kept = await keptBefore(records());
    expect(kept).toMatchObject([
      { revision: 2, fields: ["svc.s"], reason: "one", paths: ["svc.s"], hasReference: true },
      { revision: 1, fields: { length: 40 } },
    ]);
    expect(kept[1]).not.toHaveProperty("reason");
    // However long the reasons are, those of the newest changes have room, and what is kept of 2,000 fields is small.
    async function* explained() {
      for (let revision = 2_000; revision > 0; revision--)
        yield {
          ...changeTo(revision),
          reason: "x".repeat(1_000),
          changes: [{ scope: "svc", field: `f${revision}`, after: 1 }],
        };
    }
    const large = await keptBefore(explained());
    expect(large.map(({ reason }) => reason !== undefined)).toEqual(Array.from({ length: 2_000 }, (_, at) => at < 100));
    expect(JSON.stringify(large).length).toBeLessThan(400_000);
    async function* checkpoint() {
      yield { kind: "checkpoint", revision: 2, time: "", config: {}, lastChanges: kept } as const;
    }
    const known = await readLastChanges(checkpoint());
    expect(known.get("svc.s")).toMatchObject({ hasReference: true, reason: "one", paths: ["svc.s"] });
    expect(known.get("svc.f39")).toMatchObject({ revision: 1, paths: { length: 40 } });
  });
});

/** Leaves the first lines of a segment. */
async function cut(folder: string, revision: number, lines: number): Promise<void> {
  const path = join(folder, `shop.0-${revision}.jsonl`);
  const all = (await readFile(path, "utf8")).split("\n");
  await writeFile(path, `${all.slice(0, lines).join("\n")}\n`);
}

/** Changes a character in a line of a segment. */
async function damage(folder: string, revision: number, line: number): Promise<void> {
  const path = join(folder, `shop.0-${revision}.jsonl`);
  const all = (await readFile(path, "utf8")).split("\n");
  await writeFile(path, all.map((text, at) => (at === line ? text.replace("svc", "swc") : text)).join("\n"));
}
