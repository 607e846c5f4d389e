import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeCommandHome } from "../helpers/command-home.ts";
import { hard, loads, makeHookHome, quoted, setVariables, show, words } from "../helpers/hook-shell.ts";
import { hostileEntries, secret } from "../helpers/hostile-entries.ts";
import { canPrompt, hookShellNames, makePromptingShell, type ShellName } from "../helpers/prompting-shell.ts";
import { titleWith } from "../helpers/skips.ts";
import { repoconfCommand } from "../helpers/spawned-daemon.ts";

const hookHome = await makeHookHome();
afterAll(() => hookHome[Symbol.asyncDispose]());
const { makePlace, openShell } = hookHome;

const isThere = { bash: canPrompt("bash"), zsh: canPrompt("zsh"), fish: canPrompt("fish") };

function testsIn(name: ShellName): void {
  const { exported, set, unset, say, leave, status, inner, countChildren: faults } = words[name];

  test("loads values of any text on entering, and gives back on leaving what was there before", async () => {
    const { folder, shell } = await openShell(name, 'it\'s "odd"\nshop');
    const { output, errorOutput } = await shell.type(
      [
        `${exported("A", "mine\ntoo")}; ${set("B", "unexported")}`,
        // With set -e, a status that ended nothing does not end the shell at the prompt.
        `cd ${quoted(folder)}; ! true`,
        show("A"),
        show("B"),
        "cd ..",
        show("A"),
        show("B"),
        'echo "B is $B"',
        show("REPOCONF_HOOK_STATE"),
      ],
      { bash: "set -eu; PROMPT_COMMAND=(:)", zsh: "set -eu", fish: "" }[name],
    );
    expect(output.trim().split("\n")).toEqual([
      JSON.stringify(hard),
      '"plain"',
      JSON.stringify("mine\ntoo"),
      "unset",
      "B is unexported",
      "unset",
    ]);
    expect(errorOutput).not.toMatch(/^repoconf:|unbound|parameter not set/m);
  });

  test("a script that is older than the command evaluates nothing of its answers, takes back what it had loaded, and says what to do", async () => {
    const { folder, shell } = await openShell(name);
    const older = {
      bash: 'eval "$(repoconf hook bash | sed s/made=1/made=0/)"',
      zsh: 'eval "$(repoconf hook zsh | sed s/made=1/made=0/)"',
      fish: "repoconf hook fish | sed 's/made 1/made 0/' | source",
    }[name];
    const { output, errorOutput } = await shell.type([
      `cd ${quoted(folder)}`,
      say("B"),
      older,
      say("B"),
      "cd ..",
      "echo end",
    ]);
    expect(output.trim().split("\n")).toEqual(["B=plain", "B=none", "end"]);
    expect(errorOutput).toContain(
      "was upgraded since this shell began, so no environment is loaded. Open a new shell.",
    );
  });

  test("a prompt starts no program while neither folder nor file changed, and one when a value did", async () => {
    const { folder, shell } = await openShell(name);
    const { output } = await shell.type([
      `cd ${quoted(folder)}`,
      faults,
      ":",
      ":",
      faults,
      'echo "B=$B"',
      "repoconf set svc.refresh_hour=7 >/dev/null",
      'echo "B=$B"',
      `repoconf set 'svc.envvars=[{"name":"B","value":"new"}]' >/dev/null`,
      `echo "B=$B"; ${say("A")}`,
      "repoconf set --local svc.envvars.B=mine >/dev/null",
      'echo "B=$B"',
      "echo end",
    ]);
    const lines = output.trim().split("\n");
    if (process.platform === "linux") {
      const [before, after] = lines.filter(line => line.startsWith("faults"));
      expect(before).toMatch(/^faults \d+$/);
      expect(after).toBe(before);
    }
    expect(lines.filter(line => !line.startsWith("faults"))).toEqual([
      "B=plain",
      "B=plain",
      "B=new",
      "A=none",
      "B=mine",
      "end",
    ]);
    // One for the folder, and one for each set, all without Node where there is a daemon, and curl or zsh's sockets.
    const calls = await shell.calls();
    expect(loads(calls)).toBe(4);
    if (process.env["REPOCONF_TEST_CHANNEL"] !== "port") expect(calls.join("\n")).not.toContain("hook-load");
  });

  test("keeps the exit status and existing prompt commands, and is installed only once however often it is sourced", async () => {
    const { home, folder, shell } = await openShell(name);
    const before = {
      bash: `show() { echo "prompt $?"; }; PROMPT_COMMAND=show; eval "$(repoconf hook bash)"`,
      zsh: `show() { echo "prompt $?"; }; precmd_functions=(show); eval "$(repoconf hook zsh)"`,
      fish: `function show --on-event fish_prompt; echo "prompt $status" >>${quoted(home.workFolder)}/fish.out; end; repoconf hook fish | source`,
    }[name];
    const { output } = await shell.type([leave(7), `cd ${quoted(folder)}`, leave(8), `echo "${status} B=$B"`], before);
    expect(output.trim().split("\n")).toEqual([
      "prompt 0",
      "prompt 7",
      "prompt 0",
      "prompt 8",
      "8 B=plain",
      "prompt 0",
    ]);
    expect(loads(await shell.calls())).toBe(1);
  });

  test("a shell inside a loaded folder unloads too, and gives back what was before both", async () => {
    const { home, folder, shell } = await openShell(name);
    const { output } = await shell.type([
      exported("A", "mine"),
      `cd ${quoted(folder)}`,
      inner(home),
      'echo "B=$B"',
      "cd ..",
      say("A", "B"),
      "exit",
      'echo "B=$B"',
    ]);
    expect(output.trim().split("\n")).toEqual(["B=plain", "A=mine B=none", "B=plain"]);
  });

  test("whatever is put in place of the file, the prompt comes and the shell has nothing of it", async () => {
    const { home, folder, shell } = await openShell(name, "shop", ["--in-tree"]);
    const file = join(folder, ".repoconf.json");
    const put = Object.values(hostileEntries);
    for (const [index, entry] of put.entries()) await entry(join(home.workFolder, `entry${index}`));
    const found = `set | grep -c '${secret.slice(0, 6)}''${secret.slice(6)}'`;
    const { output } = await shell.type([
      `cd ${quoted(folder)}`,
      // Compared with the text that is known, and then read when the folder is entered.
      ...put.flatMap((_, index) => [
        `rm -rf ${quoted(file)}; mv ${quoted(join(home.workFolder, `entry${index}`))} ${quoted(file)}`,
        found,
        "cd ..",
        "cd shop",
        `echo entry${index}; ${found}`,
      ]),
    ]);
    expect(output.trim().split("\n")).toEqual(put.flatMap((_, index) => ["0", `entry${index}`, "0"]));
    // On entering, and when the first and the last entry arrive. A script that follows a link reads a text of it, and loads
    // again at each prompt.
    expect(loads(await shell.calls())).toBeLessThanOrEqual(3 + put.length);
  });

  test("without a daemon it says so once, starts none, breaks nothing, and loads when one has come; --start starts one", async () => {
    await using home = await makeCommandHome();
    const folder = join(home.workFolder, "shop");
    const svc = { envvars: [{ name: "B", value: "plain" }] };
    await mkdir(folder);
    await home.put("repos/shop.json", { name: "shop", path: folder, config: { svc } });
    const shell = await makePromptingShell(home, name);
    const { output, errorOutput } = await shell.type([
      `cd ${quoted(folder)}`,
      "echo one; cd ..",
      `cd ${quoted(folder)}`,
      `repoconf list --no-start >/dev/null 2>&1; echo ${status}`,
      "repoconf list >/dev/null",
      'echo "B=$B"',
    ]);
    expect(output.trim().split("\n")).toEqual(["one", "4", "B=plain"]);
    expect(errorOutput.match(/repoconf: No daemon is running/g)).toHaveLength(1);
    await home.succeed(["stop"]);
    const starting = await makePromptingShell(home, name, ["--start"]);
    expect((await starting.type([`cd ${quoted(folder)}`, 'echo "B=$B"'])).output.trim()).toBe("B=plain");
  });

  test("loads nothing of a work tree that waits for trust, says so, and loads it once it is trusted", async () => {
    const home = await makePlace();
    const folder = join(home.workFolder, "site");
    await mkdir(folder);
    const svc = { envvars: [{ name: "LD_PRELOAD", value: "evil.so" }] };
    await writeFile(join(folder, ".repoconf.json"), JSON.stringify({ config: { svc } }));
    await home.succeed(["repo", "add", folder, "--in-tree", "--json"]);
    const [waiting] = await home.json(["trust"], { folder });
    const shell = await makePromptingShell(home, name);
    const { output, errorOutput } = await shell.type([
      `cd ${quoted(folder)}`,
      say("LD_PRELOAD"),
      ":",
      `repoconf trust --accept ${waiting.hash} >/dev/null`,
      `${say("LD_PRELOAD")}; cd ..; ${unset("LD_PRELOAD")}`,
    ]);
    expect(output.trim().split("\n")).toEqual(["LD_PRELOAD=none", "LD_PRELOAD=evil.so"]);
    expect(errorOutput.match(/svc\.envvars.*repoconf trust/g)).toHaveLength(1);
  });

  test("a variable that the shell uses in its own way, or by which it finds the hook, is left alone and named", async () => {
    const { home, folder, shell } = await openShell(name);
    const { left, list, listed } = {
      bash: { left: ["UID", "LIST", "PWD", "PROMPT_COMMAND"], list: "LIST=(a b)", listed: `"\${LIST[*]}"` },
      zsh: { left: ["UID", "LIST", "PWD", "precmd_functions"], list: "LIST=(a b)", listed: `"\${LIST[*]}"` },
      // In fish all variables are lists, and one of several items comes back as such.
      fish: { left: ["PWD", "status", "umask", "argv", "SHLVL"], list: "true", listed: "a b" },
    }[name];
    await setVariables(home, folder, { ...Object.fromEntries(left.map(one => [one, "0"])), B: "plain" });
    const { output, errorOutput } = await shell.type([
      list,
      `cd ${quoted(folder)}`,
      `echo ${listed} "$B"; basename "$PWD"; umask | tr -d 0`,
      ":",
      "cd ..",
      `${say("B")}; umask | tr -d 0`,
    ]);
    expect(output.trim().split("\n")).toEqual(["a b plain", "shop", "22", "B=none", "22"]);
    for (const one of left) expect(errorOutput).toContain(`${one} is not a plain variable of this shell`);
    expect(loads(await shell.calls())).toBe(1);
  });

  test("what Ctrl+C interrupts is loaded at the next prompt", async () => {
    const { home, folder, shell } = await openShell(name);
    const early = join(home.workFolder, "early");
    await mkdir(early);
    // Like a terminal, send the signal to the shell and to the process that it waits for.
    const interrupting = `#!/bin/sh\nrm -r '${early}'\nkill -INT "$SHELL_PID" $$\nsleep 1\n`;
    for (const program of ["repoconf", "curl"]) await writeFile(join(early, program), interrupting, { mode: 0o755 });
    const before =
      name === "fish"
        ? `set -gx SHELL_PID $fish_pid; set -gx PATH '${early}' $PATH`
        : `export SHELL_PID=$$ PATH='${early}':"$PATH"; module_path=()`;
    const { output } = await shell.type([`cd ${quoted(folder)}`, ":", say("B")], before);
    expect(output.trim()).toBe("B=plain");
  });

  test("where repoconf is an alias, as after npm start, the one that printed the script is asked", async () => {
    const { home, folder, shell } = await openShell(name);
    // With a key of its own, the shell leaves the question to the command.
    const key = exported("REPOCONF_API_KEY", (await readFile(join(home.homeFolder, "owner.key"), "utf8")).trim());
    const path = name === "fish" ? "set -e PATH[1]" : `PATH=\${PATH#*:}`;
    const alias = `${key}\n${path}\nalias repoconf="'${process.execPath}' '${repoconfCommand}'"`;
    const { output } = await shell.type([`cd ${quoted(folder)}`, 'echo "B=$B"'], alias);
    expect(output.trim()).toBe("B=plain");
    expect(await shell.calls()).toEqual([]);
  });
}

