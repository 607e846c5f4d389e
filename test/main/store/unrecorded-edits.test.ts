import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, until } from "../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { saveByRename, shopText } from "../../helpers/shop.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/*
 * The file contains an invalid value, the last valid one is active, and that one is set: no active value changes, so there is
 * no revision, but the file has to be written.
 */

test("a write that changes only the file survives a restart, even if the log has released it and the file could not be written", async () => {
  await using home = await temporaryFolder();
  const fileSystem = watchFileSystem();
  const options = { home: home.path, fileSystem, rescanInterval: 3_600_000 };
  const t = await startTestDaemon(options);
  const file = t.repositoryFile("shop");
  await t.writeRepository("shop", shopText);
  await until(async () => (await t.owner.call("config/list", { repo: "shop" })).errors.length === 0, "the repository");
  await saveByRename(file, shopText.replace("30,", `"soon",`));
  const health = async () => (await t.owner.call("repo/list")).result[0]?.health ?? [];
  await until(async () => (await health()).length > 0, "the invalid value");
  const { revision } = await t.owner.call("config/list", { repo: "shop" });

  const refuse = ({ operation, path }: { readonly operation: string; readonly path: string }) => {
    if (operation === "rename" && path.endsWith("shop.json")) throw systemError("EACCES");
  };
  fileSystem.before = refuse;
  const { result } = await t.owner.call("config/set", { repo: "shop", flush: true, "svc.timeout": 30 });
  expect(result).toMatchObject([{ revision, mirrored: false, mirrorProblem: "EACCES" }]);
  await t[Symbol.asyncDispose]();
  // Nothing keeps entries in the log for it: a file may stay unwritable for long.
  expect(await readdir(join(home.path, "log"))).toHaveLength(1);

  await using again = await startTestDaemon(options);
  const flushed = await again.owner.call("config/set", { repo: "shop", flush: true, "svc.domain": "a.test" });
  expect(flushed.result).toMatchObject([{ mirrored: false }]);
  fileSystem.before = () => {};
  await again.owner.call("config/set", { repo: "shop", flush: true, "svc.domain": "b.test" });
  const text = await again.readRepository("shop");
  expect(text).toContain(`"timeout": 30, // half a minute`);
  expect(text).toContain("b.test");
});
