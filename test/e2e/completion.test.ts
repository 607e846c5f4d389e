import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CommandHome, makeCommandHome, makeServedHome } from "../helpers/command-home.ts";
import { isShellThere } from "../helpers/prompting-shell.ts";
import { titleWith } from "../helpers/skips.ts";
import { type Finished, patientCompletion, repoconfCommand, runProcess } from "../helpers/spawned-daemon.ts";

/** A home with the repositories "shop" and "my blog" and a running daemon. */
async function makeRunningHome(): Promise<CommandHome> {
  const home = await makeServedHome();
  for (const name of ["shop", "my blog"]) {
    await mkdir(join(home.workFolder, name));
    await home.succeed(["repo", "add", name]);
  }
  return home;
}

async function complete(home: CommandHome, ...words: string[]): Promise<string[]> {
  const output = await home.succeed(["complete", "--", ...words]);
  return output.split("\n").slice(0, -1);
}

describe.concurrent("repoconf complete", () => {
  test("completes commands and subcommands, without hidden ones", async () => {
    await using home = await makeCommandHome();
    expect(await complete(home, "re")).toEqual(["restore", "repo", "restart"]);
    expect(await complete(home, "comp")).toEqual(["completion"]);
    expect(await complete(home, "repo", "re")).toEqual(["rename", "remove"]);
  });

  test("completes the command's options, without hidden ones", async () => {
    await using home = await makeCommandHome();
    expect(await complete(home, "list", "--re")).toEqual(["--repo", "--revision", "--reveal"]);
    expect(await complete(home, "undo", "--ba")).toEqual(["--batch"]);
    expect(await complete(home, "set", "--y")).toEqual(["--yes"]);
    expect(await complete(home, "repo", "add", "--in-")).toEqual(["--in-tree", "--in-home"]);
    expect(await complete(home, "daemon", "--")).not.toContain("--background");
    expect(await complete(home, "list", "--", "--re")).toEqual([]);
    expect(await complete(home, "--ke")).toEqual(["--key-file"]);
    expect(await complete(home, "--home", "somewhere", "--json", "repo", "ren")).toEqual(["rename"]);
  });

  test("completes the choices of an option or argument", async () => {
    await using home = await makeCommandHome();
    expect(await complete(home, "key", "create", "ci", "--right", "")).toEqual(["read", "write"]);
    expect(await complete(home, "key", "create", "ci", "--right=w")).toEqual(["--right=write"]);
    expect(await complete(home, "completion", "")).toEqual(["bash", "zsh", "fish"]);
    // The command takes only one shell.
    expect(await complete(home, "completion", "bash", "")).toEqual([]);
  });

  test("completes fields where a field is expected, with = if a value follows", async () => {
    await using home = await makeRunningHome();
    expect((await complete(home, "get", "svc.refresh_")).sort()).toEqual([
      "svc.refresh_anchors",
      "svc.refresh_day",
      "svc.refresh_hour",
    ]);
    expect(await complete(home, "set", "--repo", "shop", "svc.timeout=3", "svc.envv")).toEqual(["svc.envvars="]);
    expect(await complete(home, "set", "svc.timeout=3")).toEqual([]);
    expect(await complete(home, "unset", "svc.timeout", "svc.envv")).toEqual(["svc.envvars"]);
  });

  test("completes the values that a field accepts, and the entries of its list", async () => {
    await using home = await makeRunningHome();
    await home.succeed([
      "set",
      "--repo",
      "shop",
      "svc.proxy_aliases+=a.test",
      `svc.services.web={"ready":"","image":""}`,
    ]);
    expect(await complete(home, "set", "svc.proxy_https=")).toEqual(["svc.proxy_https=true", "svc.proxy_https=false"]);
    expect(await complete(home, "set", "svc.proxy_https=t")).toEqual(["svc.proxy_https=true"]);
    expect(await complete(home, "set", "--repo", "shop", "svc.default=")).toEqual(["svc.default=web"]);
    expect(await complete(home, "-C", "shop", "set", "svc.proxy_aliases-=")).toEqual(["svc.proxy_aliases-=a.test"]);
    expect(await complete(home, "set", "svc.domain=")).toEqual([]);
  });

  test("completes repositories by name, or by id if several have the same name", async () => {
    await using home = await makeRunningHome();
    expect(await complete(home, "list", "--repo", "")).toEqual(expect.arrayContaining(["shop", "my blog"]));
    expect(await complete(home, "list", "--repo=my")).toEqual(["--repo=my blog"]);
    await mkdir(join(home.workFolder, "other"));
    await home.succeed(["repo", "add", "other", "--id", "other-id", "--name", "shop"]);
    const names = await complete(home, "repo", "remove", "");
    expect(names).toContain("other-id");
    expect(names).not.toContain("shop");
  });

  test("completes a field or forget after history, fields after restore, and a repository after diff --with", async () => {
    await using home = await makeRunningHome();
    expect(await complete(home, "history", "")).toEqual(expect.arrayContaining(["forget", "svc.timeout"]));
    expect(await complete(home, "history", "svc.timeo")).toEqual(["svc.timeout"]);
    expect(await complete(home, "history", "svc.timeout", "")).toEqual([]);
    expect(await complete(home, "history", "forget", "svc.timeo")).toEqual(["svc.timeout"]);
    expect(await complete(home, "restore", "3", "svc.envvars", "svc.timeo")).toEqual(["svc.timeout"]);
    expect(await complete(home, "diff", "--with", "my")).toEqual(["my blog"]);
  });

  test("asks the daemon of the home given by --home", async () => {
    await using home = await makeRunningHome();
    await using other = await makeCommandHome();
    expect(await complete(other, "list", "--repo", "sh")).toEqual([]);
    expect(await complete(other, "list", "--home", home.homeFolder, "--repo", "sh")).toEqual(["shop"]);
  });

  test("without a daemon, prints nothing, exits with code 0 and starts none", async () => {
    await using home = await makeCommandHome();
    expect(await home.run(["complete", "--", "list", "svc."])).toEqual({ code: 0, output: "", errorOutput: "" });
    await expect(home.endpoint()).rejects.toThrow("ENOENT");
  });
});

