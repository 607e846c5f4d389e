import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { fishQuoted } from "../../shared/shell-quoted.ts";
import { makeCommandHome, makeServedHome, withCommand } from "../helpers/command-home.ts";
import { isShellThere } from "../helpers/prompting-shell.ts";
import { titleWith } from "../helpers/skips.ts";
import { patientCompletion, runProcess } from "../helpers/spawned-daemon.ts";

/** A home with the repositories "shop" and "my blog", two keys and a running daemon. */
const home = await makeServedHome();
afterAll(() => home[Symbol.asyncDispose]());
for (const name of ["shop", "my blog"]) {
  await mkdir(join(home.workFolder, name));
  await home.succeed(["repo", "add", name]);
}
const services = `svc.services.web={"ready":"","image":""}`;
await home.succeed(["set", "--repo", "shop", "svc.proxy_aliases+=a.test", services, "svc.envvars.PORT=2"]);
for (const name of ["deploy", "my tool"]) await home.json(["key", "create", name]);

async function complete(words: readonly string[], inHome = home): Promise<string[]> {
  const output = await inHome.succeed(["complete", "--", ...words]);
  return output.split("\n").slice(0, -1);
}

describe("repoconf complete", () => {
  test.each<[typed: string, offered: readonly string[]]>([
    // Commands and subcommands.
    ["re", ["restore", "repo", "restart"]],
    ["comp", ["completion"]],
    ["repo re", ["rename", "remove"]],
    ["--home somewhere --json repo ren", ["rename"]],
    // Options.
    ["list --re", ["--repo", "--revision", "--reveal"]],
    ["undo --ba", ["--batch"]],
    ["set --y", ["--yes"]],
    ["repo add --in-", ["--in-tree", "--in-home"]],
    ["list -- --re", []],
    ["--ke", ["--key-file"]],
    // The choices of an option or argument; a command takes only one shell.
    ["key create ci --right ", ["read", "write"]],
    ["key create ci --right=w", ["--right=write"]],
    ["completion ", ["bash", "zsh", "fish", "pwsh"]],
    ["completion bash ", []],
    // Fields, with = if a value follows.
    ["get svc.refresh_h", ["svc.refresh_hour"]],
    ["set --repo shop svc.timeout=3 svc.envv", ["svc.envvars="]],
    ["unset svc.timeout svc.envv", ["svc.envvars"]],
    ["history svc.timeo", ["svc.timeout"]],
    ["history svc.timeout ", []],
    // Places inside the values of a repository, one step further than what is typed.
    ["-C shop get svc.services.", ["svc.services.web"]],
    ["-C shop history svc.services.web.i", ["svc.services.web.image"]],
    ["history forget svc.timeo", ["svc.timeout"]],
    ["restore 3 svc.envvars svc.timeo", ["svc.timeout"]],
    // The values that a field accepts, and the entries of its list.
    ["set svc.timeout=3", []],
    ["set svc.domain=", []],
    ["set svc.proxy_https=", ["svc.proxy_https=true", "svc.proxy_https=false"]],
    ["set svc.proxy_https=t", ["svc.proxy_https=true"]],
    ["set --repo shop svc.default=", ["svc.default=web"]],
    ["-C shop set svc.proxy_aliases-=", ["svc.proxy_aliases-=a.test"]],
    ["-C shop set svc.envvars-=", ["svc.envvars-=PORT"]],
    // The places inside a value.
    ["-C shop set svc.envvars.", ["svc.envvars.PORT="]],
    ["unset --repo shop svc.services.web.r", ["svc.services.web.ready"]],
    // Repositories.
    ["list --repo=my", ["--repo=my blog"]],
    ["diff --with my", ["my blog"]],
    // Keys.
    ["key revoke d", ["deploy"]],
    ["undo --by=my", ["--by=my tool"]],
  ])("completes repoconf %s", async (typed, offered) => {
    expect(await complete(typed.split(" "))).toEqual(offered);
  });

  test("hides hidden options, and completes a field or forget after history", async () => {
    expect(await complete(["daemon", "--"])).not.toContain("--background");
    expect(await complete(["history", ""])).toEqual(expect.arrayContaining(["forget", "svc.timeout"]));
  });

  test("completes repositories by name, or by id if several have the same name", async () => {
    expect(await complete(["list", "--repo", ""])).toEqual(expect.arrayContaining(["shop", "my blog"]));
    await mkdir(join(home.workFolder, "other"));
    await home.succeed(["repo", "add", "other", "--id", "other-id", "--name", "shop"]);
    const names = await complete(["repo", "remove", ""]);
    expect(names).toContain("other-id");
    expect(names).not.toContain("shop");
    await home.succeed(["repo", "remove", "other-id", "--yes"]);
  });

  test("completes a key by its id if that begins as the text does", async () => {
    const [{ id }] = await home.json(["key", "list"]);
    expect(await complete(["key", "revoke", id.slice(0, 6)])).toEqual([id]);
  });

  test("asks the daemon of the home given by --home; without one, prints nothing, exits with code 0 and starts none", async () => {
    await using other = await makeCommandHome();
    expect(await complete(["list", "--repo", "sh"], other)).toEqual([]);
    await expect(other.endpoint()).rejects.toThrow("ENOENT");
    expect(await complete(["list", "--home", home.homeFolder, "--repo", "sh"], other)).toEqual(["shop"]);
  });
});

