import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { Header } from "tar";
import { expect, test } from "vitest";
import { readEntries } from "../../../main/cli/backup/read-archive.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

test("the entries of an archive are read one after the other, however long each is used, and an error ends it", async () => {
  await using folder = await temporaryFolder();
  const [count, size] = [40, 512 * 1024];
  const blocks = Array.from({ length: count }, (_, index) => {
    const header = Buffer.alloc(512);
    new Header({ path: `repos/${index}.json`, type: "File", size, mode: 0o600 }).encode(header);
    return [header, Buffer.alloc(size, 32)];
  });
  const file = join(folder.path, "backup.tar.gz");
  await writeFile(file, gzipSync(Buffer.concat([...blocks.flat(), Buffer.alloc(1024)])));
  let [active, mostActive] = [0, 0];
  const read: string[] = [];
  await readEntries(file, async entry => {
    mostActive = Math.max(mostActive, ++active);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    if ((await entry.concat()).length === size) read.push(entry.path);
    active -= 1;
  });
  expect(read).toEqual(Array.from({ length: count }, (_, index) => `repos/${index}.json`));
  expect(mostActive).toBe(1);
  const failing = readEntries(file, async entry => {
    if (entry.path === "repos/3.json") throw new Error("the disk is full");
  });
  await expect(failing).rejects.toThrow("the disk is full");
});