/** Runs a script in a shell in which `repoconf` is the built command. */
async function runInShell(home: CommandHome, shell: readonly string[], script: string): Promise<Finished> {
  const folder = join(home.workFolder, "bin");
  await mkdir(folder, { recursive: true });
  const node = [process.execPath, ...patientCompletion].map(word => `"${word}"`).join(" ");
  const text = `#!/bin/sh\nexec ${node} "${repoconfCommand}" "$@"\n`;
  await writeFile(join(folder, "repoconf"), text, { mode: 0o755 });
  const [command = "", ...args] = shell;
  const environment = { REPOCONF_HOME: home.homeFolder, PATH: `${folder}${delimiter}${process.env["PATH"]}` };
  return runProcess(command, [...args, script], { folder: home.workFolder, environment });
}

/** The lines that the script prints. Fails if the script does. */
async function linesOf(finished: Promise<Finished>): Promise<string[]> {
  const { code, output, errorOutput } = await finished;
  expect({ code, errorOutput }).toEqual({ code: 0, errorOutput: "" });
  return output.split("\n").slice(0, -1);
}

const shells = new Set(["bash", "zsh", "fish"].filter(isShellThere));

describe.concurrent("repoconf completion", () => {
  test.skipIf(!shells.has("bash"))(titleWith(shells.has("bash"), "bash", "completes in bash"), async () => {
    await using home = await makeRunningHome();
    const run = (...words: string[]) =>
      linesOf(
        runInShell(
          home,
          ["bash", "--norc", "-c"],
          `source <(repoconf completion bash)
           COMP_WORDS=(repoconf ${words.map(word => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}
           _repoconf; printf '%s\\n' "\${COMPREPLY[@]}"`,
        ),
      );
    expect(await run("re")).toEqual(["restore", "repo", "restart"]);
    expect(await run("list", "--revea")).toEqual(["--reveal"]);
    expect(await run("set", "svc.timeo")).toEqual(["svc.timeout="]);
    expect(await run("list", "--repo", "sh")).toEqual(["shop"]);
    // Bash splits --repo=sh into words and expects only the part after the =.
    expect(await run("list", "--repo", "=", "sh")).toEqual(["shop"]);
    expect(await run("list", "--repo", "my\\ b")).toEqual(["my\\ blog"]);
    expect(await run("list", "svc.none")).toEqual([""]);
  });

  test.skipIf(!shells.has("zsh"))(titleWith(shells.has("zsh"), "zsh", "completes in zsh"), async () => {
    await using home = await makeRunningHome();
    const run = (...words: string[]) =>
      linesOf(
        runInShell(
          home,
          ["zsh", "-f", "-c"],
          // Stubs for the functions of zsh's completion that exist only in its line editor.
          `compdef() { }; compadd() { print -r -- compadd "$@" }; _files() { print files }
           source <(repoconf completion zsh)
           words=(repoconf ${words.map(word => `'${word}'`).join(" ")}) CURRENT=${words.length + 1}; _repoconf`,
        ),
      );
    expect(await run("re")).toEqual(["compadd -- restore repo restart"]);
    expect(await run("set", "svc.timeo")).toEqual(["compadd -S  -- svc.timeout="]);
    expect(await run("list", "--repo", "my\\ b")).toEqual(["compadd -- my blog"]);
    expect(await run("list", "--home", "")).toEqual(["files"]);
  });

  test.skipIf(!shells.has("fish"))(titleWith(shells.has("fish"), "fish", "completes in fish"), async () => {
    await using home = await makeRunningHome();
    const run = (line: string) =>
      linesOf(
        runInShell(
          home,
          ["fish", "--no-config", "-c"],
          `repoconf completion fish | source; complete --do-complete '${line}'`,
        ),
      );
    expect((await run("repoconf re")).sort()).toEqual(["repo", "restart", "restore"]);
    expect(await run("repoconf set svc.timeo")).toEqual(["svc.timeout="]);
    expect(await run("repoconf list --repo my")).toEqual(["my blog"]);
    expect(await run("repoconf repo ")).toContain("rename");
    expect(await run("repoconf list --home ./sh")).toEqual(["./shop/"]);
  });

  test("names the supported shells when asked for another one", async () => {
    await using home = await makeCommandHome();
    await home.refuse(2, ["completion", "tcsh"], "bash, zsh, fish");
  });

  test("its help says how to install it for each shell", async () => {
    await using home = await makeCommandHome();
    const help = await home.succeed(["completion", "--help"]);
    for (const place of ["~/.bashrc", "~/.zshrc", "~/.config/fish/completions/repoconf.fish"])
      expect(help).toContain(place);
  });
});
