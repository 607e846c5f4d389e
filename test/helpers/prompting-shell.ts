import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CommandHome, withCommand } from "./command-home.ts";
import { type Finished, runProcess } from "./spawned-daemon.ts";

/** An interactive shell with `repoconf` on its path. */
export interface PromptingShell {
  /** Types the lines into a new shell, each at its own prompt; `before`: the lines of its startup file before the hook. */
  type(lines: readonly string[], before?: string): Promise<Finished>;
  /** The arguments of every repoconf started so far, one line each. */
  calls(): Promise<readonly string[]>;
}

const start = {
  bash: ["--noprofile", "--rcfile"],
  // Reads .zshrc from ZDOTDIR.
  zsh: ["-d"],
};

export type ShellName = keyof typeof start;

export function isShellThere(name: string): boolean {
  return process.platform !== "win32" && spawnSync(name, ["-c", "true"]).status === 0;
}

export async function makePromptingShell(
  home: CommandHome,
  name: ShellName,
  hookArguments: readonly string[] = [],
): Promise<PromptingShell> {
  const log = join(home.workFolder, "calls.log");
  const hook = join(home.workFolder, "hook");
  await writeFile(log, "");
  const environment = await withCommand(home, `printf '%s\\n' "$*" >>'${log}'`);
  // What `repoconf hook` prints is evaluated as it stands: it is asked here, where that starts no process.
  await writeFile(hook, await home.succeed(["hook", name, ...hookArguments]));
  return {
    type: async (lines, before = "") => {
      const file = join(home.workFolder, name === "bash" ? "bashrc" : ".zshrc");
      await writeFile(file, `PS1='' PS2=''\nunset HISTFILE\n${before}\neval "$(cat '${hook}')"\n`);
      return runProcess(name, [...start[name], ...(name === "bash" ? [file] : []), "-i"], {
        folder: home.workFolder,
        input: `${lines.join("\n")}\n`,
        environment: { ...environment, ZDOTDIR: home.workFolder, TERM: "dumb" },
      });
    },
    calls: async () => (await readFile(log, "utf8")).split("\n").filter(line => line !== ""),
  };
}
