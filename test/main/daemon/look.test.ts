import { mkdir, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

describe("repo/look", async () => {
  const t = await startTestDaemon();
  afterAll(() => t[Symbol.asyncDispose]());
  const look = async (path: string) => (await t.owner.call("repo/look", { path })).result;

  test("names the folders with which a path may go on: links to folders too, hidden ones only if asked for, no files", async () => {
    await using above = await temporaryFolder();
    for (const name of ["shop", "Store", "other", ".hidden"]) await mkdir(join(above.path, name));
    await writeFile(join(above.path, "sheet"), "");
    await symlink(join(above.path, "other"), join(above.path, "site"));
    await symlink(join(above.path, "nowhere"), join(above.path, "spare"));
    const at = (typed: string) => look(`${above.path}/${typed}`);
    expect((await at("s")).folders).toEqual(["Store", "shop", "site"]);
    expect((await at("")).folders).toEqual(["Store", "other", "shop", "site"]);
    expect((await at(".h")).folders).toEqual([".hidden"]);
    expect(await at("shop")).toEqual({ path: join(above.path, "shop"), folders: ["shop"] });
    expect(await at("not/there")).toEqual({ path: join(above.path, "not/there"), folders: [] });
    for (let count = 0; count < 60; count += 1) await mkdir(join(above.path, "shop", `f${count}`));
    expect((await at("shop/")).folders).toHaveLength(50);
  });

  test("says which repository has the folder, by a link too, and whether it has values; ~ is the user's folder", async () => {
    await using above = await temporaryFolder();
    const [shop, clone] = [join(above.path, "shop"), join(above.path, "clone")];
    for (const folder of [shop, clone]) await mkdir(folder);
    await writeFile(join(clone, ".repoconf.json"), "{}");
    await symlink(shop, join(above.path, "link"));
    await t.owner.call("repo/add", { id: "one", name: "shop", path: shop });
    expect(await look(shop)).toMatchObject({ repo: "one" });
    expect(await look(join(above.path, "link"))).toMatchObject({ repo: "one" });
    expect(await look(clone)).toEqual({ path: clone, folders: ["clone"], hasFile: true });
    expect((await look("~")).path).toBe(homedir());
    expect((await look("~/x")).path).toBe(join(homedir(), "x"));
  });
});
