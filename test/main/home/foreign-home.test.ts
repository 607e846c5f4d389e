import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { homeFolder } from "../../../main/home/home.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** A folder as a person may have it, such as a home folder of the account. */
async function personsFolder() {
  const folder = await temporaryFolder();
  await mkdir(join(folder.path, "Documents"));
  await mkdir(join(folder.path, "tmp"));
  await writeFile(join(folder.path, "tmp/thesis.txt"), "unsaved");
  return folder;
}

test("a folder with files of its own is refused as a home, and nothing in it is changed", async () => {
  await using folder = await personsFolder();
  const before = await stat(folder.path);
  await expect(startTestDaemon({ home: folder.path })).rejects.toThrow(
    /is not a home of Repoconf: it contains "Documents"/,
  );
  expect(await readdir(folder.path)).toEqual(["Documents", "tmp"]);
  expect(await readFile(join(folder.path, "tmp/thesis.txt"), "utf8")).toBe("unsaved");
  expect((await stat(folder.path)).mode).toBe(before.mode);
});

test("files that people put into a home before its first start are used, and tmp is not cleaned up until it is a home", async () => {
  await using folder = await temporaryFolder();
  for (const name of ["repos", "tmp"]) await mkdir(join(folder.path, name));
  await writeFile(join(folder.path, "repos/shop.json"), `{ "config": { "svc": { "timeout": 30 } } }`);
  await writeFile(join(folder.path, "tmp/thesis.txt"), "unsaved");
  await using t = await startTestDaemon({ home: folder.path });
  expect((await t.owner.call("config/list", { repo: "shop", field: "svc.timeout" })).result).toEqual({
    svc: { timeout: 30 },
  });
  expect(await readdir(join(folder.path, "tmp"))).toContain("thesis.txt");
});

test("an empty text is no home: it would be the current folder", () => {
  expect(() => homeFolder("")).toThrow(/empty text/);
});
