import { Argument, type Command } from "commander";
import type { HookShell } from "../../../shared/protocol.ts";
import { homeFolder } from "../../home/home.ts";
import { hookShells } from "../../hook/lines.ts";
import { addOptions } from "../command-options.ts";
import { hookScript } from "../hook/hook-scripts.ts";
import { hookRows } from "../options.ts";
import { print } from "../output/terminal.ts";

export interface HookOptions {
  readonly start?: boolean;
}

/** `repoconf hook SHELL`: prints the script that a shell evaluates at its start. */
export function addHookCommand(program: Command): void {
  addOptions(program.command("hook"), hookRows)
    .addArgument(shellArgument())
    .summary("print a script that loads the environment on entering a repository's folder")
    .description(
      'print a script that loads the environment on entering a repository\'s folder, and unloads it on leaving\n\n  eval "$(repoconf hook bash)"   at the end of ~/.bashrc\n  eval "$(repoconf hook zsh)"    at the end of ~/.zshrc\n  status is-interactive; and repoconf hook fish | source   at the end of ~/.config/fish/config.fish\n  repoconf hook pwsh | Out-String | Invoke-Expression   at the end of the file that $PROFILE names\n\nIt loads the same environment that repoconf env prints. A prompt starts a program only after the folder or the repository\'s file has changed, and never starts a daemon without --start.',
    )
    .action(printHook);
}

export function printHook(shell: HookShell, { start }: HookOptions): void {
  const self = [process.execPath, ...process.argv.slice(1, 2)];
  print(
    ...hookScript(shell, { starts: start === true, self, home: homeFolder(undefined) })
      .trimEnd()
      .split("\n"),
  );
}

/** The hidden `repoconf hook-load SHELL` that the scripts call. */
export function addHookLoadCommand(program: Command): void {
  program
    .command("hook-load", { hidden: true })
    .addArgument(shellArgument())
    .option("--start", "start a daemon if none is running")
    .action(async (shell: HookShell, { start }: { readonly start?: boolean }) => {
      const { printHookLines } = await import("../environment/hook-load.ts");
      await printHookLines(shell, start === true);
    });
}

function shellArgument(): Argument {
  return new Argument("<shell>", "the shell to print the hook for").choices(hookShells);
}
