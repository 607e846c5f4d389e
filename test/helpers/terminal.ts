import { spawn, spawnSync } from "node:child_process";
import type { CommandHome } from "./command-home.ts";
import { until } from "./daemon.ts";
import { repoconfCommand } from "./spawned-daemon.ts";

/** The command `script` of util-linux gives a command a terminal. */
export const hasTerminal = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

/** A command that runs on a terminal, up to its question. */
export interface AskingCommand {
  readonly shown: () => string;
  /** Types the answer and waits for the exit code. */
  answer(text: string): Promise<number | null>;
}

/** Starts `repoconf ARGS` on a terminal and waits until it asks. */
export async function askOnTerminal(home: CommandHome, args: readonly string[]): Promise<AskingCommand> {
  const command = [process.execPath, repoconfCommand, ...args].map(word => `'${word}'`).join(" ");
  const terminal = spawn("script", ["-qec", command, "/dev/null"], {
    cwd: home.workFolder,
    env: { ...process.env, REPOCONF_HOME: home.homeFolder },
  });
  let shown = "";
  terminal.stdout.on("data", part => {
    shown += String(part);
  });
  const ended = new Promise<number | null>(resolve => terminal.once("exit", resolve));
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  await until(() => isOver || shown.includes("[y/N]"), "the question");
  if (isOver) throw new Error(`repoconf ${args.join(" ")} asked nothing: ${shown}`);
  return {
    shown: () => shown,
    answer: text => {
      terminal.stdin.write(`${text}\n`);
      return ended;
    },
  };
}
