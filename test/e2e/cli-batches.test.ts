import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CommandHome, makeServedHome } from "../helpers/command-home.ts";
import { titleWith } from "../helpers/skips.ts";
import { askOnTerminal, hasTerminal } from "../helpers/terminal.ts";

/** A home with the repositories shop, web and blog, whose ids are their names. */
async function makeHome(): Promise<CommandHome> {
  const home = await makeServedHome();
  for (const name of ["blog", "shop", "web"]) {
    await mkdir(join(home.workFolder, name));
    await home.succeed(["repo", "add", name, "--id", name]);
  }
  return home;
}

async function timeouts(home: CommandHome): Promise<string[]> {
  const read = (repo: string) => home.succeed(["get", "svc.timeout", "--repo", repo]);
  return (await Promise.all(["blog", "shop", "web"].map(read))).map(text => text.trim());
}

const everywhere = ["--where", "repo:*"];
const batchIn = (output: string) => /--batch ([0-9a-f]{24})$/m.exec(output)?.[1] ?? "";

describe.concurrent("an empty value of an option or an argument", () => {
  test.each([
    ["a query for set", ["set", "--where", "", "svc.timeout=5", "--yes"], "--where 'repo:*'"],
    ["a query of blanks", ["set", "--where", " \t", "svc.timeout=5", "--yes"], "--where 'repo:*'"],
    ["a query of empty quotes", ["set", "--where", '""', "svc.timeout=5", "--yes"], "--where 'repo:*'"],
    ["a query for unset", ["unset", "--where", "", "svc.domain", "--yes"], "--where 'repo:*'"],
    ["a repository", ["set", "--repo", "", "svc.timeout=5"], "--repo is empty"],
    ["one of several repositories", ["set", "--repo", "web", "--repo", " ", "svc.timeout=5"], "--repo is empty"],
    ["a repository before the command", ["--repo", "", "set", "svc.timeout=5"], "--repo is empty"],
    ["a repository for import", ["import", "values.json", "--repo", "", "--yes"], "--repo is empty"],
    ["a repository to remove", ["repo", "remove", "", "--yes"], "name is empty"],
    ["a repository of a key", ["key", "create", "ci", "--repo", ""], "--repo is empty"],
    ["a batch to undo", ["undo", "--batch", "", "--yes"], "--batch is empty"],
    ["a key's file, which would be the owner's key", ["set", "--key-file", "", "svc.timeout=5"], "--key-file is empty"],
    ["a folder to add", ["repo", "add", ""], "folder's name is empty"],
  ])("is refused with exit code 2, and nothing changes: %s", async (_title, args, message) => {
    await using home = await makeHome();
    await home.succeed(["set", "svc.timeout=1", "svc.domain=d", ...everywhere, "--yes"]);
    await home.refuse(2, args, message);
    expect(await timeouts(home)).toEqual(["1", "1", "1"]);
    expect(await home.json(["repo", "list"])).toMatchObject([{ revision: 2 }, { revision: 2 }, { revision: 2 }]);
  });

  test("a reason may be empty", async () => {
    await using home = await makeHome();
    await home.succeed(["set", "--repo", "web", "--reason", "", "svc.timeout=5"]);
  });
});

describe.concurrent("a change of several repositories", () => {
  test("without a terminal shows what would change, masked, and is refused without --yes", async () => {
    await using home = await makeHome();
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
    for (const args of [
      ["set", "--repo", "shop", "--repo", "web", "svc.timeout=7"],
      ["set", ...everywhere, "--json", "svc.timeout=7"],
    ])
      await home.refuse(1, args, "--yes");
    expect(await timeouts(home)).toEqual(["900", "30", "900"]);
    const { output } = await home.run(["set", ...everywhere, ...change, "--yes"]);
    expect(output).toContain("web: Set svc.timeout = 7\n");
    expect(await timeouts(home)).toEqual(["7", "7", "7"]);

    await home.refuse(1, ["unset", ...everywhere, "svc.timeout"], "web: svc.timeout: 7 -> 900 (default)\n");
  });

  test("with --dry-run shows the same and asks nothing", async () => {
    await using home = await makeHome();
    expect(await home.succeed(["set", ...everywhere, "svc.timeout=7", "--dry-run"])).toBe(
      "blog: svc.timeout: 900 -> 7\nshop: svc.timeout: 900 -> 7\nweb: svc.timeout: 900 -> 7\nNothing was changed (--dry-run).\n",
    );
    expect(await home.json(["set", ...everywhere, "svc.timeout=7", "--dry-run"])).toMatchObject({
      repositories: [{ repo: "blog" }, { repo: "shop" }, { repo: "web" }],
    });
    expect(await timeouts(home)).toEqual(["900", "900", "900"]);
  });

  test("is not asked about if it changes only one of them", async () => {
    await using home = await makeHome();
    expect(await home.succeed(["set", "--where", "repo:shop", "svc.timeout=7"])).toBe("Set svc.timeout = 7\n");
    await home.succeed(["set", "--repo", "shop", "--repo", "web", "svc.timeout=7"]);
    expect(await timeouts(home)).toEqual(["900", "7", "7"]);
  });

  test("says what is refused where, before it asks", async () => {
    await using home = await makeHome();
    await home.refuse(
      1,
      ["set", ...everywhere, "svc.timeout=7", "svc.refresh_hour=99"],
      "Not changed: web: svc.refresh_hour must be at most 23.\n",
    );
    // Nothing is left to agree to.
    const atomic = await home.run(["set", ...everywhere, "--atomic", "svc.timeout=7", "svc.refresh_hour=99"]);
    expect(atomic).toMatchObject({ code: 3, output: "" });
    expect(await timeouts(home)).toEqual(["900", "900", "900"]);
  });

  test.skipIf(!hasTerminal)(
    titleWith(hasTerminal, "script", "asks on a terminal; any answer except yes changes nothing"),
    async () => {
      await using home = await makeHome();
      const change = ["set", ...everywhere, "svc.timeout=7"];
      const first = await askOnTerminal(home, change);
      expect(first.shown()).toContain("web: svc.timeout: 900 -> 7");
      expect(first.shown()).toContain("Change these 3 repositories? [y/N]");
      expect(await first.answer("")).toBe(1);
      expect(await timeouts(home)).toEqual(["900", "900", "900"]);
      expect(await (await askOnTerminal(home, change)).answer("y")).toBe(0);
      expect(await timeouts(home)).toEqual(["7", "7", "7"]);
    },
  );

  test.skipIf(!hasTerminal)(
    titleWith(hasTerminal, "script", "overwrites nothing that was changed while the question was open"),
    async () => {
      await using home = await makeHome();
      const asking = await askOnTerminal(home, ["set", ...everywhere, "svc.timeout=7"]);
      await home.succeed(["set", "--repo", "web", "svc.timeout=8"]);
      expect(await asking.answer("y")).toBe(3);
      expect(asking.shown()).toContain("it was changed in the meantime");
      expect(await timeouts(home)).toEqual(["7", "7", "8"]);
    },
  );
});

