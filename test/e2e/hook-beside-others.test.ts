import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeHookHome, makeRepository, quoted, setVariables } from "../helpers/hook-shell.ts";
import { isShellThere, makePromptingShell, type ShellName } from "../helpers/prompting-shell.ts";
import { titleWith } from "../helpers/skips.ts";

const hookHome = await makeHookHome();
afterAll(() => hookHome[Symbol.asyncDispose]());
const { makePlace, openShell } = hookHome;

const hasDirenv = spawnSync("direnv", ["version"]).status === 0;

/** A hook that takes back blindly what it has set, as mise's: in front of the others, when it is added. */
const miseLike: { readonly [name in ShellName]: string } = {
  bash: `_mise_hook() { case $PWD/ in */of-mise/*) if [[ -z \${MISE_BEFORE+x} ]]; then MISE_BEFORE=\${BOTH-}; export BOTH=mise; fi ;; *) if [[ -n \${MISE_BEFORE+x} ]]; then export BOTH=$MISE_BEFORE; unset MISE_BEFORE; fi ;; esac; }
PROMPT_COMMAND="_mise_hook\${PROMPT_COMMAND:+;$PROMPT_COMMAND}"`,
  zsh: `_mise_hook() { case $PWD/ in (*/of-mise/*) if [[ -z \${MISE_BEFORE+x} ]]; then typeset -g MISE_BEFORE=\${BOTH-}; export BOTH=mise; fi ;; (*) if [[ -n \${MISE_BEFORE+x} ]]; then export BOTH=$MISE_BEFORE; unset MISE_BEFORE; fi ;; esac; }
precmd_functions=(_mise_hook $precmd_functions); chpwd_functions=(_mise_hook $chpwd_functions)`,
};

