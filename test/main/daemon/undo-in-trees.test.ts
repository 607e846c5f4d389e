import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { noRescans, startTestDaemon } from "../../helpers/daemon.ts";
import { git } from "../../helpers/git.ts";
import { connect } from "../../helpers/patient-client.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** A work tree with the branches `main` and `other`, which have the same timeout and another domain; `main` is checked out. */
async function startGitTree() {
  const above = await temporaryFolder();
  const folder = join(above.path, "site");
  const file = join(folder, ".repoconf.json");
  await git(above.path, "init", "-q", "-b", "main", folder);
  const run = (...args: string[]) => git(folder, ...args);
  const commit = () => run("commit", "-q", "-a", "-m", "configuration");
  const edit = async (from: string, to: string) => {
    await writeFile(file, (await readFile(file, "utf8")).replace(from, to));
    await t.owner.call("file/read", { repo: "site" });
  };
  const switchTo = async (...args: string[]) => {
    await run("switch", "-q", ...args);
    await t.owner.call("file/read", { repo: "site" });
  };
  await writeFile(file, `{ "config": { "svc": { "timeout": 30, "domain": "main.test" } } }\n`);
  await run("add", ".");
  await commit();
  const t = await startTestDaemon(noRescans);
  await t.owner.call("repo/add", { id: "site", name: "site", path: folder, inTree: true });
  return {
    ...{ t, folder, run, commit, edit, switchTo },
    set: async (fields: object) => {
      const { result } = await t.owner.call("config/set", { repo: "site", ...fields });
      return result[0]?.revision ?? 0;
    },
    undo: (...undo: number[]) => t.owner.call("history/restore", { repo: "site", undo }),
    value: async (field: string) => (await t.owner.call("config/list", { repo: "site" })).result["svc"]?.[field],
    [Symbol.asyncDispose]: async () => {
      await t[Symbol.asyncDispose]();
      await above[Symbol.asyncDispose]();
    },
  };
}
type Tree = Awaited<ReturnType<typeof startGitTree>>;

const anotherField = (tree: Tree) => tree.edit("main.test", "edited.test");
/** The other branch has the value that was set, too. */
const otherBranch = async (tree: Tree) => {
  await tree.commit();
  await tree.switchTo("-c", "other");
  await anotherField(tree);
  await tree.commit();
  await tree.switchTo("main");
};

describe("undo of a set in a work tree", () => {
  test.each<[what: string, then: (tree: Tree) => Promise<unknown>, left: "all" | "field" | undefined]>([
    ["nothing else happened", async () => {}, undefined],
    ["another field was edited", anotherField, undefined],
    [
      "another field was edited, twice",
      async tree => [await anotherField(tree), await tree.edit("edited", "again")],
      undefined,
    ],
    [
      "it was committed, and another field edited",
      async tree => [await tree.commit(), await anotherField(tree)],
      undefined,
    ],
    [
      "another field was edited, and the daemon started again",
      async tree => [await anotherField(tree), await tree.t.restart()],
      undefined,
    ],
    [
      "another branch was there and back",
      async tree => [await otherBranch(tree), await tree.switchTo("other"), await tree.switchTo("main")],
      undefined,
    ],
    ["a branch was begun, whose file is the same", tree => tree.switchTo("-c", "new"), undefined],
    ["the field was edited", tree => tree.edit("31", "32"), "field"],
    ["another branch is checked out", async tree => [await otherBranch(tree), await tree.switchTo("other")], "all"],
    [
      "another commit is checked out",
      async tree => [await otherBranch(tree), await tree.switchTo("--detach", "other")],
      "all",
    ],
    [
      "git says nothing",
      async tree => [
        await anotherField(tree),
        await writeFile(join(tree.folder, ".git/HEAD"), "ref: refs/heads/.invalid\n"),
      ],
      "all",
    ],
  ])("if %s", async (_, then, left) => {
    await using tree = await startGitTree();
    const revision = await tree.set({ "svc.timeout": 31 });
    await then(tree);
    const now = await tree.value("timeout");
    const domain = await tree.value("domain");
    const { result, errors } = await tree.undo(revision);
    if (left === undefined) {
      expect(errors).toEqual([]);
      expect(result).toMatchObject([{ config: { svc: { timeout: { value: 30 } } } }]);
    } else {
      expect(result).toEqual([]);
      const error =
        left === "field"
          ? { field: "svc.timeout", message: "It has changed since." }
          : { message: expect.stringContaining("has come from outside since") };
      expect(errors).toMatchObject([{ code: 1104, repo: "site", ...error }]);
      expect(errors[0]).toHaveProperty(left === "field" ? "field" : "message");
    }
    expect([await tree.value("timeout"), await tree.value("domain")]).toEqual([left === undefined ? 30 : now, domain]);
  });

  test("takes back each revision of the present branch, and says which ones are another's", async () => {
    await using tree = await startGitTree();
    const onMain = await tree.set({ "svc.refresh_hour": 3 });
    await otherBranch(tree);
    await tree.switchTo("other");
    const onOther = await tree.set({ "svc.timeout": 40 });
    const { result, errors } = await tree.undo(onMain, onOther);
    expect(result).toMatchObject([{ config: { svc: { timeout: { value: 30 } } } }]);
    expect(errors).toMatchObject([
      { code: 1104, message: expect.stringContaining(`repoconf restore ${onMain - 1} svc.refresh_hour`) },
    ]);
    expect(await tree.value("refresh_hour")).toBe(3);
  });

  test("in a linked worktree goes by what is checked out there", async () => {
    await using tree = await startGitTree();
    const linked = `${tree.folder}-linked`;
    await tree.run("worktree", "add", "-q", "-b", "linked", linked);
    const { id: repo } = (await tree.t.owner.call("repo/find", { path: linked })).result;
    const { result } = await tree.t.owner.call("config/set", { repo, "svc.timeout": 31 });
    await tree.switchTo("-c", "other");
    const file = join(linked, ".repoconf.json");
    await writeFile(file, (await readFile(file, "utf8")).replace("main.test", "edited.test"));
    await tree.t.owner.call("file/read", { repo });
    using client = await connect({ home: tree.t.homeFolder });
    const undone = await client.request("history/restore", { repo, undo: [result[0]?.revision ?? 0] });
    expect(undone).toMatchObject({ errors: [], result: [{ config: { svc: { timeout: { value: 30 } } } }] });
  });
});
