import { mkdir } from "node:fs/promises";
import { join } from "node:path";
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

/** Prints a number that is another one after the shell has started any process, and waited for it. */
export const countChildren: { readonly [name in ShellName]: string } = {
  // The page faults of all children.
  bash: `read -r -a words </proc/$$/stat; echo "faults \${words[10]}"`,
  zsh: `IFS= read -r line </proc/$$/stat && words=(\${=line}); echo "faults \${words[11]}"`,
};
