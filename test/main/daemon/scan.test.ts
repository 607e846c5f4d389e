import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

async function makeWorkTree(...parts: readonly string[]): Promise<string> {
  const folder = join(...parts);
  await mkdir(join(folder, ".git"), { recursive: true });
  return folder;
}

describe("repo/scan", async () => {
  const t = await startTestDaemon();
  afterAll(() => t[Symbol.asyncDispose]());

  test("finds the work trees below a folder, named after their folders, and not those inside another", async () => {
    await using above = await temporaryFolder();
    const shop = await makeWorkTree(above.path, "work", "shop");
    const blog = await makeWorkTree(above.path, "blog");
    await makeWorkTree(blog, "inside");
    await makeWorkTree(above.path, "node_modules", "package");
    await mkdir(join(above.path, "empty/deep"), { recursive: true });
    const { result, errors } = await t.owner.call("repo/scan", { path: above.path });
    expect(errors).toEqual([]);
    expect(result).toEqual([
      { path: blog, name: "blog" },
      { path: shop, name: "shop" },
    ]);
    expect((await t.owner.call("repo/list")).result).toEqual([]);
  });

  test("finds the folder itself, and a linked worktree or a submodule, whose .git is a file", async () => {
    await using above = await temporaryFolder();
    const shop = await makeWorkTree(above.path, "shop");
    const linked = join(above.path, "linked");
    await mkdir(linked);
    await writeFile(join(linked, ".git"), `gitdir: ${join(shop, ".git/worktrees/linked")}\n`);
    expect((await t.owner.call("repo/scan", { path: shop })).result).toEqual([{ path: shop, name: "shop" }]);
    expect((await t.owner.call("repo/scan", { path: above.path })).result.map(({ name }) => name)).toEqual([
      "linked",
      "shop",
    ]);
  });

  test("marks those that already belong to a repository, also one added through a link", async () => {
    await using above = await temporaryFolder();
    const shop = await makeWorkTree(above.path, "src", "shop");
    const blog = await makeWorkTree(above.path, "src", "blog");
    const other = await makeWorkTree(above.path, "src", "other");
    await symlink(join(above.path, "src"), join(above.path, "link"));
    await t.owner.call("repo/add", { id: "one", name: "shop", path: shop });
    await t.owner.call("repo/add", { id: "two", name: "blog", path: join(above.path, "link/blog") });
    expect((await t.owner.call("repo/scan", { path: join(above.path, "src") })).result).toEqual([
      { path: blog, name: "blog", repo: "two" },
      { path: other, name: "other" },
      { path: shop, name: "shop", repo: "one" },
    ]);
    const byLink = await t.owner.call("repo/scan", { path: join(above.path, "link") });
    expect(byLink.result.map(({ repo }) => repo)).toEqual(["two", undefined, "one"]);
  });

  test("does not follow links, so it ends even if they form a cycle", async () => {
    await using above = await temporaryFolder();
    await using outside = await temporaryFolder();
    await makeWorkTree(outside.path, "secret");
    await symlink(outside.path, join(above.path, "outside"));
    await mkdir(join(above.path, "folder"));
    await symlink(above.path, join(above.path, "folder/circle"));
    expect(await t.owner.call("repo/scan", { path: above.path })).toEqual({ result: [], errors: [] });
  });

  test("does not delay a daemon's stop: it gets 1113", async () => {
    await using above = await temporaryFolder();
    await using t = await startTestDaemon();
    const folders = Array.from({ length: 5_000 }, (_, index) => join(above.path, String(index % 50), String(index)));
    await Promise.all(folders.map(folder => mkdir(folder, { recursive: true })));
    const scan = t.owner.call("repo/scan", { path: above.path });
    // Messages of one connection start in order.
    await t.owner.call("key/self");
    await Promise.all([
      expect(scan).resolves.toMatchObject({ result: null, errors: [{ code: 1113 }] }),
      t.daemon.close(),
    ]);
  });
});
