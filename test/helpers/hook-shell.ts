import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fishQuoted } from "../../shared/shell-quoted.ts";
import { type CommandHome, makeServedHome } from "./command-home.ts";
import { makePromptingShell, type ShellName } from "./prompting-shell.ts";

/** One home for all tests of a file, with a place of its own for each. */
export async function makeHookHome() {
  let places = 0;
  const shared = await makeServedHome();
  /** A folder of its own for a test. */
  const makePlace = async (): Promise<CommandHome> => {
    const workFolder = join(shared.workFolder, `place${++places}`);
    await mkdir(workFolder);
    return { ...shared, workFolder };
  };
  return {
    makePlace,
    /** A shell with the hook, which is not yet in the folder of its new repository. */
    openShell: async (name: ShellName, ...repository: readonly [name?: string, options?: readonly string[]]) => {
      const home = await makePlace();
      const folder = await makeRepository(home, ...repository);
      return { home, folder, shell: await makePromptingShell(home, name) };
    },
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
}

/** A text that only exact quoting brings into a variable. */
export const hard = 'it\'s\n"two" $HOME `id` \\ \\n ! ünï\n';

/** The folder of a new repository of this place, which has variables A and B. */
export async function makeRepository(place: CommandHome, name = "shop", options: readonly string[] = []) {
  const folder = join(place.workFolder, name);
  await mkdir(folder, { recursive: true });
  await place.succeed(["repo", "add", folder, ...options]);
  await setVariables(place, folder, { A: hard, B: "plain" });
  return folder;
}

export async function setVariables(
  place: CommandHome,
  folder: string,
  variables: { readonly [name: string]: string },
): Promise<void> {
  const list = Object.entries(variables).map(([name, value]) => ({ name, value }));
  await place.succeed(["set", `svc.envvars=${JSON.stringify(list)}`], { folder });
}

/** How often the daemon was asked: by zsh's own socket, by curl or by the command. */
export function loads(calls: readonly string[]): number {
  return calls.filter(call => /^(hook-load|zsocket|-q )/.test(call)).length;
}

/** Prints a variable as one line of JSON, so that no character is lost. */
export const show = (name: string) => `'${process.execPath}' -p 'JSON.stringify(process.env.${name}) ?? "unset"'`;

export const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The words of a shell that the tests need. */
interface Words {
  /** Sets a variable, which becomes exported. */
  exported(name: string, text: string): string;
  /** Sets a variable, which stays exported if it was. */
  set(name: string, text: string): string;
  unset(name: string): string;
  /** Prints `A=text B=none` in one line. */
  say(...names: string[]): string;
  /** Ends with this status. */
  leave(code: number): string;
  /** The last status. */
  readonly status: string;
  /** Starts a shell inside, with this in front, such as `env -i`. */
  inner(home: CommandHome, before?: string): string;
  /** What a shell inside needs to find its startup file. */
  scrubbed(home: CommandHome): string;
  /** Prints a number that is another one after the shell has started any process, and waited for it: the page faults of all children. */
  readonly countChildren: string;
}

const posix = {
  exported: (name: string, text: string) => `export ${name}=${quoted(text)}`,
  set: (name: string, text: string) => `${name}=${quoted(text)}`,
  unset: (name: string) => `unset ${name}`,
  say: (...names: string[]) => `echo "${names.map(name => `${name}=\${${name}-none}`).join(" ")}"`,
  leave: (code: number) => `(exit ${code})`,
  status: "$?",
  scrubbed: ({ workFolder }: CommandHome) => `env -i PATH="$PATH" ZDOTDIR='${workFolder}' TERM=dumb`,
};

export const words: { readonly [name in ShellName]: Words } = {
  bash: {
    ...posix,
    inner: ({ workFolder }, before = "") => `${before} bash --noprofile --rcfile '${workFolder}/bashrc' -i`,
    countChildren: `read -r -a words </proc/$$/stat; echo "faults \${words[10]}"`,
  },
  zsh: {
    ...posix,
    inner: (_home, before = "") => `${before} zsh -d -i`,
    countChildren: `IFS= read -r line </proc/$$/stat && words=(\${=line}); echo "faults \${words[11]}"`,
  },
  fish: {
    exported: (name, text) => `set -gx ${name} ${fishQuoted(text)}`,
    set: (name, text) => `set ${name} ${fishQuoted(text)}`,
    unset: name => `set -e ${name}`,
    say: (...names) =>
      `begin; set -l said; for name in ${names.join(" ")}; set -q $name; and set -a said "$name=$$name"; or set -a said $name=none; end; echo $said; end`,
    leave: code => `sh -c 'exit ${code}'`,
    status: "$status",
    inner: (_home, before = "") => `${before} fish -i`,
    scrubbed: ({ workFolder }) =>
      `env -i PATH="$PATH" XDG_CONFIG_HOME='${workFolder}' XDG_DATA_HOME='${workFolder}/data' TERM=dumb`,
    countChildren: `read -l line </proc/$fish_pid/stat; set -l words (string split ' ' $line); echo faults $words[11]`,
  },
};
