import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { JournalDamageError } from "../../../../main/store/history/segment.ts";
import { nextTurn } from "../../../../main/time/turns.ts";
import { systemError, watchFileSystem } from "../../../helpers/file-system.ts";
import { appendUpTo, changeTo, configOf, journalFiles, openJournal, revisionsOf } from "../../../helpers/journal.ts";
import { temporaryFolder } from "../../../helpers/temporary-folder.ts";

const name = "shop.0-0.jsonl";

describe("a journal", () => {
  test("is empty before its first record, and creates no file", async () => {
    await using folder = await temporaryFolder();
    const { journal, damage } = await openJournal(folder.path);
    expect(journal.head).toMatchObject({ segment: undefined, revision: 0 });
    expect(journal.oldest()).toBe(0);
    expect(await revisionsOf(journal.backward(99))).toEqual([]);
    expect(await revisionsOf(journal.forward(0, 99))).toEqual([]);
    expect(await journal.replay()).toEqual({ config: {}, isWhole: true });
    expect(await journalFiles(folder.path)).toEqual({});
    expect(damage).toEqual([]);
  });

  test("removes appended records that could not be synced: they are written again, not only synced again", async () => {
    await using folder = await temporaryFolder();
    const fileSystem = watchFileSystem();
    const { journal } = await openJournal(folder.path, { fileSystem });
    await appendUpTo(journal, 1, 2);
    const before = await journalFiles(folder.path);
    await journal.append([changeTo(3), changeTo(4)], configOf(2), false);
    let isFailing = true;
    fileSystem.before = ({ operation }) => {
      if (operation !== "datasync" || !isFailing) return;
      isFailing = false;
      throw systemError("EIO");
    };
    await expect(journal.sync()).rejects.toThrow("EIO");
    expect(journal.head).toMatchObject({ revision: 2 });
    expect(await journalFiles(folder.path)).toEqual(before);
    await appendUpTo(journal, 3, 4);
    expect(await revisionsOf((await openJournal(folder.path)).journal.forward(0, 4))).toEqual([1, 2, 3, 4]);
  });

  test("returns the last record about its file's text, also when new segments have begun since", async () => {
    await using folder = await temporaryFolder();
    const { journal } = await openJournal(folder.path, { retention: { revisions: 20, bytes: 64 * 1024 * 1024 } });
    const replaced = { replacedRevision: 0, replacedHash: "old" };
    const text = { fileRevision: 1, textHash: "new", ...replaced, isFullyActive: true };
    await journal.append([changeTo(1), { kind: "text", revision: 1, ...text }], {});
    await appendUpTo(journal, 2, 5);
    const { journal: again } = await openJournal(folder.path);
    expect(again.segments.length).toBeGreaterThan(1);
    expect(again.head).toMatchObject({ revision: 5, textRecord: text });
  });

  test("reads the changes after a revision if they are intact, whatever is before them", async () => {
    await using folder = await temporaryFolder();
    const { journal } = await openJournal(folder.path, { retention: { revisions: 30, bytes: 64 * 1024 * 1024 } });
    await appendUpTo(journal, 1, 6);
    // Revisions 4 to 6.
    const path = join(folder.path, "shop.0-3.jsonl");
    const lines = (await readFile(path, "utf8")).split("\n");
    const lineOf = (revision: number) => lines.findIndex(line => line.includes(`"change","revision":${revision},`));
    const altered = (revision: number) => lines.with(lineOf(revision), `${lines[lineOf(revision)]} `);
    const read = async (changed: readonly string[]) => {
      await writeFile(path, changed.join("\n"));
      const read: (readonly number[] | "damage")[] = [];
      for (let after = 3; after <= 6; after++)
        read.push(
          await revisionsOf(journal.forward(after, 6)).catch(error => {
            expect(error).toBeInstanceOf(JournalDamageError);
            return "damage" as const;
          }),
        );
      return read;
    };
    expect(await read(altered(5))).toEqual(["damage", "damage", [6], []]);
    expect(await read(lines.toSpliced(lineOf(5), 1))).toEqual(["damage", "damage", [6], []]);
    expect(await read(altered(6))).toEqual(["damage", "damage", "damage", []]);
  });
});

