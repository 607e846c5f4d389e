import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TestDaemon } from "../../../helpers/daemon.ts";
import { RevisionNotes } from "../../../helpers/revision-notes.ts";
import { type Shop, startShop } from "../../../helpers/shop.ts";
import { TestClock } from "../../../helpers/test-clock.ts";

/** When the file was written: the history has a record about the file's text at that place. */
const states = [
  ["after each set", true],
  ["only after the last set", false],
] as const;

/** A shop with six revisions: 1 from its file (timeout 30), then sets to 32 to 36, revision N to 30 + N. */
async function startWithHistory(
  isWrittenBetween: boolean,
): Promise<Shop & { readonly journalFile: string; readonly notes: RevisionNotes }> {
  // The daemon writes the file when it is read, and not by itself.
  const shop = await startShop(undefined, { clock: new TestClock() });
  const journalFile = join(shop.t.homeFolder, "journal/shop.0-0.jsonl");
  const notes = new RevisionNotes();
  await notes.note(shop.t, "shop");
  for (const timeout of [32, 33, 34, 35, 36]) {
    await notes.set(shop.t, "shop", timeout);
    if (isWrittenBetween) await shop.read();
  }
  // The journal is written after the log; now it has all revisions.
  await shop.read();
  const texts = [...(await readFile(journalFile, "utf8")).matchAll(/"kind":"text","revision":(\d)/g)].map(
    ([, at]) => at,
  );
  expect(texts.filter(at => at !== "1")).toEqual(isWrittenBetween ? ["2", "3", "4", "5", "6"] : ["6"]);
  return { ...shop, notes, journalFile };
}

/** The index of a revision's line; revision 0 is the checkpoint. */
function lineOf(lines: readonly string[], revision: number): number {
  return revision === 0 ? 0 : lines.findIndex(line => line.includes(`"kind":"change","revision":${revision},`));
}

/** Drops everything after a revision's line. */
function endAt(lines: string[], revision: number): void {
  lines.splice(lineOf(lines, revision) + 1);
}

async function editLines(path: string, edit: (lines: string[]) => void): Promise<void> {
  const lines = (await readFile(path, "utf8")).slice(0, -1).split("\n");
  edit(lines);
  await writeFile(path, `${lines.join("\n")}\n`);
}

async function history(t: TestDaemon) {
  const { result, errors } = await t.owner.call("history/list", { repo: "shop" });
  return { revisions: result.map(({ revision }) => revision), codes: errors.map(({ code }) => code), result };
}

/** Changes the line of a revision. */
function inLine(revision: number, change: (line: string) => string): (lines: string[]) => void {
  return lines => {
    const index = lineOf(lines, revision);
    lines[index] = change(lines[index] ?? "");
  };
}

function exchange(one: number, other: number): (lines: string[]) => void {
  return lines => {
    const [first, second] = [lineOf(lines, one), lineOf(lines, other)];
    [lines[first], lines[second]] = [lines[second] ?? "", lines[first] ?? ""];
  };
}

function flipBit(line: string, at: number): string {
  const bytes = Buffer.from(line);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes.toString("latin1");
}

describe.each(states)(
  "damage inside the journal, with the file written %s: newer revisions are returned together with 1110, and the damage is logged",
  (_state, isWrittenBetween) => {
    const damages: [title: string, edit: (lines: string[]) => void, newest: readonly number[]][] = [
      ["a value altered", inLine(3, line => line.replace(`"after":33`, `"after":39`)), [6, 5, 4]],
      ["a bit of a record flipped", inLine(3, line => flipBit(line, 120)), [6, 5, 4]],
      ["a bit of a checksum flipped", inLine(3, line => flipBit(line, 5)), [6, 5, 4]],
      ["a line dropped", lines => void lines.splice(lineOf(lines, 3), 1), [6, 5, 4]],
      ["a line doubled", lines => void lines.splice(lineOf(lines, 3), 0, lines[lineOf(lines, 3)] ?? ""), [6, 5, 4, 3]],
      ["two lines swapped", exchange(3, 4), [6, 5]],
      ["an empty line added", lines => void lines.splice(lineOf(lines, 3), 0, ""), [6, 5, 4, 3]],
      ["the first line altered", inLine(0, line => `${line} `), [6, 5, 4, 3, 2, 1]],
    ];
    test.each(damages)("%s", async (_title, edit, newest) => {
      await using shop = await startWithHistory(isWrittenBetween);
      await editLines(shop.journalFile, edit);
      for (const again of [false, true]) {
        if (again) await shop.t.restart();
        const found = await history(shop.t);
        expect(found).toMatchObject({ revisions: newest, codes: [1110] });
        expect(found.result.map(({ changes }) => changes["svc"]?.["timeout"]?.value)).toEqual(
          newest.map(revision => (revision === 1 ? 30 : 30 + revision)),
        );
        expect(shop.t.log.filter(line => line.includes("a journal is damaged"))).toHaveLength(again ? 2 : 1);
        // The current values are unaffected.
        expect(await shop.value("timeout")).toBe(36);
        expect(await shop.revision()).toBe(6);
      }
    });

    test("values are returned if all later records are intact, and older ones refused with 1110 wherever they are requested; sets and their history continue", async () => {
      await using shop = await startWithHistory(isWrittenBetween);
      await editLines(
        shop.journalFile,
        inLine(3, line => flipBit(line, 100)),
      );
      await shop.t.restart();
      const call = shop.t.owner.call;
      const at = (revision: number) => call("config/list", { repo: "shop", revision, field: "svc.timeout" });
      for (const revision of [3, 4, 5, 6])
        expect(await at(revision)).toMatchObject({ result: { svc: { timeout: 30 + revision } }, errors: [] });
      for (const revision of [0, 1, 2])
        expect(await at(revision)).toMatchObject({ result: {}, errors: [{ code: 1110, repo: "shop" }] });
      const restore = await call("history/restore", { repo: "shop", to: 2 });
      expect(restore).toMatchObject({ result: [], errors: [{ code: 1110 }] });
      const watch = await call("config/watch", { repo: "shop", since: 2 });
      expect(watch).toMatchObject({ result: null, errors: [{ code: 1110 }] });
      const watcher = await shop.t.connect();
      const continued = await watcher.call("config/watch", { repo: "shop", since: 3 });
      expect(continued.errors).toEqual([]);
      for (const revision of [4, 5, 6]) expect((await watcher.nextChange()).revision).toBe(revision);
      const explain = await call("config/explain", { repo: "shop", field: "svc.refresh_day" });
      expect(explain).toMatchObject({ result: { value: 2, origin: "stored" }, errors: [] });
      const forget = await call("history/forget", { repo: "shop", field: "svc.timeout" });
      expect(forget).toMatchObject({ errors: [{ code: 1110 }] });
      await shop.notes.set(shop.t, "shop", 37);
      expect(await history(shop.t)).toMatchObject({ revisions: [7, 6, 5, 4], codes: [1110] });
    });

    test("past values are refused with 1110 if the end is cut off while the daemon runs", async () => {
      await using shop = await startWithHistory(isWrittenBetween);
      await shop.set({ "svc.domain": "new" });
      await editLines(shop.journalFile, lines => endAt(lines, 3));
      for (const revision of [1, 2, 3, 4, 5, 6])
        expect(await shop.t.owner.call("config/list", { repo: "shop", revision })).toMatchObject({
          result: {},
          errors: [{ code: 1110, repo: "shop" }],
        });
    });
  },
);

