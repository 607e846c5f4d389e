import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scripts } from "../../../main/cli/completion-scripts.ts";
import { environmentText } from "../../../main/cli/environment/formats.ts";
import { hookScript } from "../../../main/cli/hook/hook-scripts.ts";
import { hookLines } from "../../../main/hook/lines.ts";
import { makePowerShellParser } from "../../helpers/powershell.ts";

const parse = await makePowerShellParser();

const self = ["/usr/bin/node", "/it's/re‘po’.js"];
const hook = hookScript("pwsh", { starts: true, self, home: "/ho'me" });
const everyLine = hookLines(
  {
    ...{ repo: "shop", variables: { A: "a" }, stamps: [{ file: "/f", text: "t" }], note: "n" },
    ...{ needsCommand: true, isTemporary: true, worktree: { folder: "/w", main: "/m" } },
  },
  "pwsh",
);

/** What PowerShell itself has, of what the scripts call. */
const cmdlets =
  /^(Microsoft\.PowerShell\.(Core\\Set-StrictMode|Utility\\(Invoke-Expression|Get-Variable|Write-(Error|Warning)))|Register-ArgumentCompleter|Get-Command)$/;

const awkward = fc.string({
  unit: fc.constantFrom(..."'‘’‚‛\"“”„`$(){}@#;|&<>,-–—=\\ \t\n\r\u0085\u2028aé", "😀", "$(id)", "\n'@", "'@'\n", "#>"),
  maxLength: 12,
});

describe("PowerShell, whose scripts are parsed here and not run", () => {
  test.each<[name: string, script: string]>([
    ["the hook", hook],
    ["completion", scripts.pwsh],
  ])("the script of %s is PowerShell, and calls only what there is", (_name, script) => {
    const { problems, textsOf } = parse(script);
    expect(problems).toEqual([]);
    const functions = textsOf("function_name").map(name => name.replace(/^global:/, ""));
    const unknown = textsOf("command_name").filter(name => !functions.includes(name) && !cmdlets.test(name));
    expect(unknown).toEqual([]);
  });

  test("every variable that the hook keeps is set by it, and every line of an answer is a call or a variable of its script", () => {
    const { textsOf } = parse(hook);
    const set = new Set(textsOf("left_assignment_expression"));
    const used = textsOf("variable").filter(name => name.startsWith("$global:__repoconf_"));
    // Which an answer sets.
    expect(used.filter(name => !set.has(name))).toEqual([]);
    const lines = parse(everyLine);
    const functions = textsOf("function_name");
    expect(lines.problems).toEqual([]);
    expect(lines.textsOf("command_name").filter(name => !functions.includes(`global:${name}`))).toEqual([]);
    expect(lines.textsOf("variable")).toEqual(
      ["needs_command", "is_temporary", "made"].map(name => `$global:__repoconf_${name}`),
    );
    expect(parse(hook).literals).toEqual(expect.arrayContaining([...self, "/ho'me"]));
  });

  test("whatever a value is, it is one literal in the lines of the hook and in what repoconf env prints", () => {
    fc.assert(
      fc.property(awkward, awkward, (a, b) => {
        const variables = { A: a, B: b };
        const answer = parse(hookLines({ repo: "shop", variables, stamps: [{ file: b, text: a }] }, "pwsh"));
        expect([answer.problems, answer.literals]).toEqual([[], ["shop", b, a, "A", a, "B", b, "1"]]);
        expect(answer.textsOf("command_name")).toEqual(["at", "watch", "set", "set"].map(name => `__repoconf_${name}`));
        const printed = parse(environmentText(variables, "pwsh"));
        expect([printed.problems, printed.literals]).toEqual([[], [a, b]]);
      }),
    );
  });
});
