import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeCommandHome } from "../helpers/command-home.ts";
import { git } from "../helpers/git.ts";
import { hard, loads, makeHookHome, makeRepository, quoted, setVariables, show, words } from "../helpers/hook-shell.ts";
import { canPrompt, hookShellNames, keys, makePromptingShell, type ShellName } from "../helpers/prompting-shell.ts";
import { titleWith } from "../helpers/skips.ts";

const hookHome = await makeHookHome();
afterAll(() => hookHome[Symbol.asyncDispose]());
const { makePlace, openShell } = hookHome;

const isPortRun = process.env["REPOCONF_TEST_CHANNEL"] === "port";

function testsIn(name: ShellName): void {
  const { status, say, countChildren: faults } = words[name];
  const b = say("B");

  test("starts nothing within a repository and outside of any, and notices what was added, moved, removed and nested", async () => {
    const { home, folder, shell } = await openShell(name);
    const at = (path: string) => join(home.workFolder, path);
    for (const path of ["shop/src/deep", "other", "late/src", "shop/nested/src", "shop/package/src"])
      await mkdir(at(path), { recursive: true });
    await makeRepository(home, "shop/package");
    await setVariables(home, at("shop/package"), { B: "of the package" });
    await symlink(folder, at("link"));
    const { output } = await shell.type([
      `cd ${quoted(folder)}`,
      faults,
      "cd src",
      "cd deep; echo one",
      "cd ../..",
      faults,
      b,
      "cd package/src",
      b,
      `cd ${quoted(home.workFolder)}`,
      `${b}; ${faults}`,
      "cd other",
      "cd /",
      `cd ${quoted(at("late/src"))}`,
      faults,
      `repoconf repo add ${quoted(at("late"))} --id ${name}-late >/dev/null; repoconf set svc.envvars.B=late >/dev/null`,
      b,
      "cd ..; mv src ../moved; cd ../moved",
      `repoconf repo move ${name}-late . >/dev/null`,
      b,
      `repoconf repo remove ${name}-late --yes >/dev/null; ${b}`,
      b,
      // A clone inside a repository is another one.
      `cd ${quoted(at("shop/nested/src"))}`,
      b,
      "mkdir ../.git",
      b,
      // By a link, the same repository.
      `cd ${quoted(at("link/src"))}`,
      b,
    ]);
    const lines = output.trim().split("\n");
    const counted = lines.filter(line => line.startsWith("faults"));
    if (process.platform === "linux") {
      expect(counted[1]).toBe(counted[0]);
      expect(counted[3]).toBe(counted[2]);
    }
    expect(lines.filter(line => line.startsWith("B="))).toEqual([
      ...["B=plain", "B=of the package", "B=none"],
      ...["B=late", "B=late", "B=late", "B=none"],
      ...["B=plain", "B=none", "B=plain"],
    ]);
  });

  test("in a linked worktree, the folders of the main one count, and a cd within one starts nothing", async () => {
    const home = await makePlace();
    const main = join(home.workFolder, "main");
    for (const folder of ["", "packages/web/src"]) await mkdir(join(main, folder), { recursive: true });
    await writeFile(join(main, "packages/web/src/file"), "");
    await git(main, "init", "--quiet");
    await git(main, "add", ".");
    await git(main, "commit", "--quiet", "--message", "one");
    await git(main, "worktree", "add", "--quiet", "../linked");
    await makeRepository(home, "main");
    await makeRepository(home, "main/packages/web");
    await setVariables(home, join(main, "packages/web"), { B: "web" });
    const shell = await makePromptingShell(home, name);
    const { output } = await shell.type([
      `cd ${quoted(join(home.workFolder, "linked"))}`,
      `${b}; ${faults}`,
      "cd packages",
      `${b}; ${faults}`,
      "cd web",
      b,
      "cd src",
      b,
      "cd ../../..",
      b,
    ]);
    const lines = output.trim().split("\n");
    const [before, after] = lines.filter(line => line.startsWith("faults"));
    if (process.platform === "linux") expect(after).toBe(before);
    expect(lines.filter(line => line.startsWith("B="))).toEqual(["B=plain", "B=plain", "B=web", "B=web", "B=plain"]);
  });

  const ways: readonly (readonly [way: string, before: string, asked: RegExp])[] = [
    ["curl, which gets the key on its standard input", name === "fish" ? "" : "module_path=()", /^-q /],
    [
      "the command",
      name === "fish" ? "set -gx PATH $PATH[1]/../tools" : `module_path=(); PATH=\${PATH%%:*}/../tools`,
      /^hook-load/,
    ],
    ...(name === "zsh" ? [["its own sockets", "", /^zsocket /] as const] : []),
  ];
  test.each(ways)("asks by %s", async (_way, before, asked) => {
    const { home, folder, shell } = await openShell(name, 'it\'s "odd" \\ shöp');
    await mkdir(join(home.workFolder, "tools"));
    await rename(join(home.workFolder, "bin/repoconf"), join(home.workFolder, "tools/repoconf"));
    await symlink("../tools/repoconf", join(home.workFolder, "bin/repoconf"));
    for (const program of ["cat", "sh"])
      await symlink(`/bin/${program}`, join(home.workFolder, "tools", program)).catch(() => {});
    const { output, errorOutput } = await shell.type([`cd ${quoted(folder)}`, show("A"), "cd /", show("A")], before);
    expect(output.trim().split("\n")).toEqual([JSON.stringify(hard), "unset"]);
    expect(errorOutput).not.toMatch(/^repoconf:|command not found/m);
    const calls = await shell.calls();
    expect(calls.map(call => call.replace(/'.*/, ""))).toEqual([
      expect.stringMatching(isPortRun ? /^hook-load/ : asked),
    ]);
    expect(calls.join("")).not.toContain("repoconf_");
  });

  test("a socket in a folder that others can enter, or a link to one, gets no key from the shell", async () => {
    const { folder, shell } = await openShell(name);
    const { output } = await shell.type([
      // As in a shell whose home was never seen to be private.
      `${name === "fish" ? "set -g __repoconf_checked" : "__repoconf_checked="}; cd ${quoted(folder)}`,
      b,
    ]);
    expect(output.trim()).toBe("B=plain");
    expect((await shell.calls()).map(call => call.split(" ")[0])).toEqual(["hook-load"]);
  });

  test("says that no daemon is running if the last one was killed, once, and loads when one has come", async () => {
    await using home = await makeCommandHome();
    const folder = await makeRepository(home);
    const shell = await makePromptingShell(home, name);
    const { pid } = await home.endpoint();
    const { output, errorOutput } = await shell.type([
      `kill -9 ${pid}; sh -c 'while kill -0 ${pid} 2>/dev/null; do sleep 0.05; done'; cd ${quoted(folder)}`,
      `${b}; cd src 2>/dev/null || mkdir src`,
      `repoconf status --json; echo ${status}`,
      "repoconf list >/dev/null",
      b,
    ]);
    expect(output.trim().split("\n")).toEqual(["B=none", "4", "B=plain"]);
    expect(errorOutput.match(/^repoconf: No daemon is running, so/gm)).toHaveLength(1);
    expect(errorOutput).toContain("the last one was killed");
  });

  test("asks again, after a pause, for a secret that could not be fetched", async () => {
    const { home, folder, shell } = await openShell(name);
    const key = join(home.workFolder, "unlocked");
    // The same text for all shells, which share the home.
    await home.put("settings.json", { secrets: { cat: { command: ["cat", "{}"] } } });
    await setVariables(home, folder, { B: `cmd://cat/${key}` });
    const { output, errorOutput } = await shell.type([
      `cd ${quoted(folder)}`,
      b,
      `echo open >${quoted(key)}; ${b}`,
      // As if the pause were over.
      `${b}; ${name === "fish" ? "set -q __repoconf_retry[1]; and set __repoconf_retry 1" : `__repoconf_retry=\${__repoconf_retry:+1}`}`,
      b,
    ]);
    expect(output.trim().split("\n")).toEqual(["B=none", "B=none", "B=none", "B=open"]);
    expect(errorOutput.match(/No secret for cmd:/g)).toHaveLength(1);
    expect(loads(await shell.calls()) - (await shell.calls()).filter(call => call.startsWith("hook-load")).length).toBe(
      isPortRun ? 0 : 2,
    );
  });
}

test.concurrent("the hook for fish: a list comes back as one, not exported, and so does a variable of all sessions", async context => {
  context.skip(!canPrompt("fish"), "fish");
  const { folder, shell } = await openShell("fish");
  const { output } = await shell.type([
    "set -g A a 'b c'; set -U B everywhere",
    `cd ${quoted(folder)}`,
    'echo "$B"',
    "cd ..",
    'count $A; echo "$A[2] $B"; set -qgx A; echo $status; set -qg B; echo $status',
  ]);
  expect(output.trim().split("\n")).toEqual(["plain", "2", "b c everywhere", "1", "1"]);
});

test.concurrent("the hook for fish: a key that changes the folder loads its variables before the next command", async context => {
  context.skip(!canPrompt("fish"), "fish");
  const { home, folder, shell } = await openShell("fish");
  const altLeft = keys("\u001b[1;3D");
  const { output } = await shell.type([
    `cd ${quoted(folder)}`,
    `cd ${quoted(home.workFolder)}`,
    altLeft,
    'echo "B=$B"; basename "$PWD"',
  ]);
  expect(output.trim().split("\n")).toEqual(["B=plain", "shop"]);
});

for (const name of hookShellNames) {
  const isThere = canPrompt(name);
  const title = titleWith(isThere, name, `where the hook for ${name} is, and whom it asks`);
  describe.skipIf(!isThere).concurrent(title, () => testsIn(name));
}
