import { spawnSync } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandHome } from "./command-home.ts";
import { type Finished, repoconfCommand, runProcess } from "./spawned-daemon.ts";

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
  const bin = join(home.workFolder, "bin");
  const log = join(home.workFolder, "calls.log");
  const hook = join(home.workFolder, "hook");
  await mkdir(bin, { recursive: true });
  await writeFile(log, "");
  // What `repoconf hook` prints is evaluated as it stands: it is asked here, where that starts no process.
  await writeFile(hook, await home.succeed(["hook", name, ...hookArguments]));
  await writeFile(
    join(bin, "repoconf"),
    `#!/bin/sh\nprintf '%s\\n' "$*" >>'${log}'\nexec '${process.execPath}' '${repoconfCommand}' "$@"\n`,
  );
  await chmod(join(bin, "repoconf"), 0o755);
  return {
    type: async (lines, before = "") => {
      const file = join(home.workFolder, name === "bash" ? "bashrc" : ".zshrc");
      await writeFile(file, `PS1='' PS2=''\nunset HISTFILE\n${before}\neval "$(cat '${hook}')"\n`);
      return runProcess(name, [...start[name], ...(name === "bash" ? [file] : []), "-i"], {
        folder: home.workFolder,
        input: `${lines.join("\n")}\n`,
        environment: {
          PATH: `${bin}:${process.env["PATH"]}`,
          REPOCONF_HOME: home.homeFolder,
          ZDOTDIR: home.workFolder,
          TERM: "dumb",
        },
      });
    },
    calls: async () => (await readFile(log, "utf8")).split("\n").filter(line => line !== ""),
  };
}
