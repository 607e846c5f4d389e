import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeHookHome, makeRepository, quoted, setVariables, words } from "../helpers/hook-shell.ts";
import { canPrompt, hookShellNames, makePromptingShell, type ShellName } from "../helpers/prompting-shell.ts";
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
  fish: `function _mise_hook --on-event fish_prompt
if string match -q '*/of-mise/*' "$PWD/"
if not set -qg MISE_BEFORE; set -g MISE_BEFORE $BOTH; set -gx BOTH mise; end
else if set -qg MISE_BEFORE; set -gx BOTH $MISE_BEFORE; set -eg MISE_BEFORE; end
end`,
};

function testsIn(name: ShellName): void {
  const { exported, set, unset, say, inner, scrubbed } = words[name];
  const others = {
    direnv: {
      hook: name === "fish" ? "direnv hook fish | source" : `eval "$(direnv hook ${name})"`,
      isThere: hasDirenv,
    },
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
          const print = say("BOTH", "OURS", "ITS");
          const ways = ["shop", "shop/of-mise/shop2", "of-mise/shop3", "shop/of-mise"];
          const lines = [
            allow,
            ...ways.flatMap(way => [`cd ${way}`, print, `cd ${quoted(home.workFolder)}`, print]),
            ...["cd shop", "cd of-mise", "cd shop2", print, "cd ..", "cd ..", "cd ..", print],
            ...["cd shop/of-mise/shop2", "cd ..", "cd ../../of-mise/shop3", print, "cd ..", "cd ..", print],
          ];
          const environment = [
            exported("BOTH", "before"),
            exported("DIRENV_LOG_FORMAT", ""),
            exported("XDG_DATA_HOME", join(home.workFolder, "data")),
          ].join("; ");
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
      exported("B", "mine"),
      `cd ${quoted(folder)}`,
      name === "fish" ? "set PATH /venv/bin $PATH" : 'PATH="/venv/bin:$PATH"',
      `${exported("VIRTUAL_ENV", "venv")}; ${set("A", "changed")}; ${unset("C")}; cd src`,
      'echo "$PATH"',
      say("VIRTUAL_ENV", "A", "B", "C"),
      // A reload leaves alone what was changed, too.
      `'${home.workFolder}/bin/repoconf' set svc.envvars.B=4 >/dev/null`,
      say("VIRTUAL_ENV", "A", "B", "C"),
      "cd /",
      `echo "$PATH"; ${say("VIRTUAL_ENV", "A", "B", "C")}`,
    ]);
    expect(output.trim().split("\n")).toEqual([
      "/venv/bin:/of/shop:/usr/bin:/bin",
      "VIRTUAL_ENV=venv A=changed B=2 C=none",
      "VIRTUAL_ENV=venv A=changed B=4 C=none",
      "/venv/bin:/of/shop:/usr/bin:/bin",
      "VIRTUAL_ENV=venv A=changed B=mine C=none",
    ]);
  });

  test("in another repository, its value counts, whatever a variable was changed to in this one", async () => {
    const { home, folder, shell } = await openShell(name);
    await setVariables(home, await makeRepository(home, "other"), { A: "same", B: "plain" });
    const { output } = await shell.type([
      exported("B", "mine"),
      `cd ${quoted(folder)}`,
      `${set("B", "changed")}; cd ../other`,
      'echo "$A $B"',
      "cd /",
      `${say("A")}; echo "$B"`,
    ]);
    expect(output.trim().split("\n")).toEqual(["same plain", "A=none", "mine"]);
  });

  test("works in a shell with no environment, and takes what it has not all of for nothing", async () => {
    const { home, folder, shell } = await openShell(name);
    const { output, errorOutput } = await shell.type(
      [
        `cd ${quoted(folder)}`,
        inner(home, scrubbed(home)),
        'echo "1 $B"; cd /',
        `echo 2; ${say("B")}`,
        "exit",
        // A variable is missing, then the state, then a part of it.
        inner(home, "env -u B"),
        'echo "3 $B"; cd /',
        `echo 4; ${say("B")}`,
        "exit",
        name === "fish"
          ? inner(home, "env REPOCONF_HOOK_STATE=(string sub -e -1 -- $REPOCONF_HOOK_STATE | string collect)")
          : inner(home, `REPOCONF_HOOK_STATE="\${REPOCONF_HOOK_STATE%?}"`),
        "cd /",
        'echo "5 $B"',
        "exit",
        'echo "6 $B"',
      ],
      name === "fish" ? "" : "set -eu",
    );
    const leaving = (number: number) => [`${number}`, "B=none"];
    expect(output.trim().split("\n")).toEqual([
      ...["1 plain", ...leaving(2), "3 plain", ...leaving(4)],
      ...["5 plain", "6 plain"],
    ]);
    expect(errorOutput).not.toMatch(/unbound|parameter not set|^repoconf:/m);
  });
}

for (const name of hookShellNames) {
  const isThere = canPrompt(name);
  const title = titleWith(isThere, name, `the hook for ${name} beside what else changes variables`);
  describe.skipIf(!isThere).concurrent(title, () => testsIn(name));
}

test.concurrent("an exported PROMPT_COMMAND, and a shell that exports everything, bring nothing into a bash without the hook", async context => {
  context.skip(!canPrompt("bash"), "bash");
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
