import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RevisionNotes } from "../helpers/revision-notes.ts";
import { startShop } from "../helpers/shop.ts";

test("a journal line moved to the end does not give its revision the current values (it used to)", async () => {
  await using shop = await startShop();
  const notes = new RevisionNotes();
  await notes.note(shop.t, "shop");
  await notes.set(shop.t, "shop", 32, 33, 34);
  await shop.t.daemon.close();
  const file = join(shop.t.homeFolder, "journal/shop.0-0.jsonl");
  // Line 0 is the checkpoint, line N is revision N.
  const lines = (await readFile(file, "utf8")).slice(0, -1).split("\n");
  await writeFile(file, `${[...lines.toSpliced(1, 1), lines[1]].join("\n")}\n`);
  await shop.t.restart();
  const { owner } = shop.t;
  expect(await shop.value("timeout")).toBe(34);
  for (const revision of [1, 2, 3, 4]) {
    const reply = await owner.call("config/list", { repo: "shop", revision, field: "svc.timeout" });
    const value = revision === 1 ? 30 : 30 + revision;
    if (reply.errors.length === 0) expect(reply.result).toEqual({ svc: { timeout: value } });
    else expect(reply.errors).toMatchObject([{ code: 1110 }]);
  }
  expect(shop.t.log.some(line => line.includes("a journal is damaged"))).toBe(true);
  await notes.set(shop.t, "shop", 35);
});