for (const name of hookShellNames)
  describe
    .skipIf(!isThere[name])
    .concurrent(titleWith(isThere[name], name, `the hook for ${name}`), () => testsIn(name));

test.concurrent("the hook for bash: an array keeps what it has; with nocasematch, another folder or value is another one", async context => {
  context.skip(!isThere.bash, "bash");
  const { home, folder, shell } = await openShell("bash");
  await mkdir(join(home.workFolder, "SHOP"));
  await setVariables(home, folder, { MAP: "text", LIST: "text", Ab: "kept", B: "plain", b: "small" });
  const show = `declare -p MAP LIST; echo "B=\${B-none}"`;
  const { output, errorOutput } = await shell.type([
    "shopt -s nocasematch; declare -A MAP=([key]=value); LIST=([5]=five)",
    `cd ${quoted(folder)}`,
    show,
    "cd ..",
    show,
    `cd ${quoted(folder)}`,
    `repoconf set 'svc.envvars=[{"name":"Ab","value":"kept"},{"name":"B","value":"PLAIN"}]' >/dev/null`,
    'echo "B=$B"; Ab=Kept; cd ../SHOP',
    `echo "Ab=$Ab B=\${B-none}"`,
  ]);
  const arrays = ['declare -A MAP=([key]="value" )', 'declare -a LIST=([5]="five")'];
  expect(output.trim().split("\n")).toEqual([...arrays, "B=plain", ...arrays, "B=none", "B=PLAIN", "Ab=Kept B=none"]);
  expect(errorOutput).toContain("MAP is not a plain variable of this shell");
});

