import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RotatingLog } from "../../../main/rotating-log.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

test("a log that has grown to its limit is put aside, once, and no line is lost or cut", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "daemon.log");
  const log = new RotatingLog(path, 30);
  for (const line of ["first line\n", "second line\n", "third line\n", "a line longer than the whole limit is\n"])
    log.write(line);
  expect(await readFile(path, "utf8")).toBe("a line longer than the whole limit is\n");
  expect(await readFile(`${path}.1`, "utf8")).toBe("third line\n");
  if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("what an earlier daemon wrote counts", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "daemon.log");
  new RotatingLog(path, 30).write("from an earlier daemon\n");
  new RotatingLog(path, 30).write("from this one\n");
  expect(await readFile(path, "utf8")).toBe("from this one\n");
  expect(await readFile(`${path}.1`, "utf8")).toBe("from an earlier daemon\n");
});
