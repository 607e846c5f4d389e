import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CommandHome, hasTerminal, withCommand } from "./command-home.ts";
import { until } from "./daemon.ts";
import { type Finished, runProcess, startProcess } from "./spawned-daemon.ts";

const start = {
  bash: ["--noprofile", "--rcfile"],
  // Reads .zshrc from ZDOTDIR.
  zsh: ["-d"],
};

const curlCommand = spawnSync("sh", ["-c", "command -v curl"], { encoding: "utf8" }).stdout?.trim() || "false";

export const hookShellNames = ["bash", "zsh", "fish"] as const;
export type ShellName = (typeof hookShellNames)[number];

export function isShellThere(name: string): boolean {
  return process.platform !== "win32" && spawnSync(name, ["-c", "true"]).status === 0;
}

/** Whether a shell that shows prompts can be started: fish shows none without a terminal. */
export function canPrompt(name: ShellName): boolean {
  return isShellThere(name) && (name !== "fish" || hasTerminal);
}

/** An interactive shell with `repoconf` on its path. */
export async function makePromptingShell(home: CommandHome, name: ShellName, hookArguments: readonly string[] = []) {
  const log = join(home.workFolder, "calls.log");
  const hook = join(home.workFolder, "hook");
  await writeFile(log, "");
  const logged = `printf '%s\\n' "$*" >>'${log}'`;
  const environment = {
    ...(await withCommand(home, logged)),
    ...{ ZDOTDIR: home.workFolder, XDG_CONFIG_HOME: home.workFolder, XDG_DATA_HOME: join(home.workFolder, "data") },
    TERM: "dumb",
  };
  const curl = join(home.workFolder, "bin", "curl");
  await writeFile(curl, `#!/bin/sh\n${logged}\nexec ${curlCommand} "$@"\n`, { mode: 0o755 });
  /** zsh asks by a socket of its own. */
  const noted = `zsocket() { print -r -- "zsocket $*" >>'${log}'; builtin zsocket "$@" }`;
  if (name === "fish") await withoutManualPages(environment.XDG_DATA_HOME);
  // What `repoconf hook` prints is evaluated as it stands: it is asked here, where that starts no process.
  await writeFile(hook, await home.succeed(["hook", name, ...hookArguments]));
  return {
    /** Types the lines into a new shell, each at its own prompt; `before`: the lines of its startup file before the hook. */
    type: async (lines: readonly string[], before = ""): Promise<Finished> => {
      if (name === "fish") return typeIntoFish(home, lines, `${before}\nsource '${hook}'`, environment);
      const file = join(home.workFolder, name === "bash" ? "bashrc" : ".zshrc");
      await writeFile(
        file,
        `PS1='' PS2=''\nunset HISTFILE\n${name === "zsh" ? noted : ""}\n${before}\neval "$(cat '${hook}')"\n`,
      );
      return runProcess(name, [...start[name], ...(name === "bash" ? [file] : []), "-i"], {
        folder: home.workFolder,
        input: `${lines.join("\n")}\n`,
        environment,
      });
    },
    /** The arguments of every repoconf and curl started so far, and of zsh's sockets, one line each. */
    calls: async () => (await readFile(log, "utf8")).split("\n").filter(line => line !== ""),
  };
}

/** Keeps fish from making completions of all manual pages at its first start with a folder of data, which takes seconds. */
export async function withoutManualPages(dataFolder: string): Promise<void> {
  await mkdir(join(dataFolder, "fish/generated_completions"), { recursive: true });
}

/** Keys that a test presses, instead of a line that is run: they are typed as they are. */
export const keys = (text: string) => `keys:${text}`;

/**
 * fish shows prompts on a terminal only, which also shows what is typed. So each line is in a file, and what is typed runs it with its
 * output in another one. Lines that start another shell, or end one, are typed themselves.
 */
async function typeIntoFish(
  { workFolder }: CommandHome,
  lines: readonly string[],
  config: string,
  environment: { readonly [name: string]: string },
): Promise<Finished> {
  const [output, errorOutput] = [join(workFolder, "fish.out"), join(workFolder, "fish.err")];
  await mkdir(join(workFolder, "fish"), { recursive: true });
  for (const file of [output, errorOutput]) await writeFile(file, "");
  const prompt = `function fish_prompt\nset -g prompts (math "0$prompts + 1")\necho "<$fish_pid.$prompts>"\nend`;
  await writeFile(join(workFolder, "fish/config.fish"), `set -g fish_greeting\n${prompt}\n${config}\n`);
  using terminal = startProcess(
    "script",
    ["--quiet", "--return", "--command", `exec fish 2>>'${errorOutput}'`, "/dev/null"],
    { folder: workFolder, environment },
  );
  let isOver = false;
  void terminal.ended.then(() => {
    isOver = true;
  });
  let seen = 0;
  for (const [index, line] of [...lines, "exit"].entries()) {
    // A prompt may be shown again.
    const prompts = () => new Set(terminal.output().match(/<\d+\.\d+>/g)).size;
    await until(() => isOver || prompts() > seen, `a prompt before ${line}`);
    seen = prompts();
    const file = join(workFolder, `line${index}.fish`);
    await writeFile(file, `${line}\n`);
    const isOfShells = line === "exit" || line.endsWith(" -i");
    const typed = isOfShells ? line : `source '${file}' >>'${output}'`;
    terminal.process.stdin.write(line.startsWith("keys:") ? line.slice(5) : `${typed}\r`);
  }
  const code = await terminal.ended;
  return { code, output: await readFile(output, "utf8"), errorOutput: await readFile(errorOutput, "utf8") };
}