const options = "setopt ksh_arrays sh_word_split no_unset glob_subst rc_quotes err_return null_glob";
const zshSettings = [
  ["the ways of ksh", "emulate ksh"],
  [
    "global aliases with the names of variables, and options of every kind",
    `alias -g A='| wc' B='; echo' other=nothing; alias local='echo wrong'; ${options}`,
  ],
] as const;

test.concurrent.for(zshSettings)("the hook for zsh works with %s", async ([_, before], context) => {
  context.skip(!isThere.zsh, "zsh");
  const { folder, shell } = await openShell("zsh");
  const { output } = await shell.type([`cd ${quoted(folder)}`, show("A"), 'echo "B=$B"', "cd ..", show("A")], before);
  expect(output.trim().split("\n")).toEqual([JSON.stringify(hard), "B=plain", "unset"]);
});

const bashSettings = [
  ["set -k, with which declarations do not see their assignments", "set -k"],
  ["set -euf and pipefail", "set -euf -o pipefail"],
  ["an IFS of what paths, numbers and names consist of", "IFS=_/.0123456789abcdefghijklmnopqrstuvwxyz"],
  [
    "aliases of the words that it uses",
    ["local", "read", "if", "case", "declare", "unset"].map(word => `alias ${word}='echo wrong'`).join("; "),
  ],
] as const;