test("opening a journal removes a record torn at any byte, and a segment torn in its first record, and no others", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, name);
  const writer = (await openJournal(folder.path)).journal;
  await appendUpTo(writer, 1, 1);
  const first = await readFile(path);
  for (let length = 0; length <= first.indexOf("\n"); length++) {
    await writeFile(path, first.subarray(0, length));
    const { journal } = await openJournal(folder.path);
    expect(journal.head).toMatchObject({ segment: undefined, revision: 0 });
    expect(await journalFiles(folder.path)).toEqual({});
  }
  await writeFile(path, first);
  await appendUpTo(writer, 2, 2);
  const kept = await readFile(path);
  await appendUpTo(writer, 3, 3);
  const whole = await readFile(path);
  for (let length = kept.length; length < whole.length; length++) {
    await writeFile(path, whole.subarray(0, length));
    const { journal, damage } = await openJournal(folder.path);
    expect(journal.head).toMatchObject({ revision: 2, bytes: kept.length });
    expect(await readFile(path)).toEqual(kept);
    expect(damage).toEqual([]);
  }
});

test("a segment that is too old to be kept is deleted, but kept aside if it is damaged", async () => {
  await using folder = await temporaryFolder();
  const { journal } = await openJournal(folder.path, { retention: { revisions: 20, bytes: 64 * 1024 * 1024 } });
  await appendUpTo(journal, 1, 6);
  const [first, second] = journal.segments.map(({ path }) => path);
  const damaged = (await readFile(second ?? "", "utf8")).replace(`"after":`, `"after":9`);
  await writeFile(second ?? "", damaged);
  await appendUpTo(journal, 7, 40);
  while (journal.isCompacting) await nextTurn();
  const names = await readdir(folder.path);
  for (const path of [first, second]) expect(names).not.toContain(basename(path ?? ""));
  expect(names.filter(name => name.endsWith(".damaged"))).toEqual([`${basename(second ?? "")}.damaged`]);
  expect(await readFile(`${second}.damaged`, "utf8")).toBe(damaged);
});

test("each damaged record at the end of a journal may have been a revision; a copy of them is kept", async () => {
  await using folder = await temporaryFolder();
  const writer = (await openJournal(folder.path)).journal;
  for (const revision of [1, 2]) await writer.append([{ ...changeTo(revision), lineage: "of this one" }], {});
  await appendFile(join(folder.path, name), "noise\nand more\nand");
  const { journal, damage } = await openJournal(folder.path);
  expect([journal.head?.revision, journal.assigned]).toEqual([2, 4]);
  // As long as no recovery follows. Without its lineage, the log's entries would be those of another repository.
  const again = (await openJournal(folder.path)).journal;
  expect([again.assigned, again.head?.lineage]).toEqual([4, "of this one"]);
  expect(damage).not.toEqual([]);
  expect(await readFile(join(folder.path, `${name}.damaged`), "utf8")).toBe("noise\nand more\nand");
});

test("a start that is killed once a damaged file is deleted does not forget that it may have had revisions", async () => {
  await using folder = await temporaryFolder();
  const options = { retention: { revisions: 20, bytes: 64 * 1024 * 1024 } };
  const writer = (await openJournal(folder.path, options)).journal;
  await appendUpTo(writer, 1, 3);
  const newest = writer.segments.at(-1)?.path ?? "";
  await writeFile(newest, "noise\nand more\n");
  const fileSystem = watchFileSystem();
  fileSystem.after = ({ operation, path }) => {
    if (operation === "unlink" && path === newest) throw systemError("EIO");
  };
  await expect(openJournal(folder.path, { ...options, fileSystem })).rejects.toThrow("EIO");
  expect(await readdir(folder.path)).not.toContain(basename(newest));
  const { journal } = await openJournal(folder.path, options);
  expect([journal.head?.revision, journal.assigned]).toEqual([2, 4]);
});