describe.each(states)(
  "a damaged end of the journal, with the file written %s: the file's state wins and becomes a separate revision",
  (_state, isWrittenBetween) => {
    const cuts: [title: string, damage: (path: string) => Promise<void>, kept: readonly number[]][] = [
      ["whole lines cut off", path => editLines(path, lines => endAt(lines, 3)), [3, 2, 1]],
      ["cut in the last revision's line", cutInLine(6), [5, 4, 3, 2, 1]],
      ["cut in the middle of an earlier line", cutInLine(3), [2, 1]],
      [
        "a bit of the last line flipped",
        path =>
          editLines(path, lines => {
            endAt(lines, 6);
            inLine(6, line => flipBit(line, 90))(lines);
          }),
        [5, 4, 3, 2, 1],
      ],
      [
        "bits of the last lines flipped",
        path =>
          editLines(path, lines => {
            endAt(lines, 6);
            for (let at = lineOf(lines, 4); at < lines.length; at++) lines[at] = flipBit(lines[at] ?? "", 90);
          }),
        [3, 2, 1],
      ],
      [
        "all cut off but a part of the first line",
        async path => writeFile(path, (await readFile(path)).subarray(0, 9)),
        [],
      ],
      ["the file deleted", path => rm(path), []],
    ];
    test.each(cuts)("%s", async (_title, damage, kept) => {
      await using shop = await startWithHistory(isWrittenBetween);
      await shop.t.daemon.close();
      await damage(shop.journalFile);
      await shop.t.restart();
      expect(await shop.value("timeout")).toBe(36);
      const revision = (await shop.revision()) ?? 0;
      expect(revision).toBeGreaterThan(6);
      await shop.notes.note(shop.t, "shop");
      const found = await history(shop.t);
      expect(found).toMatchObject({ revisions: [revision, ...kept], codes: [] });
      expect(found.result[0]).toMatchObject({
        source: "file",
        actor: "file",
        changes: { svc: { timeout: { value: 36 } } },
      });
      expect(shop.t.log.some(line => line.includes("a journal is damaged"))).toBe(true);
      // Lost revisions return no values, and the others the correct ones.
      const { owner } = shop.t;
      for (let at = 1; at < revision; at++) {
        const reply = await owner.call("config/list", { repo: "shop", revision: at, field: "svc.timeout" });
        if (kept.includes(at)) expect(reply.result).toEqual({ svc: { timeout: at === 1 ? 30 : 30 + at } });
        else if (at <= 6) expect(reply).toMatchObject({ result: {}, errors: [{ code: 1110 }] });
      }
      expect((await owner.call("config/watch", { repo: "shop", since: 6 })).errors).toMatchObject([{ code: 1110 }]);
      await shop.notes.set(shop.t, "shop", 37, 38);
      await shop.t.restart();
      expect(await shop.revision()).toBe(revision + 2);
      await shop.notes.note(shop.t, "shop");
    });

    test("which includes an edit made meanwhile", async () => {
      await using shop = await startWithHistory(isWrittenBetween);
      await shop.t.daemon.close();
      await editLines(shop.journalFile, lines => endAt(lines, 2));
      await writeFile(shop.file, (await shop.read()).replace("36", "32"));
      await shop.t.restart();
      expect(await shop.value("timeout")).toBe(32);
      expect(await shop.revision()).toBeGreaterThan(6);
      await shop.notes.note(shop.t, "shop");
      await shop.notes.set(shop.t, "shop", 33, 34, 35, 36);
    });
  },
);

function cutInLine(revision: number): (path: string) => Promise<void> {
  return async path => {
    const lines = (await readFile(path, "utf8")).split("\n");
    const before = lines.slice(0, lineOf(lines, revision)).join("\n");
    await writeFile(path, `${before}\n${lines[lineOf(lines, revision)]?.slice(0, 50)}`);
  };
}
