import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../helpers/file-system.ts";

test("a crash after an edit by hand does not revert an earlier set that the file did not contain yet", async () => {
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ fileSystem });
  await t.addRepository("shop");
  await t.owner.call("config/set", { repo: "shop", "svc.timeout": 41, "svc.domain": "one.test" });
  const file = JSON.parse(await t.readRepository("shop"));
  // From here on, neither history nor file is updated, as in a process that is about to be killed.
  fileSystem.before = ({ operation, path }) => {
    const writes = operation === "write" || operation === "rename" || operation === "writeFile";
    if (writes && !path.includes("/log/")) throw systemError("EIO");
  };
  expect((await t.owner.call("config/set", { repo: "shop", "svc.domain": "two.test" })).errors).toEqual([]);
  file.config.svc.timeout = 51;
  await writeFile(t.repositoryFile("shop"), JSON.stringify(file));
  const listed = async () => (await t.owner.call("config/list", { repo: "shop" })).result["svc"];
  await until(async () => (await listed())?.["timeout"] === 51, "the edit");
  await t.owner.call("config/set", { repo: "shop", "svc.timeout": 61 });
  expect(await listed()).toMatchObject({ timeout: 61, domain: "two.test" });
  await t.daemon.close();
  fileSystem.before = () => {};
  await t.restart();
  expect(await listed()).toMatchObject({ timeout: 61, domain: "two.test" });
  await t.owner.call("file/read", { repo: "shop" });
  const { svc } = JSON.parse(await readFile(t.repositoryFile("shop"), "utf8")).config;
  expect(svc).toEqual({ timeout: 61, domain: "two.test" });
});