function testsIn(name: ShellName): void {
  const others = {
    direnv: { hook: `eval "$(direnv hook ${name})"`, isThere: hasDirenv },
    mise: { hook: miseLike[name], isThere: true },
  };
  for (const [other, { hook, isThere }] of Object.entries(others))
    for (const order of ["before", "after"] as const)
      test.skipIf(!isThere)(
        titleWith(isThere, other, `with ${other}'s hook ${order} this one, every way in and out ends where it began`),
        async () => {
          const home = await makePlace();
          // Both in one folder, either above the other.
          for (const path of ["shop/of-mise/shop2", "of-mise/shop3"]) {
            await mkdir(join(home.workFolder, path), { recursive: true });
            await writeFile(join(home.workFolder, path, "..", ".envrc"), "export BOTH=direnv ITS=1\n");
          }
          await writeFile(join(home.workFolder, "shop/.envrc"), "export BOTH=direnv ITS=1\n");
          for (const path of ["shop", "shop/of-mise/shop2", "of-mise/shop3"]) {
            const folder = await makeRepository(home, path);
            await setVariables(home, folder, { BOTH: path, OURS: path });
          }
          const shell = await makePromptingShell(home, name);
          const allow = other === "direnv" ? "direnv allow of-mise; direnv allow shop; direnv allow shop/of-mise" : ":";
          const print = `echo "BOTH=\${BOTH-none} OURS=\${OURS-none} ITS=\${ITS-none}"`;
          const ways = ["shop", "shop/of-mise/shop2", "of-mise/shop3", "shop/of-mise"];
          const lines = [
            allow,
            ...ways.flatMap(way => [`cd ${way}`, print, `cd ${quoted(home.workFolder)}`, print]),
            ...["cd shop", "cd of-mise", "cd shop2", print, "cd ..", "cd ..", "cd ..", print],
            ...["cd shop/of-mise/shop2", "cd ..", "cd ../../of-mise/shop3", print, "cd ..", "cd ..", print],
          ];
          const environment = `export BOTH=before DIRENV_LOG_FORMAT= XDG_DATA_HOME=${quoted(join(home.workFolder, "data"))}`;
          const { output } =
            order === "before"
              ? await shell.type(lines, `${environment}\n${hook}`)
              : await shell.type([hook.replaceAll("\n", "; "), ...lines], environment);
          const printed = output.trim().split("\n");
          const began = printed.filter(line => line === "BOTH=before OURS=none ITS=none");
          expect([began.length, printed.length], output).toEqual([ways.length + 2, 2 * ways.length + 4]);
          // And both were at work in between.
          expect(printed[0]).toMatch(other === "direnv" ? /OURS=shop ITS=1$/ : /^BOTH=shop OURS=shop/);
        },
      );

  test("takes back only what it has set and nobody has changed since", async () => {
    const { home, folder, shell } = await openShell(name);
    await mkdir(join(folder, "src"));
    await setVariables(home, folder, {
      PATH: "/of/shop:/usr/bin:/bin",
      VIRTUAL_ENV: "of shop",
      A: "1",
      B: "2",
      C: "3",
    });
    const { output } = await shell.type([
      "export B=mine; before=$PATH",
      `cd ${quoted(folder)}`,
      'PATH="/venv/bin:$PATH"; export VIRTUAL_ENV=venv; A=changed; unset C; cd src',
      `echo "$PATH $VIRTUAL_ENV $A $B \${C-none}"`,
      // A reload leaves alone what was changed, too.
      "PATH=$before repoconf set svc.envvars.B=4 >/dev/null",
      `echo "$VIRTUAL_ENV $A $B \${C-none}"`,
      "cd /",
      `echo "$PATH $VIRTUAL_ENV $A $B \${C-none}"`,
    ]);
    expect(output.trim().split("\n")).toEqual([
      "/venv/bin:/of/shop:/usr/bin:/bin venv changed 2 none",
      "venv changed 4 none",
      "/venv/bin:/of/shop:/usr/bin:/bin venv changed mine none",
    ]);
  });

  test("in another repository, its value counts, whatever a variable was changed to in this one", async () => {
    const { home, folder, shell } = await openShell(name);
    await setVariables(home, await makeRepository(home, "other"), { A: "same", B: "plain" });
    const { output } = await shell.type([
      "export B=mine",
      `cd ${quoted(folder)}`,
      "B=changed; cd ../other",
      'echo "$A $B"',
      "cd /",
      `echo "\${A-none} $B"`,
    ]);
    expect(output.trim().split("\n")).toEqual(["same plain", "none mine"]);
  });

  test("works in a shell with no environment, and takes what it has not all of for nothing", async () => {
    const { home, folder, shell } = await openShell(name);
    const start = name === "bash" ? `bash --noprofile --rcfile '${home.workFolder}/bashrc' -i` : "zsh -d -i";
    const scrubbed = `env -i PATH="$PATH" ZDOTDIR='${home.workFolder}' TERM=dumb`;
    const { output, errorOutput } = await shell.type(
      [
        `cd ${quoted(folder)}`,
        `${scrubbed} ${start}`,
        'echo "1 $B"; cd /',
        `echo "2 \${B-none}"`,
        "exit",
        // A variable is missing, then the state, then a part of it.
        `env -u B ${start}`,
        'echo "3 $B"; cd /',
        `echo "4 \${B-none}"`,
        "exit",
        `REPOCONF_HOOK_STATE="\${REPOCONF_HOOK_STATE%?}" ${start}`,
        "cd /",
        'echo "5 $B"',
        "exit",
        'echo "6 $B"',
      ],
      "set -eu",
    );
    expect(output.trim().split("\n")).toEqual(["1 plain", "2 none", "3 plain", "4 none", "5 plain", "6 plain"]);
    expect(errorOutput).not.toMatch(/unbound|parameter not set|^repoconf:/m);
  });
}

for (const name of ["bash", "zsh"] as const) {
  const isThere = isShellThere(name);
  const title = titleWith(isThere, name, `the hook for ${name} beside what else changes variables`);
  describe.skipIf(!isThere).concurrent(title, () => testsIn(name));
}

test.concurrent("an exported PROMPT_COMMAND, and a shell that exports everything, bring nothing into a bash without the hook", async context => {
  context.skip(!isShellThere("bash"), "bash");
  const { folder, shell } = await openShell("bash");
  const { output, errorOutput } = await shell.type(
    [
      `cd ${quoted(folder)}`,
      'echo "$B"',
      "bash --norc --noprofile -i",
      'echo "inner $B"',
      "exit",
      "cd /",
      `echo "\${B-none}"`,
    ],
    "set -a; PROMPT_COMMAND='_some_hook;:'; _some_hook() { :; }; export -f _some_hook",
  );
  expect(output.trim().split("\n")).toEqual(["plain", "inner plain", "none"]);
  expect(errorOutput).not.toContain("command not found");
});
