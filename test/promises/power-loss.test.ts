import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FileSystem } from "../../main/files/file-system.ts";
import { PowerLoss } from "../helpers/power-loss.ts";
import { randomNumbers } from "../helpers/random.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

async function write({ open }: FileSystem, path: string, text: string): Promise<void> {
  const handle = await open(path, "wx", 0o600);
  await handle.writeFile(text);
  await handle.sync();
  await handle.close();
}

async function syncFolder({ open }: FileSystem, path: string): Promise<void> {
  const handle = await open(path, "r");
  await handle.sync();
  await handle.close();
}

/** The files' texts in the states that a power loss may leave; null for a missing file. */
async function textsAfter(loss: PowerLoss, names: readonly string[], which: "all" | "acknowledged") {
  const texts: (string | null)[][] = [];
  for (const state of loss.states(randomNumbers(1))) {
    if (which === "acknowledged" && !loss.isAcknowledged(state)) continue;
    await using made = await loss.make(state);
    texts.push(await Promise.all(names.map(name => readFile(join(made.path, name), "utf8").catch(() => null))));
  }
  return texts;
}

test("R3 the record of a power loss distinguishes two files that are created in parallel", async () => {
  await using home = await temporaryFolder();
  await mkdir(join(home.path, "repos"));
  const loss = new PowerLoss(home.path);
  await using _vault = await loss.begin();
  const names = ["repos/one", "repos/two"];
  await Promise.all(names.map(name => write(loss.fileSystem, join(home.path, name), `text of ${name}`)));
  await syncFolder(loss.fileSystem, join(home.path, "repos"));
  loss.acknowledge();
  const texts = await textsAfter(loss, names, "all");
  expect(texts).toContainEqual([null, null]);
  for (const [one, two] of texts) {
    expect([null, "", "text of ", "text of repos/one"]).toContain(one);
    expect([null, "", "text of ", "text of repos/two"]).toContain(two);
  }
  expect(await textsAfter(loss, names, "acknowledged")).toEqual([["text of repos/one", "text of repos/two"]]);
});

test("R3 the record of a power loss loses only what no sync covers", async () => {
  await using home = await temporaryFolder();
  await mkdir(join(home.path, "repos"));
  const loss = new PowerLoss(home.path);
  await using _vault = await loss.begin();
  const { fileSystem } = loss;
  await write(fileSystem, join(home.path, "repos/new"), "text");
  await fileSystem.rename(join(home.path, "repos/new"), join(home.path, "repos/old"));
  loss.acknowledge();
  const names = ["repos/new", "repos/old"];
  const unsure = await textsAfter(loss, names, "acknowledged");
  expect(new Set(unsure.map(texts => texts.join()))).toEqual(new Set([",", "text,", ",text"]));
  await syncFolder(fileSystem, join(home.path, "repos"));
  loss.acknowledge();
  expect(await textsAfter(loss, names, "acknowledged")).toEqual([[null, "text"]]);
});
