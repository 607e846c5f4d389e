import { expect, test } from "vitest";
import { systemError, watchFileSystem } from "../../../helpers/file-system.ts";
import { appendUpTo, changeTo, configOf, journalFiles, openJournal, revisionsOf } from "../../../helpers/journal.ts";
import { temporaryFolder } from "../../../helpers/temporary-folder.ts";

const reason = "x".repeat(700_000);

test.each([
  ["the very first records, in one write", 0, {}, "write datasync"],
  ["the very first records, large ones, one after the other", 0, { reason }, "write write datasync"],
  ["a record in a segment, and one in the next", 1, {}, "write datasync write datasync"],
  ["a record that begins another segment", 2, {}, "write datasync"],
])(
  "%s: whichever call of the append fails, the journal is unchanged and the next append succeeds",
  async (_what, there, more, writes) => {
    const retention = { revisions: 20, bytes: 64 * 1024 * 1024 };
    let failures = 0;
    for (let failing = 1; ; failing++) {
      await using folder = await temporaryFolder();
      const fileSystem = watchFileSystem();
      const { journal, damage } = await openJournal(folder.path, { retention, fileSystem });
      await appendUpTo(journal, 1, there);
      const before = await journalFiles(folder.path);
      const { head } = journal;
      let call = 0;
      const operations: string[] = [];
      fileSystem.before = ({ operation }) => {
        operations.push(operation);
        call++;
        if (call === failing) throw systemError("EIO");
      };
      const records = [changeTo(there + 1), changeTo(there + 2)].map(record => ({ ...record, ...more }));
      const failed = await journal.append(records, configOf(there)).then(
        () => false,
        () => true,
      );
      fileSystem.before = () => {};
      if (call < failing) {
        expect(operations.filter(one => one === "write" || one === "datasync").join(" ")).toBe(writes);
        break;
      }
      // Failing to delete a missing file, or to close a file that was only read, does no harm.
      if (failed) {
        failures++;
        expect(journal.head).toEqual(head);
        expect(await revisionsOf(journal.backward(99))).toEqual(there === 2 ? [2, 1] : there === 1 ? [1] : []);
        expect(await journalFiles(folder.path)).toEqual(before);
        await journal.append(records, configOf(there));
      }
      expect((await revisionsOf(journal.forward(0, 99))).length).toBe(there + 2);
      const again = await openJournal(folder.path, { retention });
      expect(again.journal.head).toEqual(journal.head);
      expect(await again.journal.replay()).toEqual({ config: configOf(there + 2), isWhole: true });
      expect([...damage, ...again.damage]).toEqual([]);
    }
    expect(failures).toBeGreaterThanOrEqual(4);
  },
);

test("if cutting off a failed append fails too, the next append or the next start does it", async () => {
  await using folder = await temporaryFolder();
  const fileSystem = watchFileSystem();
  const { journal } = await openJournal(folder.path, { fileSystem });
  await appendUpTo(journal, 1, 2);
  fileSystem.before = ({ operation }) => {
    if (operation === "datasync" || operation === "truncate") throw systemError("EIO");
  };
  await expect(journal.append([changeTo(3)], configOf(2))).rejects.toThrow("EIO");
  fileSystem.before = () => {};
  expect(journal.head?.revision).toBe(2);
  await journal.append([{ ...changeTo(3), reason: "the second try" }], configOf(2));
  const { journal: again } = await openJournal(folder.path);
  const reasons: unknown[] = [];
  for await (const { reason } of again.forward(2, 3)) reasons.push(reason);
  expect(reasons).toEqual(["the second try"]);
});
