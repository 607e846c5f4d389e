import { Argument, type Command } from "commander";
import { type HookShell, hookScript, hookShells } from "../environment/hook-scripts.ts";

/** `repoconf hook SHELL`: prints the script that a shell evaluates at its start. */
export function addHookCommand(program: Command): void {
  program
    .command("hook")
    .addArgument(shellArgument())
    .summary("print a script that loads the environment on entering a repository's folder")
    .description(
      'print a script that loads the environment on entering a repository\'s folder, and unloads it on leaving\n\n  eval "$(repoconf hook bash)"   at the end of ~/.bashrc\n  eval "$(repoconf hook zsh)"    at the end of ~/.zshrc\n\nIt loads the same environment that repoconf env prints. A prompt starts a program only after the folder or the repository\'s file has changed, and never starts a daemon without --start.',
    )
    .option("--start", "on entering a folder, start a daemon in the background if none is running")
    .action(async (shell: HookShell, { start }: { readonly start?: boolean }) => {
      const { print } = await import("../output/terminal.ts");
      print(
        ...hookScript(shell, start === true, [process.execPath, ...process.argv.slice(1, 2)])
          .trimEnd()
          .split("\n"),
      );
    });
}

/** The hidden `repoconf hook-load SHELL` that the scripts call. */
export function addHookLoadCommand(program: Command): void {
  program
    .command("hook-load", { hidden: true })
    .addArgument(shellArgument())
    .option("--start", "start a daemon if none is running")
    .action(async (shell: HookShell, { start }: { readonly start?: boolean }) => {
      const { printHookCode } = await import("../environment/hook-load.ts");
      await printHookCode(shell, start === true);
    });
}

function shellArgument(): Argument {
  return new Argument("<shell>", "the shell to print the hook for").choices(hookShells);
}