describe.concurrent("undo --batch", () => {
  test("undoes all that one command changed, except what was changed since, which it names", async () => {
    await using home = await makeHome();
    await home.succeed(["set", "--repo", "shop", "svc.timeout=30"]);
    const set = await home.succeed([
      "set",
      ...everywhere,
      "svc.timeout=7",
      "svc.domain=x",
      "--reason",
      "a test",
      "--yes",
    ]);
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
    expect(await timeouts(home)).toEqual(["7", "7", "8"]);

    const undone = await home.run(["undo", "--batch", batchIn(set), "--yes"]);
    expect(undone).toMatchObject({
      code: 3,
      output: expect.stringContaining("shop: Restored svc.timeout = 30\n"),
      errorOutput: "repoconf: Not changed: web, svc.timeout: It has changed since.\n",
    });
    expect(await timeouts(home)).toEqual(["900", "30", "8"]);
    // It is a change of several repositories too.
    await home.succeed(["undo", "--batch", batchIn(undone.output), "--yes"]);
    expect(await timeouts(home)).toEqual(["7", "7", "8"]);
  });

  test("without an id undoes the newest such command of one's own", async () => {
    await using home = await makeHome();
    const { output: key } = await home.run(["key", "create", "ci", "--right", "write"]);
    const environment = { REPOCONF_API_KEY: key.trim() };
    await home.succeed(["set", ...everywhere, "svc.timeout=7", "--yes"]);
    await home.succeed(["set", ...everywhere, "svc.domain=ci", "--yes"], { environment });
    await home.succeed(["set", "--repo", "web", "svc.provider=p"]);
    const preview = await home.json(["undo", "--batch", "--dry-run"]);
    expect(preview.changes.map(({ field }: { field: string }) => field)).toEqual(Array(3).fill("svc.timeout"));
    const done = await home.json(["undo", "--batch", "--yes"]);
    expect(done).toMatchObject({ undone: preview.undone, left: [] });
    expect(done.repositories).toHaveLength(3);
    expect(await timeouts(home)).toEqual(["900", "900", "900"]);
    expect(await home.succeed(["get", "svc.domain", "--repo", "web"])).toBe("ci\n");
    await home.succeed(["undo", "--batch", "--yes"], { environment });
    expect(await home.succeed(["get", "svc.domain", "--repo", "web"])).toBe("\n");
  });

  test.skipIf(!hasTerminal)(titleWith(hasTerminal, "script", "asks on a terminal"), async () => {
    await using home = await makeHome();
    await home.succeed(["set", ...everywhere, "svc.timeout=7", "--yes"]);
    const asking = await askOnTerminal(home, ["undo", "--batch"]);
    expect(asking.shown()).toContain("Undo this in 3 repositories? [y/N]");
    expect(await asking.answer("n")).toBe(1);
    expect(await timeouts(home)).toEqual(["7", "7", "7"]);
    expect(await (await askOnTerminal(home, ["undo", "--batch"])).answer("yes")).toBe(0);
    expect(await timeouts(home)).toEqual(["900", "900", "900"]);
  });

  test("undo of one repository says that its change was part of a larger one, and how to undo the rest", async () => {
    await using home = await makeHome();
    const set = await home.succeed(["set", ...everywhere, "svc.timeout=7", "--yes"]);
    const undone = await home.succeed(["undo", "--repo", "web"]);
    expect(undone).toContain("Revision 2 was part of a change of 3 repositories");
    expect(batchIn(undone)).toBe(batchIn(set));
    expect((await home.run(["undo", "--batch", batchIn(undone), "--yes"])).code).toBe(3);
    expect(await timeouts(home)).toEqual(["900", "900", "900"]);
    await home.succeed(["set", "--repo", "web", "svc.timeout=1"]);
    expect(await home.succeed(["undo", "--repo", "web"])).not.toContain("part of a change");
  });

  test.each([
    ["an id that there is not", ["undo", "--batch", "nothing"], 3, "There is no change with the batch"],
    ["no such command", ["undo", "--batch"], 3, "Nothing to undo"],
    ["a repository too", ["undo", "--batch", "--repo", "shop"], 2, "cannot be used with"],
    ["all or none", ["undo", "--batch", "--atomic"], 2, "cannot be used with"],
  ])("is refused: %s", async (_title, args, code, message) => {
    await using home = await makeHome();
    expect(await home.run(args)).toMatchObject({ code, output: "", errorOutput: expect.stringContaining(message) });
  });
});
