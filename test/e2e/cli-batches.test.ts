import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addRepositories, askOnTerminal, hasTerminal, makeServedHome } from "../helpers/command-home.ts";
import { titleWith } from "../helpers/skips.ts";

const everywhere = ["--where", "repo:*"];
const batchIn = (output: string) => /--batch ([0-9a-f]{24})$/m.exec(output)?.[1] ?? "";

/** A home with the repositories blog, shop and web. */
const home = await makeServedHome();
afterAll(() => home[Symbol.asyncDispose]());
await addRepositories(home, "blog", "shop", "web");

async function timeouts(): Promise<string[]> {
  const read = (repo: string) => home.succeed(["get", "svc.timeout", "--repo", repo]);
  return (await Promise.all(["blog", "shop", "web"].map(read))).map(text => text.trim());
}

// First, as there is no batch yet.
describe("is refused, and nothing changes:", () => {
  beforeAll(async () => {
    for (const repo of ["blog", "shop", "web"])
      await home.succeed(["set", "--repo", repo, "svc.timeout=1", "svc.domain=d"]);
  });

  test.each([
    ["an empty query for set", ["set", "--where", "", "svc.timeout=5", "--yes"], 2, "--where 'repo:*'"],
    ["a query of blanks", ["set", "--where", " \t", "svc.timeout=5", "--yes"], 2, "--where 'repo:*'"],
    ["a query of empty quotes", ["set", "--where", '""', "svc.timeout=5", "--yes"], 2, "--where 'repo:*'"],
    ["an empty query for unset", ["unset", "--where", "", "svc.domain", "--yes"], 2, "--where 'repo:*'"],
    ["an empty repository", ["set", "--repo", "", "svc.timeout=5"], 2, "--repo is empty"],
    ["one of several repositories", ["set", "--repo", "web", "--repo", " ", "svc.timeout=5"], 2, "--repo is empty"],
    ["one before the command", ["--repo", "", "set", "svc.timeout=5"], 2, "--repo is empty"],
    ["one for import", ["import", "values.json", "--repo", "", "--yes"], 2, "--repo is empty"],
    ["one to remove", ["repo", "remove", "", "--yes"], 2, "name is empty"],
    ["one of a key", ["key", "create", "ci", "--repo", ""], 2, "--repo is empty"],
    ["an empty batch to undo", ["undo", "--batch", "", "--yes"], 2, "--batch is empty"],
    ["an empty key's file, not the owner's key", ["set", "--key-file", "", "svc.timeout=5"], 2, "--key-file is empty"],
    ["an empty folder to add", ["repo", "add", ""], 2, "folder's name is empty"],
    ["the undo of a batch that there is not", ["undo", "--batch", "nothing"], 3, "There is no change with the batch"],
    ["the undo of the newest of no batch", ["undo", "--batch"], 3, "Nothing to undo"],
    ["the undo of a batch in a repository", ["undo", "--batch", "--repo", "shop"], 2, "cannot be used with"],
    ["the undo of a batch as all or none", ["undo", "--batch", "--atomic"], 2, "cannot be used with"],
  ])("%s", async (_title, args, code, message) => {
    await home.refuse(code, args, message);
    expect(await home.json(["repo", "list"])).toMatchObject([{ revision: 2 }, { revision: 2 }, { revision: 2 }]);
  });

  test("but a reason may be empty", async () => {
    await home.succeed(["set", "--repo", "web", "--reason", "", "svc.timeout=5"]);
  });
});

