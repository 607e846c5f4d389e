import { realpathSync } from "node:fs";
import packageJson from "../../../package.json" with { type: "json" };
import type { HookShell } from "../../../shared/protocol.ts";
import { fishQuoted, pwshQuoted, shellQuoted } from "../../../shared/shell-quoted.ts";
import { hookWords } from "../../hook/lines.ts";
import { markName } from "../../hook/marks.ts";
import { largestFile } from "../../hook/stamps.ts";
import { socketLine } from "../environment/socket-line.ts";
import { bashParts } from "./hook-bash.ts";
import { fishMachine, fishStart } from "./hook-fish.ts";
import { fishVariables } from "./hook-fish-variables.ts";
import { posixMachine } from "./hook-machine.ts";
import { pwshMachine, pwshStart } from "./hook-pwsh.ts";
import { pwshVariables } from "./hook-pwsh-variables.ts";
import { posixVariables } from "./hook-variables.ts";
import { zshParts } from "./hook-zsh.ts";

export interface HookScriptOptions {
  /** Whether it starts a daemon if none is running. */
  readonly starts: boolean;
  /** The command to use if `repoconf` is not on the PATH. */
  readonly self: readonly string[];
  /** The folder of the home. */
  readonly home: string;
}

/** The script that `repoconf hook SHELL` prints. */
export function hookScript(shell: HookShell, { starts, self, home }: HookScriptOptions): string {
  const { parts, quoted, titled } = shells[shell];
  const words: { readonly [name: string]: string } = {
    MOST: String(largestFile + 1),
    MARK: markName,
    MADE: hookWords,
    VERSION: packageJson.version,
    SHELL: shell,
    FIRST: shell === "bash" ? "0" : "1",
    START: starts ? "--start " : "",
    START_FLAG: starts ? "1" : "",
    SELF: self.map(quoted).join(" "),
    HOME: quoted(withoutLinks(home)),
    CHECKED: socketLine(shell) === "" ? "" : "1",
  };
  return titled(parts.replace(/__([A-Z_]+?)__/g, (text, name: string) => words[name] ?? text).trim());
}

interface ShellScript {
  readonly parts: string;
  quoted(text: string): string;
  /** With what is before and after it. */
  titled(script: string): string;
}

const title = (shell: HookShell, line: string) => `# Repoconf's hook for ${shell}: ${line}\n`;

const shells: { readonly [shell in HookShell]: ShellScript } = {
  bash: {
    parts: posixMachine + posixVariables + bashParts,
    quoted: shellQuoted,
    // The functions are read without the user's aliases; each line is run before the next one is read.
    titled: script => `${title("bash", 'eval "$(repoconf hook bash)"')}__repoconf_aliases=$BASHOPTS
\\shopt -u expand_aliases
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
  echo "repoconf: the hook needs bash 4.4 or a newer one." >&2
else
${script}
fi
if [[ :$__repoconf_aliases: == *:expand_aliases:* ]]; then
  shopt -s expand_aliases
fi
\\unset -v __repoconf_aliases
`,
  },
  zsh: {
    parts: posixMachine + posixVariables + zshParts,
    quoted: shellQuoted,
    // zsh parses and runs the script with default options and without the user's aliases.
    titled: script =>
      `${title("zsh", 'eval "$(repoconf hook zsh)"')}emulate zsh -o no_aliases -c ${shellQuoted(`\n${script}\n`)}\n`,
  },
  fish: {
    parts: fishMachine + fishVariables + fishStart,
    quoted: fishQuoted,
    titled: script => `${title("fish", "repoconf hook fish | source")}${script}\n`,
  },
  pwsh: {
    parts: pwshMachine + pwshVariables + pwshStart,
    quoted: pwshQuoted,
    // Only a shell in full language mode may use .NET. What is missing in Windows PowerShell, which it can parse, it never calls.
    titled: script => `${title("pwsh", "repoconf hook pwsh | Out-String | Invoke-Expression")}if (
    $ExecutionContext.SessionState.LanguageMode -ne 'FullLanguage' -or
    [System.Environment]::Version.Major -lt 8
) {
    Microsoft.PowerShell.Utility\\Write-Warning 'repoconf: the hook needs PowerShell 7.4 or a newer one, in full language mode.'
} else {
${script}
}
`,
  },
};

/** The path without links, or as given if there is no such folder yet. */
function withoutLinks(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
