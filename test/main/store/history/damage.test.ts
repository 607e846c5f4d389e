import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
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

async function history(t: TestDaemon) {
  const { result, errors } = await t.owner.call("history/list", { repo: "shop" });
  return { revisions: result.map(({ revision }) => revision), codes: errors.map(({ code }) => code), result };
}

/** Flips a bit in the record of revision 3. */
async function damage(path: string): Promise<void> {
  const bytes = await readFile(path);
  const at = bytes.indexOf(`"kind":"change","revision":3,`) + 20;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

test.each(states)(
  "of a damaged journal, with the file written %s, values are returned if all later records are intact, and older ones refused with 1110 wherever they are requested; sets and their history continue",
  async (_state, isWrittenBetween) => {
    await using shop = await startWithHistory(isWrittenBetween);
    await damage(shop.journalFile);
    for (const restart of [async () => {}, shop.t.restart]) {
      await restart();
      expect(await history(shop.t)).toMatchObject({ revisions: [6, 5, 4], codes: [1110] });
    }
    expect(shop.t.log.filter(line => line.includes("history is damaged"))).toHaveLength(1);
    expect([await shop.value("timeout"), await shop.revision()]).toEqual([36, 6]);
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
  },
);