describe("changes of several repositories", () => {
  beforeEach(async () => {
    await home.succeed(["unset", ...everywhere, "svc.timeout", "svc.domain", "svc.envvars", "--yes"]);
  });

  test("without a terminal shows what would change, masked, and is refused without --yes", async () => {
    await home.succeed(["set", "--repo", "shop", "svc.timeout=30"]);
    const change = ["svc.timeout=7", 'svc.envvars+={"name":"A","value":"s3cret"}'];
    const asked = await home.run(["set", ...everywhere, ...change]);
    expect(asked).toMatchObject({ code: 1, output: "" });
    expect(asked.errorOutput.split("\n")).toEqual([
      "blog: svc.timeout: 900 -> 7",
      'blog: svc.envvars: [] -> [{"name":"A","value":"••••••"}]',
      "shop: svc.timeout: 30 -> 7",
      'shop: svc.envvars: [] -> [{"name":"A","value":"••••••"}]',
      "web: svc.timeout: 900 -> 7",
      'web: svc.envvars: [] -> [{"name":"A","value":"••••••"}]',
      "repoconf: Nothing was changed. Answer yes, or pass --yes.",
      "",
    ]);
    await home.refuse(1, ["set", "--repo", "shop", "--repo", "web", "svc.timeout=7"], "--yes");
    await home.refuse(1, ["set", ...everywhere, "--json", "svc.timeout=7"], "--yes");
    expect(await timeouts()).toEqual(["900", "30", "900"]);
    expect(await home.succeed(["set", ...everywhere, ...change, "--yes"])).toContain("web: Set svc.timeout = 7\n");
    expect(await timeouts()).toEqual(["7", "7", "7"]);
    await home.refuse(1, ["unset", ...everywhere, "svc.timeout"], "web: svc.timeout: 7 -> 900 (default)\n");
  });

  test("with --dry-run shows the same and asks nothing; says what is refused where, before it asks", async () => {
    expect(await home.succeed(["set", ...everywhere, "svc.timeout=7", "--dry-run"])).toBe(
      "blog: svc.timeout: 900 -> 7\nshop: svc.timeout: 900 -> 7\nweb: svc.timeout: 900 -> 7\nNothing was changed (--dry-run).\n",
    );
    expect(await home.json(["set", ...everywhere, "svc.timeout=7", "--dry-run"])).toMatchObject({
      repositories: [{ repo: "blog" }, { repo: "shop" }, { repo: "web" }],
    });
    const wrong = ["set", ...everywhere, "svc.timeout=7", "svc.refresh_hour=99"];
    await home.refuse(1, wrong, "Not changed: web: svc.refresh_hour must be at most 23.\n");
    // Nothing is left to agree to.
    expect(await home.run([...wrong, "--atomic"])).toMatchObject({ code: 3, output: "" });
    expect(await timeouts()).toEqual(["900", "900", "900"]);
  });

  test("is not asked about if it changes only one of them", async () => {
    expect(await home.succeed(["set", "--where", "repo:shop", "svc.timeout=7"])).toBe("Set svc.timeout = 7\n");
    await home.succeed(["set", "--repo", "shop", "--repo", "web", "svc.timeout=7"]);
    expect(await timeouts()).toEqual(["900", "7", "7"]);
  });

  describe.skipIf(!hasTerminal)(titleWith(hasTerminal, "script", "on a terminal"), () => {
    test("asks; any answer except yes changes nothing", async () => {
      const change = ["set", ...everywhere, "svc.timeout=7"];
      const first = await askOnTerminal(home, change);
      expect(first.shown()).toContain("web: svc.timeout: 900 -> 7");
      expect(first.shown()).toContain("Change these 3 repositories? [y/N]");
      expect(await first.answer("")).toBe(1);
      expect(await timeouts()).toEqual(["900", "900", "900"]);
      expect(await (await askOnTerminal(home, change)).answer("y")).toBe(0);
      expect(await timeouts()).toEqual(["7", "7", "7"]);
      const undo = await askOnTerminal(home, ["undo", "--batch"]);
      expect(await undo.answer("n")).toBe(1);
      expect(undo.shown()).toMatch(/Undo this in 3 repositories\? \[y\/N\].*Nothing was changed\.\s*$/s);
      expect(await timeouts()).toEqual(["7", "7", "7"]);
    });

    test("overwrites nothing that was changed while the question was open", async () => {
      const asking = await askOnTerminal(home, ["set", ...everywhere, "svc.timeout=7"]);
      await home.succeed(["set", "--repo", "web", "svc.timeout=8"]);
      expect(await asking.answer("y")).toBe(3);
      expect(asking.shown()).toContain("it was changed in the meantime");
      expect(await timeouts()).toEqual(["7", "7", "8"]);
    });
  });

  test("undo --batch undoes all that one command changed, except what was changed since, which it names", async () => {
    await home.succeed(["set", "--repo", "shop", "svc.timeout=30"]);
    const change = ["svc.timeout=7", "svc.domain=x", "--reason", "a test", "--yes"];
    const set = await home.succeed(["set", ...everywhere, ...change]);
    expect(set).toContain("\nTo undo this in all 3 repositories: repoconf undo --batch ");
    await home.succeed(["set", "--repo", "web", "svc.timeout=8"]);
    const asked = await home.run(["undo", "--batch", batchIn(set)]);
    expect(asked).toMatchObject({ code: 1, output: "" });
    expect(asked.errorOutput).toMatch(/^The change of \S+Z, by owner \(set\): a test\n/);
    expect(asked.errorOutput.split("\n").slice(1).toSorted()).toEqual([
      "",
      "Not changed: web, svc.timeout: It has changed since.",
      'blog: svc.domain: x -> ""',
      "blog: svc.timeout: 7 -> 900",
      "repoconf: Nothing was changed. Answer yes, or pass --yes.",
      'shop: svc.domain: x -> ""',
      "shop: svc.timeout: 7 -> 30",
      'web: svc.domain: x -> ""',
    ]);
    const undone = await home.run(["undo", "--batch", batchIn(set), "--yes"]);
    expect(undone).toMatchObject({
      code: 3,
      output: expect.stringContaining("shop: Restored svc.timeout = 30\n"),
      errorOutput: "repoconf: Not changed: web, svc.timeout: It has changed since.\n",
    });
    expect(await timeouts()).toEqual(["900", "30", "8"]);
    // It is a change of several repositories too.
    await home.succeed(["undo", "--batch", batchIn(undone.output), "--yes"]);
    expect(await timeouts()).toEqual(["7", "7", "8"]);
  });

  test("undo --batch without an id undoes the newest such command of one's own", async () => {
    const { key } = await home.json(["key", "create", "ci", "--right", "write"]);
    const environment = { REPOCONF_API_KEY: key };
    await home.succeed(["set", ...everywhere, "svc.timeout=7", "--yes"]);
    await home.succeed(["set", ...everywhere, "svc.domain=ci", "--yes"], { environment });
    await home.succeed(["set", "--repo", "web", "svc.provider=p"]);
    const preview = await home.json(["undo", "--batch", "--dry-run"]);
    expect(preview.changes.map(({ field }: { field: string }) => field)).toEqual(Array(3).fill("svc.timeout"));
    const done = await home.json(["undo", "--batch", "--yes"]);
    expect(done).toMatchObject({ undone: preview.undone, left: [] });
    expect(done.repositories).toHaveLength(3);
    expect(await timeouts()).toEqual(["900", "900", "900"]);
    expect(await home.succeed(["get", "svc.domain", "--repo", "web"])).toBe("ci\n");
    await home.succeed(["undo", "--batch", "--yes"], { environment });
    expect(await home.succeed(["get", "svc.domain", "--repo", "web"])).toBe("\n");
  });

  test("undo of one repository says that its change was part of a larger one, and how to undo the rest", async () => {
    const set = await home.succeed(["set", ...everywhere, "svc.timeout=7", "--yes"]);
    const undone = await home.succeed(["undo", "--repo", "web"]);
    expect(undone).toMatch(/Revision \d+ was part of a change of 3 repositories/);
    expect(batchIn(undone)).toBe(batchIn(set));
    expect((await home.run(["undo", "--batch", batchIn(undone), "--yes"])).code).toBe(3);
    expect(await timeouts()).toEqual(["900", "900", "900"]);
    await home.succeed(["set", "--repo", "web", "svc.timeout=1"]);
    expect(await home.succeed(["undo", "--repo", "web"])).not.toContain("part of a change");
  });
});
