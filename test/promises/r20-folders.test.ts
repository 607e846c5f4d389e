import { cp, mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandHome, makeServedHome } from "../helpers/command-home.ts";
import { git } from "../helpers/git.ts";

/** The text of a `.repoconf.json` whose environment says which folder it is of. */
const textOf = (name: string) =>
  `${JSON.stringify({ config: { svc: { domain: `${name}.test`, envvars: [{ name: "WHO", value: name }] } } })}\n`;
const write = async (folder: string, name: string) => {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, ".repoconf.json"), textOf(name));
};

let home: CommandHome;
let key: string;
const at = (...names: string[]) => join(home.workFolder, ...names);
/** Everything that is added, by id. */
const added = {
  main: "main",
  web: "main/packages/web",
  container: "container",
  bare: "bare-one",
  separate: "separate",
  "in-home": "in-home",
  twin: "twin",
  moved: "moved",
} as const;

/** A repository whose first commit has values of this name. */
async function makeClone(folder: string, name: string, ...more: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  await git(folder, "init", ...more);
  await write(folder, name);
  await git(folder, "add", "--all");
  await git(folder, "commit", "-m", "first");
}

/** A linked worktree whose branch has values of its own. */
async function link(from: string, to: string, name: string): Promise<void> {
  await git(from, "worktree", "add", to);
  await write(to, name);
}

beforeAll(async () => {
  home = await makeServedHome();
  const { succeed } = home;
  await makeClone(at("main"), "main");
  await makeClone(at("library"), "library");
  await write(at("main", "packages", "web"), "web");
  await git(at("main"), "submodule", "add", at("library"), "submodule");
  await git(at("main"), "add", "--all");
  await git(at("main"), "commit", "-m", "more");
  await makeClone(at("main", "nested"), "nested");
  await link(at("main"), at("linked"), "linked");
  await write(at("linked", "packages", "web"), "linked-web");
  await link(at("main"), at("main", "inside"), "inside");
  await link(at("main", "submodule"), at("of-submodule"), "of-submodule");
  await git(at("main"), "clone", "--bare", at("library"), "bare.git");
  await link(at("main", "bare.git"), at("bare-one"), "bare-one");
  await link(at("main", "bare.git"), at("main", "bare-two"), "bare-two");
  await git(home.workFolder, "clone", "--bare", at("library"), at("container", ".bare"));
  await writeFile(at("container", ".git"), "gitdir: ./.bare\n");
  await write(at("container"), "container");
  await link(at("container"), at("container", "one"), "one");
  await makeClone(at("separate"), "separate", "--separate-git-dir", at("separate.git"));
  await link(at("separate"), at("of-separate"), "of-separate");
  // Unpacked archives: their .git files name git folders of others.
  for (const [name, from] of [
    ["archive", "linked"],
    ["archive-2", "main/submodule"],
    ["main/archive", "separate"],
  ] as const) {
    await write(at(name), name.replace("/", "-"));
    const pointer = (await readFile(at(from, ".git"), "utf8")).replace(
      /^gitdir: (.*)\n/,
      (_, folder) => `gitdir: ${join(at(from), folder)}\n`,
    );
    await writeFile(at(name, ".git"), from === "main/submodule" ? pointer : await readFile(at(from, ".git"), "utf8"));
  }
  await cp(at("linked"), at("copied"), { recursive: true });
  await write(at("copied"), "copied");
  await link(at("main"), at("worktree-moved-from"), "worktree-moved");
  await git(at("main"), "worktree", "move", at("worktree-moved-from"), at("worktree-moved"));
  await makeClone(at("in-home"), "in-home-file");
  await link(at("in-home"), at("of-in-home"), "of-in-home");
  await makeClone(at("twin"), "twin");
  await makeClone(at("moved"), "moved");
  for (const [id, folder] of Object.entries(added))
    await succeed(["repo", "add", at(folder), "--id", id, ...(id === "in-home" ? ["--in-home"] : [])]);
  await succeed([
    "set",
    "svc.domain=in-home.test",
    'svc.envvars=[{"name":"WHO","value":"in-home"}]',
    "--repo",
    "in-home",
  ]);
  ({ key } = await home.json(["key", "create", "tool", "--field", "svc.*", "--right", "write", "--reveal"]));
  await rename(at("moved"), at("moved-to"));
  await symlink(at("main", "packages"), at("packages"));
  await symlink(at("twin"), at("by-link"));
});
afterAll(() => home[Symbol.asyncDispose]());

