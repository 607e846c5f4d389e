import { spawnSync } from "node:child_process";
import type { CommandHome } from "./command-home.ts";
import { until } from "./daemon.ts";
import { type RunningProcess, type RunOptions, repoconfCommand, startProcess } from "./spawned-daemon.ts";

/** The command `script` of util-linux gives a command a terminal. */
export const hasTerminal = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

/** Starts `repoconf ARGS` on a terminal. `process.stdin` is what a person types, `output` what the terminal shows. */
export function startOnTerminal(home: CommandHome, args: readonly string[], options: RunOptions = {}): RunningProcess {
  const words = [process.execPath, repoconfCommand, ...args].map(word => `'${word}'`).join(" ");
  // A shell in between would be ended by Ctrl+C itself, and its exit code would be the test's.
  return startProcess("script", ["--quiet", "--return", "--command", `exec ${words}`, "/dev/null"], {
    folder: home.workFolder,
    ...options,
    environment: { REPOCONF_HOME: home.homeFolder, ...options.environment },
  });
}

/** Starts `repoconf ARGS` on a terminal and waits until it asks. */
export async function askOnTerminal(home: CommandHome, args: readonly string[]) {
  const { process: terminal, output, ended } = startOnTerminal(home, args);
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  await until(() => isOver || output().includes("[y/N]"), "the question");
  if (isOver) throw new Error(`repoconf ${args.join(" ")} asked nothing: ${output()}`);
  return {
    shown: output,
    /** Types the answer and waits for the exit code. */
    answer: (text: string) => {
      terminal.stdin.write(`${text}\n`);
      return ended;
    },
  };
}
