import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CommandHome, withCommand } from "./command-home.ts";
import { runProcess } from "./spawned-daemon.ts";

const start = {
  bash: ["--noprofile", "--rcfile"],
  // Reads .zshrc from ZDOTDIR.
  zsh: ["-d"],
};

const curlCommand = spawnSync("sh", ["-c", "command -v curl"], { encoding: "utf8" }).stdout?.trim() || "false";

export type ShellName = keyof typeof start;

export function isShellThere(name: string): boolean {
  return process.platform !== "win32" && spawnSync(name, ["-c", "true"]).status === 0;
}

/** An interactive shell with `repoconf` on its path. */
export async function makePromptingShell(home: CommandHome, name: ShellName, hookArguments: readonly string[] = []) {
  const log = join(home.workFolder, "calls.log");
  const hook = join(home.workFolder, "hook");
  await writeFile(log, "");
  const logged = `printf '%s\\n' "$*" >>'${log}'`;
  const environment = await withCommand(home, logged);
  const curl = join(home.workFolder, "bin", "curl");
  await writeFile(curl, `#!/bin/sh\n${logged}\nexec ${curlCommand} "$@"\n`, { mode: 0o755 });
  /** zsh asks by a socket of its own. */
  const noted = `zsocket() { print -r -- "zsocket $*" >>'${log}'; builtin zsocket "$@" }`;
  // What `repoconf hook` prints is evaluated as it stands: it is asked here, where that starts no process.
  await writeFile(hook, await home.succeed(["hook", name, ...hookArguments]));
  return {
    /** Types the lines into a new shell, each at its own prompt; `before`: the lines of its startup file before the hook. */
    type: async (lines: readonly string[], before = "") => {
      const file = join(home.workFolder, name === "bash" ? "bashrc" : ".zshrc");
      await writeFile(
        file,
        `PS1='' PS2=''\nunset HISTFILE\n${name === "zsh" ? noted : ""}\n${before}\neval "$(cat '${hook}')"\n`,
      );
      return runProcess(name, [...start[name], ...(name === "bash" ? [file] : []), "-i"], {
        folder: home.workFolder,
        input: `${lines.join("\n")}\n`,
        environment: { ...environment, ZDOTDIR: home.workFolder, TERM: "dumb" },
      });
    },
    /** The arguments of every repoconf and curl started so far, and of zsh's sockets, one line each. */
    calls: async () => (await readFile(log, "utf8")).split("\n").filter(line => line !== ""),
  };
}