type Kind = [
  what: string,
  folder: string,
  /** Whose values `get` and all that asks the daemon have; undefined: none. */
  served: string | undefined,
  /** Whose values a command without a daemon reads, if they are others: those in the file. */
  offline?: string,
];

const kinds: readonly Kind[] = [
  ["a main work tree", "main", "main"],
  ["git's own folder in it", "main/.git/worktrees", "main"],
  ["a package that was added itself", "main/packages/web", "web"],
  ["that package by a link", "packages/web", "web"],
  ["a link to a work tree", "by-link", "twin"],
  ["a container of worktrees", "container", "container"],
  ["a worktree of a bare repository that was added", "bare-one", "bare-one"],
  ["a work tree with its git folder elsewhere", "separate", "separate"],
  ["a linked worktree outside of its main one", "linked", "linked"],
  ["a linked worktree in its main one", "main/inside", "inside"],
  ["a package in a linked worktree", "linked/packages/web", "linked-web"],
  ["a linked worktree that git moved", "worktree-moved", "worktree-moved"],
  ["a worktree in a container", "container/one", "one"],
  ["another worktree of a bare repository, in another repository", "main/bare-two", "bare-two"],
  ["a linked worktree of a repository with its values in the home", "of-in-home", "in-home", "of-in-home"],
  ["a submodule", "main/submodule", undefined, "library"],
  ["a worktree of a submodule", "of-submodule", undefined],
  ["a clone in another one", "main/nested", undefined, "nested"],
  ["a worktree of a work tree with its git folder elsewhere", "of-separate", undefined],
  ["an archive that names a linked worktree's git folder", "archive", undefined],
  ["an archive that names a submodule's git folder", "archive-2", undefined],
  ["an archive in a repository that names a stranger's git folder", "main/archive", undefined, "main-archive"],
  ["a copied linked worktree", "copied", undefined],
  ["a work tree that was moved", "moved-to", undefined, "moved"],
];

test.each(kinds)(
  "%s: every command has the same answer (%s)",
  async (_what, path, served, offline = served ?? path) => {
    const folder = at(path);
    const { run, succeed } = home;
    const isOwn = served === offline;
    const [none, domain] = [
      { output: "", code: 1 },
      { output: `${served}.test\n`, code: 0 },
    ];
    const wanted = served === undefined ? none : domain;
    const asKey = { folder, environment: { REPOCONF_API_KEY: key } };
    // The short way, the long way, and another key.
    expect(await run(["get", "svc.domain"], { folder })).toMatchObject(wanted);
    expect(await run(["get", "svc.domain"], { folder, environment: { NODE_OPTIONS: "--no-warnings" } })).toMatchObject(
      wanted,
    );
    expect(await run(["get", "svc.domain"], asKey)).toMatchObject(wanted);
    expect(await succeed(["get", "--offline", "svc.domain"], { folder })).toBe(`${offline}.test\n`);
    expect((await run(["check"], { folder })).code).toBe(0);
    // What reaches a shell or a program, once a person has trusted it.
    if (served !== undefined)
      for (const { hash } of await home.json(["trust"], { folder }))
        await succeed(["trust", "--accept", hash], { folder });
    const of = (text: string) => (served === undefined ? "" : text);
    const { output } = await run(["env", "--format", "dotenv"], { folder });
    expect(output.replace(/^REPOCONF_.*\n/gm, "")).toBe(of(`WHO='${served}'\n`));
    expect((await run(["run", "--", "sh", "-c", "echo $WHO"], { folder })).output).toBe(of(`${served}\n`));
    for (const options of [{ folder }, asKey]) {
      const [, who = ""] = /__repoconf_set 'WHO' '(.*)'/.exec((await run(["hook-load", "bash"], options)).output) ?? [];
      expect(who).toBe(of(`${served}`));
    }
    // A set changes the file of this very folder, or nothing.
    const others = Object.values(added).filter(one => one !== path && one !== served);
    const files = () => Promise.all(others.map(one => readFile(at(one, ".repoconf.json"), "utf8").catch(() => "")));
    const before = await files();
    for (const options of [{ folder }, asKey])
      expect((await run(["set", "svc.refresh_hour=3"], options)).code).toBe(isOwn ? 0 : served === undefined ? 1 : 3);
    if (!isOwn) expect((await run(["undo"], { folder })).code).toBe(served === undefined ? 1 : 3);
    expect(await files()).toEqual(before);
    if (isOwn) expect(await succeed(["get", "--offline", "svc.refresh_hour"], { folder })).toBe("3\n");
  },
);
