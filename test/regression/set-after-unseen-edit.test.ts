import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";

import { systemError, watchFileSystem } from "../helpers/file-system.ts";
import { freezeHome } from "../helpers/frozen-home.ts";
import { shopText, startShop } from "../helpers/shop.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/*
 * The log has an edit by hand followed by a set, and the history has neither, because the daemon was killed before it was updated.
 * The file's text is then missing in the history. It used to count as an edit made after the set, which it reverted.
 */

async function valuesAfterKill(home: string) {
  await using frozen = await freezeHome(home);
  await using t = await startTestDaemon({ home: frozen.path, rescanInterval: 3_600_000 });
  const { result, revision } = await t.owner.call("config/list", { repo: "shop", stored: true });
  const history = await t.owner.call("history/list", { repo: "shop" });
  await t.owner.call("file/read", { repo: "shop" });
  return { svc: result["svc"], revision, sources: history.result.map(({ source }) => source) };
}

test("a set in a file that was just found survives a kill", async () => {
  await using home = await temporaryFolder();
  const fileSystem = watchFileSystem();
  fileSystem.before = ({ operation, path }) => {
    if (operation === "write" && path.includes(`${home.path}/journal`)) throw systemError("EIO");
  };
  await using t = await startTestDaemon({ home: home.path, fileSystem, rescanInterval: 3_600_000 });
  await writeFile(join(home.path, "repos/shop.json"), shopText);
  await until(async () => (await t.owner.call("repo/list", { repo: "shop" })).result.length === 1, "the repository");
  const { errors } = await t.owner.call("config/set", { repo: "shop", "svc.timeout": 31, "svc.domain": "a.test" });
  expect(errors).toEqual([]);
  expect(await valuesAfterKill(home.path)).toEqual({
    svc: { timeout: 31, refresh_day: 2, domain: "a.test" },
    revision: 2,
    sources: ["set", "file"],
  });
});

test("a set after an edit by hand of the same field survives a kill", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  fileSystem.before = ({ operation, path }) => {
    if (operation === "write" && path.includes("/journal/")) throw systemError("EIO");
  };
  await writeFile(shop.file, shopText.replace("30", "40"));
  await until(async () => (await shop.value("timeout")) === 40, "the edit");
  const { errors } = await shop.t.owner.call("config/set", { repo: "shop", "svc.timeout": 31 });
  expect(errors).toEqual([]);
  expect(await valuesAfterKill(shop.t.homeFolder)).toEqual({
    svc: { timeout: 31, refresh_day: 2 },
    revision: 3,
    sources: ["set", "file", "file"],
  });
});

test("a set survives a kill even if the edit by hand before it already had the value of an earlier set", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  fileSystem.before = ({ operation, path }) => {
    if (operation === "write" && path.includes("/journal/")) throw systemError("EIO");
  };
  const set = async (domain: string) => {
    const { errors } = await shop.t.owner.call("config/set", { repo: "shop", "svc.domain": domain });
    expect(errors).toEqual([]);
  };
  await set("a.test");
  await writeFile(shop.file, shopText.replace("30", `40, "domain": "a.test"`));
  await until(async () => (await shop.value("timeout")) === 40, "the edit");
  await set("b.test");
  expect((await valuesAfterKill(shop.t.homeFolder)).svc).toEqual({ timeout: 40, refresh_day: 2, domain: "b.test" });
});