/** What each of the scripts prints, in lines, in one shell in which `repoconf` is the built command. Fails if a script does. */
async function linesOf(shell: string, options: readonly string[], scripts: readonly string[]): Promise<string[][]> {
  const environment = { ...(await withCommand(home)), NODE_OPTIONS: patientCompletion.join(" ") };
  const script = `repoconf completion ${shell} >completion.${shell}; source ./completion.${shell}\n${scripts.join("\necho =\n")}`;
  const folder = home.workFolder;
  const { code, output, errorOutput } = await runProcess(shell, [...options, "-c", script], { folder, environment });
  expect({ code, errorOutput }).toEqual({ code: 0, errorOutput: "" });
  return `\n${output}`.split("\n=").map(part =>
    part
      .split("\n")
      .slice(1)
      .filter(line => line !== ""),
  );
}

const shells = new Set(["bash", "zsh", "fish"].filter(isShellThere));
const quoted = (words: readonly string[]) => words.map(word => `'${word}'`).join(" ");

describe("repoconf completion", () => {
  test.skipIf(!shells.has("bash"))(titleWith(shells.has("bash"), "bash", "completes in bash"), async () => {
    const typed = (...words: string[]) =>
      `COMP_WORDS=(repoconf ${quoted(words)}); COMP_CWORD=${words.length}; _repoconf; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const scripts = [
      typed("re"),
      typed("set", "svc.timeo"),
      // Bash splits --repo=sh into words and expects only the part after the =.
      typed("list", "--repo", "=", "sh"),
      typed("list", "--repo", "my\\ b"),
      typed("list", "svc.none"),
      typed("key", "revoke", "my"),
    ];
    expect(await linesOf("bash", ["--norc"], scripts)).toEqual([
      ["restore", "repo", "restart"],
      ["svc.timeout="],
      ["shop"],
      ["my\\ blog"],
      [],
      ["my\\ tool"],
    ]);
  });

  test.skipIf(!shells.has("zsh"))(titleWith(shells.has("zsh"), "zsh", "completes in zsh"), async () => {
    const typed = (...words: string[]) =>
      // Stubs for the functions of zsh's completion that exist only in its line editor.
      `compadd() { print -r -- compadd "$@" }; _files() { print files }
       words=(repoconf ${quoted(words)}) CURRENT=${words.length + 1}; _repoconf`;
    const scripts = [
      typed("re"),
      typed("set", "svc.timeo"),
      typed("list", "--repo", "my\\ b"),
      typed("list", "--home", ""),
      typed("key", "revoke", "my"),
    ];
    const beforeIts = ["-f", "-o", "no_nomatch"];
    expect(await linesOf("zsh", beforeIts, ["compdef() { }", ...scripts])).toEqual([
      [],
      ["compadd -- restore repo restart"],
      ["compadd -S  -- svc.timeout="],
      ["compadd -- my blog"],
      ["files"],
      ["compadd -- my tool"],
    ]);
  });

  test.skipIf(!shells.has("fish"))(titleWith(shells.has("fish"), "fish", "completes in fish"), async () => {
    const lines = [
      "repoconf set svc.timeo",
      "repoconf list --repo my",
      "repoconf list --home ./sh",
      "repoconf repo ren",
      "repoconf list --repo my\\ b",
      "repoconf list --repo 'my b",
      "repoconf key revoke my",
      `repoconf list --repo "it's \\$x \\"q`,
      "repoconf list --repo it\\'s",
    ];
    const odd = `it's $x "q" \\b ünï`;
    await mkdir(join(home.workFolder, "odd"));
    await home.succeed(["repo", "add", "odd", "--name", odd]);
    const scripts = lines.map(line => `complete --do-complete ${fishQuoted(line)}`);
    const completed = await linesOf("fish", ["--no-config"], scripts);
    await home.succeed(["repo", "remove", odd, "--yes"]);
    expect(completed).toEqual([
      ["svc.timeout="],
      ["my blog"],
      ["./shop/"],
      ["rename"],
      ["my blog"],
      ["my blog"],
      ["my tool"],
      [odd],
      [odd],
    ]);
  });

  test("names the supported shells when asked for another one", async () => {
    await home.refuse(2, ["completion", "tcsh"], "bash, zsh, fish, pwsh");
  });
});
