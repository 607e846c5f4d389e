import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { git } from "../../helpers/git.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

test("a linked worktree of a repository with its values in the home has a slot too, until git removes it", async () => {
  await using above = await temporaryFolder();
  const folder = await realpath(above.path);
  const at = (name: string) => join(folder, name);
  await mkdir(at("main"));
  await git(at("main"), "init");
  await git(at("main"), "commit", "--allow-empty", "-m", "first");
  await using t = await startTestDaemon();
  await t.owner.call("repo/add", { id: "main", name: "main", path: at("main"), inTree: false });
  const link = (name: string) => git(at("main"), "worktree", "add", at(name));
  const slotOf = async (name: string) => (await t.owner.call("repo/find", { path: at(name) })).result.linked?.slot;
  for (const name of ["one", "two"]) await link(name);
  expect([await slotOf("two"), await slotOf("one"), await slotOf("main")]).toEqual([1, 2, undefined]);
  const list = await t.owner.call("config/list", { path: at("one"), waits: true });
  expect(list).toMatchObject({ repo: "main", linked: { name: "one", slot: 2 } });
  const { result } = await t.owner.call("config/hook", { path: at("one"), shell: "bash" });
  expect(result).toContain("__repoconf_set 'REPOCONF_SLOT' '2'");
  await git(at("main"), "worktree", "remove", at("two"));
  await t.restart();
  await link("three");
  expect([await slotOf("three"), await slotOf("one")]).toEqual([1, 2]);
});
