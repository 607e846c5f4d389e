import { realpathSync } from "node:fs";
import packageJson from "../../../package.json" with { type: "json" };
import type { HookShell } from "../../../shared/protocol.ts";
import { shellQuoted } from "../../../shared/shell-quoted.ts";
import { markName } from "../../hook/marks.ts";
import { largestFile } from "../../hook/stamps.ts";
import { checkedLine } from "./checked-line.ts";
import { bashParts } from "./hook-bash.ts";
import { posixMachine } from "./hook-machine.ts";
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
  const words: { readonly [name: string]: string } = {
    MOST: String(largestFile + 1),
    MARK: markName,
    VERSION: packageJson.version,
    SHELL: shell,
    FIRST: shell === "bash" ? "0" : "1",
    START: starts ? "--start " : "",
    START_FLAG: starts ? "1" : "",
    SELF: self.map(shellQuoted).join(" "),
    HOME: shellQuoted(withoutLinks(home)),
    CHECKED: checkedLine() === "" ? "" : "1",
  };
  const parts = { bash: bashParts, zsh: zshParts };
  const script = (posixMachine + posixVariables + parts[shell]).replace(
    /__([A-Z_]+?)__/g,
    (text, name: string) => words[name] ?? text,
  );
  const title = `# Repoconf's hook for ${shell}: eval "$(repoconf hook ${shell})"\n`;
  if (shell === "zsh") {
    // zsh parses and runs the script with default options and without the user's aliases.
    return `${title}emulate zsh -o no_aliases -c ${shellQuoted(script)}\n`;
  }
  return `${title}if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
  echo "repoconf: the hook needs bash 4.4 or a newer one." >&2
else
${script.trim()}
fi
`;
}

/** The path without links, or as given if there is no such folder yet. */
function withoutLinks(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
