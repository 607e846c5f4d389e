import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { publishBuild, removeReplacedChunks } from "../../scripts/publish-build.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const day = 24 * 60 * 60_000;

async function makeTarget() {
  const folder = await temporaryFolder();
  const target = join(folder.path, "dist");
  return {
    target,
    publish: async (...files: string[]) => {
      const made = join(folder.path, "made");
      for (const file of files) {
        await mkdir(dirname(join(made, file)), { recursive: true });
        await writeFile(join(made, file), file);
      }
      await publishBuild(made, target);
    },
    files: async () => {
      const entries = await readdir(target, { recursive: true, withFileTypes: true });
      const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
      return paths
        .map(path => path.slice(target.length + 1))
        .filter(path => path !== "replaced-chunks.json")
        .sort();
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test("replaced chunks stay for two weeks, however many builds follow; other files go at once", async () => {
  await using t = await makeTarget();
  await t.publish("repoconf.js", "chunks/a-1.js", "screen/assets/page-1.js");
  await t.publish("repoconf.js", "chunks/a-2.js", "screen/assets/page-2.js");
  await t.publish("repoconf.js", "chunks/a-3.js", "screen/assets/page-3.js");
  expect(await t.files()).toEqual([
    "chunks/a-1.js",
    "chunks/a-2.js",
    "chunks/a-3.js",
    "repoconf.js",
    "screen/assets/page-3.js",
  ]);
  const record = join(t.target, "replaced-chunks.json");
  const replaced = JSON.parse(await readFile(record, "utf8"));
  expect(Object.keys(replaced)).toEqual(["chunks/a-1.js", "chunks/a-2.js"]);
  replaced["chunks/a-1.js"] -= 14 * day;
  replaced["chunks/a-2.js"] -= 13 * day;
  await writeFile(record, JSON.stringify(replaced));
  await t.publish("repoconf.js", "chunks/a-3.js", "screen/assets/page-3.js");
  expect(await t.files()).toEqual(["chunks/a-2.js", "chunks/a-3.js", "repoconf.js", "screen/assets/page-3.js"]);
});

test("a chunk that a later build makes again is no longer one that was replaced", async () => {
  await using t = await makeTarget();
  await t.publish("repoconf.js", "chunks/a-1.js");
  await t.publish("repoconf.js", "chunks/a-2.js");
  await t.publish("repoconf.js", "chunks/a-1.js");
  await removeReplacedChunks(t.target);
  expect(await t.files()).toEqual(["chunks/a-1.js", "repoconf.js"]);
});

test("a build of one part leaves the others and what they have replaced", async () => {
  await using t = await makeTarget();
  await t.publish("repoconf.js", "chunks/a-1.js", "electron/main.js", "electron/chunks/b-1.js");
  await t.publish("electron/main.js", "electron/chunks/b-2.js");
  await t.publish("repoconf.js", "chunks/a-2.js");
  const all = ["chunks/a-1.js", "chunks/a-2.js", "electron/chunks/b-1.js", "electron/chunks/b-2.js"];
  expect(await t.files()).toEqual([...all, "electron/main.js", "repoconf.js"]);
  await removeReplacedChunks(t.target);
  expect(await t.files()).toEqual(["chunks/a-2.js", "electron/chunks/b-2.js", "electron/main.js", "repoconf.js"]);
});

test("a damaged record of replaced chunks does not stop builds", async () => {
  await using t = await makeTarget();
  await t.publish("repoconf.js", "chunks/a-1.js");
  await writeFile(join(t.target, "replaced-chunks.json"), "{");
  await t.publish("repoconf.js", "chunks/a-2.js");
  expect(await t.files()).toEqual(["chunks/a-1.js", "chunks/a-2.js", "repoconf.js"]);
});