test.concurrent.for(bashSettings)("the hook for bash works with %s, and leaves it", async ([_, before], context) => {
  context.skip(!isThere.bash, "bash");
  const { folder, shell } = await openShell("bash");
  // An interactive shell has more letters in $- at its prompt than before.
  const kept = `\${-//[!efku]/}$IFS$BASHOPTS`;
  const same = `[[ "${kept}" == "$were" ]] && echo same`;
  const { output, errorOutput } = await shell.type(
    [`cd ${quoted(folder)}`, show("A"), 'echo "B=$B"', "cd ..", show("A"), same],
    `${before}\nwere=${kept}`,
  );
  expect(output.trim().split("\n")).toEqual([JSON.stringify(hard), "B=plain", "unset", "same"]);
  expect(errorOutput).not.toMatch(/^repoconf:|unbound/m);
});

test.concurrent("the hook for bash bears a PWD that is no absolute path: a shell that began in a deleted folder", async context => {
  context.skip(!isThere.bash, "bash");
  const { home, folder, shell } = await openShell("bash");
  const { output } = await shell.type([
    "mkdir gone; cd gone; rmdir ../gone",
    `env -u PWD bash --noprofile --rcfile '${home.workFolder}/bashrc' -i`,
    "cd .",
    `echo "at $PWD \${B-none}"`,
    `cd ${quoted(folder)}`,
    'echo "B=$B"',
    "exit",
  ]);
  expect(output.trim().split("\n")).toEqual(["at . none", "B=plain"]);
});
