import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeServedHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { git } from "../helpers/git.ts";

async function makeWorkTree(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await git(folder, "init", "-q");
  return folder;
}

describe("repositories on the command line", () => {
  test("repo add adds the enclosing git work tree; in its folders, worktrees and work trees inside, the nearest repository is used", async () => {
    await using home = await makeServedHome();
    const shop = await makeWorkTree(join(home.workFolder, "shop"));
    const deep = join(shop, "a/b");
    await mkdir(deep, { recursive: true });
    expect(await home.succeed(["repo", "add"], { folder: deep })).toMatch(/^Added shop \([0-9a-f]{24}\): .*\/shop\n$/);
    await home.succeed(["set", "svc.timeout=5"], { folder: deep });
    expect(await home.succeed(["get", "svc.timeout", "--repo", "shop"])).toBe("5\n");
    await home.refuse(1, ["repo", "add"], "already", { folder: shop });
    await git(shop, "commit", "-q", "--allow-empty", "-m", "first");
    const linked = join(home.workFolder, "linked");
    await git(shop, "worktree", "add", "-q", linked);
    expect(await home.succeed(["get", "svc.timeout"], { folder: linked })).toBe("5\n");
    for (const own of [linked, await makeWorkTree(join(shop, "inner"))]) {
      await home.succeed(["repo", "add"], { folder: own });
      expect(await home.succeed(["get", "svc.timeout"], { folder: own })).toBe("900\n");
    }
  });

  test("outside of any repository, commands say what to do, and repo add accepts only an existing folder", async () => {
    await using home = await makeServedHome();
    await home.refuse(1, ["list"], "repoconf repo add FOLDER");
    await home.refuse(1, ["repo", "add"], "repoconf repo add FOLDER");
    const missing = join(home.workFolder, "no/such");
    await writeFile(join(home.workFolder, "file"), "");
    for (const args of [[missing], [missing, "--in-tree"], ["--scan", missing]])
      await home.refuse(1, ["repo", "add", ...args], `repoconf: The folder ${missing} does not exist.\n`);
    await home.refuse(1, ["repo", "add", "file"], "is a file, not a folder");
    expect(await home.succeed(["repo", "list", "--json"])).toBe("[]\n");
  });

  test("repo add --scan finds the work trees below, asks, and adds all", async () => {
    await using home = await makeServedHome();
    const root = join(home.workFolder, "src");
    for (const name of ["one", "group/two", "one/inside", "node_modules/three"]) await makeWorkTree(join(root, name));
    await home.refuse(1, ["repo", "add", "--scan", root], "--yes");
    const { output } = await home.run(["repo", "add", "--scan", root, "--yes", "--json"]);
    expect(JSON.parse(output)).toMatchObject([{ name: "two" }, { name: "one" }]);
    expect((await home.succeed(["repo", "list"])).trimEnd().split("\n")).toHaveLength(2);
  });

  test("a folder that has a .repoconf.json is added with its values, which is said; --in-home ignores them", async () => {
    await using home = await makeServedHome();
    const clone = await makeWorkTree(join(home.workFolder, "clone"));
    const deep = join(clone, "a/b");
    await mkdir(deep, { recursive: true });
    await writeFile(join(clone, ".repoconf.json"), '{ "config": { "svc": { "timeout": 41 } } }');
    const unknown = await home.run(["get", "svc.timeout"], { folder: deep });
    expect(unknown).toMatchObject({ code: 1, output: "" });
    expect(unknown.errorOutput).toContain(`The repository of ${clone}/.repoconf.json is not known yet.`);
    expect(unknown.errorOutput).toContain("which uses the values in that file: repoconf repo add\n");
    expect(await home.succeed(["repo", "add"], { folder: deep })).toMatch(
      /^Added clone \([0-9a-f]{24}\): .*\nIts values are in its \.repoconf\.json, where changes are written too\.\n$/,
    );
    expect(await home.succeed(["get", "svc.timeout"], { folder: deep })).toBe("41\n");
    // A folder that is named is a repository of its own.
    const own = await home.run(["repo", "add", "."], { folder: deep });
    expect(own.errorOutput).toContain(
      `It does not use the values in ${clone}/.repoconf.json. To use them instead: repoconf repo remove`,
    );
    await home.succeed(["repo", "remove", "b", "--yes"]);
    await home.succeed(["set", "svc.timeout=42"], { folder: deep });
    expect(await readFile(join(clone, ".repoconf.json"), "utf8")).toBe('{ "config": { "svc": { "timeout": 42 } } }');
    await home.succeed(["repo", "remove", "clone", "--yes"]);
    expect(await home.succeed(["repo", "add", "--in-home"], { folder: clone })).not.toContain(".repoconf.json");
    expect(await home.succeed(["get", "svc.timeout"], { folder: clone })).toBe("900\n");
    // Nobody who forgot that is left to guess.
    expect((await home.run(["doctor"])).output).toContain(`${clone}/.repoconf.json is not used`);
    expect(await home.run(["repo", "add", "--in-home", "--in-tree"])).toMatchObject({ code: 2 });
  });

  test("a .repoconf.json that cannot be used is told: an invalid one when it is added, a link by a refusal", async () => {
    await using home = await makeServedHome();
    const broken = await makeWorkTree(join(home.workFolder, "broken"));
    await writeFile(join(broken, ".repoconf.json"), "{ oops");
    const added = await home.run(["repo", "add"], { folder: broken });
    expect(added).toMatchObject({ code: 0, output: expect.stringContaining("Added broken") });
    expect(added.errorOutput).toContain("It has no values until that file is fixed: .repoconf.json: ");
    expect(added.errorOutput).toContain("(line 1, column 3)");
    await home.refuse(1, ["get", "svc.timeout"], "", { folder: broken });
    const linked = await makeWorkTree(join(home.workFolder, "linked"));
    await symlink(join(broken, ".repoconf.json"), join(linked, ".repoconf.json"));
    await home.refuse(1, ["repo", "add"], "--in-home", { folder: linked });
    // One that is refused does not keep a scan from adding the others.
    await makeWorkTree(join(home.workFolder, "plain"));
    const scanned = await home.run(["repo", "add", "--scan", ".", "--yes"]);
    expect(scanned).toMatchObject({ code: 1, output: expect.stringMatching(/^Added plain .*\n$/) });
    expect(scanned.errorOutput).toContain(`Not added:\n  ${linked}: `);
  });

  test("in a folder with a .repoconf.json of its own below the root of the work tree, repo add asks which is meant", async () => {
    await using home = await makeServedHome();
    const root = await makeWorkTree(join(home.workFolder, "root"));
    const part = join(root, "packages/part");
    await mkdir(join(part, "deep"), { recursive: true });
    await writeFile(join(part, ".repoconf.json"), '{ "config": { "svc": { "timeout": 41 } } }');
    const folder = join(part, "deep");
    await home.refuse(1, ["get", "svc.timeout"], `repoconf repo add '${part}'`, { folder });
    const both = `repoconf repo add '${part}'\n  repoconf repo add '${root}'\n`;
    await home.refuse(1, ["repo", "add"], both, { folder });
    await home.succeed(["repo", "add", part]);
    expect(await home.succeed(["get", "svc.timeout"], { folder })).toBe("41\n");
  });

  test("rename and remove by name or id; an ambiguous name needs the id", async () => {
    await using home = await makeServedHome();
    await home.succeed(["repo", "add", "--name", "shop", "--id", "one", home.workFolder]);
    await home.succeed(["set", "svc.timeout=5", "--repo", "one"]);
    expect(await home.succeed(["repo", "rename", "shop", "market"])).toBe("Renamed one to market.\n");
    const other = await makeWorkTree(join(home.workFolder, "other"));
    await home.succeed(["repo", "add", "--name", "market", "--id", "two", other]);
    await home.refuse(1, ["get", "svc.timeout", "--repo", "market"], "one, two");
    await home.refuse(1, ["repo", "remove", "one"], "--yes");
    const removed = await home.succeed(["repo", "remove", "one", "--yes"]);
    const [, from = "", to = ""] =
      /^Removed market\. Its file was moved to (.*removed\/one\..*\.json)\nTo have it again, .* move that file to (.*)\n$/.exec(
        removed,
      ) ?? [];
    expect(await home.succeed(["repo", "list"])).toMatch(/^two\tmarket\t0\tok\t/);
    await rename(from, to);
    await until(async () => (await home.json(["repo", "list"])).length === 2, "the repository to be back");
    expect(await home.succeed(["history", "--repo", "one"])).toContain("revision 2");
  });

  test("a key can do what its grants allow and nothing else, until it is revoked", async () => {
    await using home = await makeServedHome();
    await home.succeed(["repo", "add", "--name", "shop", "--id", "shop", home.workFolder]);
    const grant = ["--repo", "shop", "--field", "svc.timeout", "--right", "write"];
    const { output, errorOutput } = await home.run(["key", "create", "ci", ...grant]);
    expect(errorOutput).toContain("shown only once");
    const environment = { REPOCONF_API_KEY: output.trim() };
    await home.succeed(["set", "svc.timeout=3", "--repo", "shop"], { environment });
    await home.refuse(3, ["set", "svc.domain=x", "--repo", "shop"], "", { environment });
    await home.refuse(5, ["key", "list"], "", { environment });
    expect(await home.succeed(["key", "list"])).toMatch(
      /^[0-9a-f]{12}\tci\twrite svc\.timeout in shop\tnever\t\d{4}-\d\d-\d\dT[\d:.]+Z\n$/,
    );
    await home.succeed(["key", "revoke", "ci"]);
    await home.refuse(5, ["get", "svc.timeout", "--repo", "shop"], "API key", { environment });
  });

  test("repo move points a repository to its new folder, the current or a named one, in-tree or not", async () => {
    await using home = await makeServedHome();
    const [old, moved] = [join(home.workFolder, "old"), join(home.workFolder, "new")];
    await makeWorkTree(old);
    await home.succeed(["repo", "add", old, "--id", "site", "--name", "site", "--in-tree"]);
    await home.succeed(["set", "svc.timeout=5"], { folder: old });
    await rename(old, moved);
    const doctor = await home.find(1, ["doctor"]);
    expect(doctor).toContain(`the folder ${old} does not exist, so its values cannot be read`);
    expect(doctor).toContain("repoconf repo move site FOLDER");
    await home.refuse(1, ["repo", "move", "site", join(home.workFolder, "nowhere")], "nowhere does not exist");
    await home.refuse(1, ["repo", "move", "site"], "repoconf repo move site FOLDER");
    expect(await home.succeed(["repo", "move", "site"], { folder: moved })).toBe(`site (site) is now in ${moved}.\n`);
    expect(await home.succeed(["get", "svc.timeout"], { folder: moved })).toBe("5\n");
    await home.succeed(["set", "svc.timeout=6"], { folder: moved });
    expect(await readFile(join(moved, ".repoconf.json"), "utf8")).toContain("6");
    expect(await home.succeed(["doctor"])).toContain("No problems found");

    const blog = await makeWorkTree(join(home.workFolder, "blog"));
    await home.succeed(["repo", "add", blog, "--id", "blog"]);
    const elsewhere = join(home.workFolder, "elsewhere");
    await rename(blog, elsewhere);
    expect(await home.json(["repo", "move", "blog", "elsewhere"])).toMatchObject({
      id: "blog",
      path: elsewhere,
    });
  });

  test("a moved repository whose values are in the home is named: by commands in its folder, and where it is added again", async () => {
    await using home = await makeServedHome();
    const at = (name: string) => join(home.workFolder, name);
    for (const id of ["shop", "other"]) {
      await home.succeed(["repo", "add", await makeWorkTree(at(`old/${id}`)), "--id", id]);
      await home.succeed(["set", "svc.timeout=5", "--repo", id]);
    }
    const move = (id: string) => `Or, if it is ${id}, which was in ${at(`old/${id}`)}: repoconf repo move ${id}\n`;
    await mkdir(at("new"));
    await rename(at("old/shop"), at("new/shop"));
    await home.refuse(1, ["get", "svc.timeout"], move("shop"), { folder: at("new/shop") });
    await rename(at("old/other"), at("another name"));
    // The one with the name of the folder is meant, else any of a few.
    const { errorOutput } = await home.run(["get", "svc.timeout"], { folder: at("new/shop") });
    expect(errorOutput).not.toContain("old/other");
    await home.refuse(1, ["get", "svc.timeout"], move("other"), { folder: at("another name") });
    const added = await home.run(["repo", "add", "--id", "again"], { folder: at("another name") });
    const instead = `repoconf repo remove --yes again && repoconf repo move other '${at("another name")}'`;
    expect(added).toMatchObject({ code: 0, errorOutput: expect.stringContaining(instead) });
    for (const args of [
      ["remove", "--yes", "again"],
      ["move", "other", at("another name")],
    ])
      await home.succeed(["repo", ...args]);
    expect(await home.succeed(["get", "svc.timeout"], { folder: at("another name") })).toBe("5\n");
    const scanned = await home.run(["repo", "add", "--scan", at("new"), "--yes"]);
    expect(scanned.errorOutput).toContain("&& repoconf repo move shop ");
  });

  test("a linked worktree is listed after its repository, and neither added nor offered by a scan; commands in a moved repository say so", async () => {
    await using home = await makeServedHome();
    const at = (name: string) => join(home.workFolder, name);
    await makeWorkTree(at("zoo"));
    await git(at("zoo"), "commit", "-q", "--allow-empty", "-m", "first");
    await home.succeed(["repo", "add", at("zoo"), "--id", "zoo", "--in-tree"]);
    await home.succeed(["repo", "add", await makeWorkTree(at("plain")), "--id", "a"]);
    await git(at("zoo"), "worktree", "add", "-q", at("linked"));
    expect(await home.run(["repo", "add", "--scan", "."])).toMatchObject({
      errorOutput: expect.stringContaining("Found no work trees"),
    });
    await home.succeed(["set", "svc.timeout=5"], { folder: at("linked") });
    expect(await readFile(join(at("linked"), ".repoconf.json"), "utf8")).toContain("5");
    const listed: { readonly name: string; readonly base?: string }[] = await home.json(["repo", "list"]);
    expect(listed.map(({ name, base }) => [name, base])).toEqual([
      ["plain", undefined],
      ["zoo", undefined],
      ["zoo@linked", "zoo"],
    ]);
    await home.refuse(1, ["repo", "add"], "is already the repository", { folder: at("linked") });
    const variables = ["run", "--", "sh", "-c", "echo $REPOCONF_WORKTREE $REPOCONF_SLOT"];
    for (const environment of [{}, { NODE_OPTIONS: "--no-warnings" }]) {
      expect(await home.succeed(variables, { folder: at("linked"), environment })).toBe("linked 1\n");
      expect(await home.succeed(variables, { folder: at("zoo"), environment })).toBe("\n");
    }
    await rename(at("linked"), at("gone"));
    const doctor = await home.find(1, ["doctor"]);
    expect(doctor).toContain("git worktree prune");
    expect(doctor).not.toContain("repoconf repo move");
    await rename(at("zoo"), at("moved"));
    for (const args of [
      ["get", "svc.timeout"],
      ["set", "svc.timeout=6"],
      ["repo", "add"],
    ])
      await home.refuse(1, args, `repoconf repo move zoo ${at("moved")}`, { folder: at("moved") });
  });
});
