import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { repoconfCommand } from "../helpers/spawned-daemon.ts";
import { atMost, type Compared, compare } from "./compare.ts";
import type { Contender } from "./figures.ts";
import { makeHome } from "./homes.ts";
import type { Row, Section } from "./section.ts";

const shells = ["bash", "zsh"] as const;
type Shell = (typeof shells)[number];

/** Prints the average microseconds of the second function, each time after the first one was called; the third one goes back. */
const measuring: { readonly [shell in Shell]: string } = {
  bash: `sum=0; for ((left = times; left > 0; left--)); do before; begin=\${EPOCHREALTIME/./}; prompt; end=\${EPOCHREALTIME/./}; sum=$((sum + end - begin)); after; done; echo $((sum / times))`,
  zsh: `zmodload zsh/datetime; typeset -F sum=0 begin; for ((left = times; left > 0; left--)); do before; begin=$EPOCHREALTIME; prompt; ((sum += EPOCHREALTIME - begin)); after; done; echo $((sum * 1000000 / times))`,
};

/** What a shell does at a prompt after a `cd`. */
export const hook: Section = {
  name: "hook",
  title: "The prompt of a shell with the hook",
  run: async machine => {
    const folder = await machine.newFolder("shop");
    const home = await makeHome(machine, machine.short ? 10 : 1_000);
    await using _daemon = await machine.daemon(home);
    const inHome = { REPOCONF_HOME: home };
    const repoconf = (...args: string[]) =>
      machine.output(process.execPath, [repoconfCommand, ...args], folder, inHome);
    await mkdir(join(folder, "src/deep"), { recursive: true });
    await repoconf("repo", "add", folder, "--id", "shop");
    await repoconf("set", "svc.envvars.A=1", "svc.envvars.B=2", "svc.envvars.C=3");
    await writeFile(join(folder, ".envrc"), "export A=1 B=2 C=3\n");
    const withDirenv = machine.has("direnv");
    const ofDirenv = { XDG_DATA_HOME: await machine.newFolder("direnv"), DIRENV_LOG_FORMAT: "" };
    if (withDirenv) await machine.output("direnv", ["allow", folder], folder, ofDirenv);
    const rows: Row[] = [];
    for (const shell of shells.filter(machine.has)) {
      const script = join(await machine.newFolder(shell), "hook");
      await writeFile(script, await repoconf("hook", shell));
      const ours = `eval "$(cat '${script}')"`;
      const run = (name: string, setUp: string, before: string, after: string): Contender => ({
        name,
        run: async () => {
          const times = machine.short ? 3 : 50;
          const program = `times=${times}; ${setUp}; before() { ${before}; }; after() { ${after}; }; ${measuring[shell]}`;
          const options = shell === "bash" ? ["--noprofile", "--norc"] : ["-d", "-f"];
          const printed = await machine.output(shell, [...options, "-c", program], folder, { ...inHome, ...ofDirenv });
          return Number(printed) / 1_000;
        },
      });
      // From the cd on: under zsh, direnv loads at the cd already, and asks again at the prompt.
      const enter = (name: string, setUp: string, atPrompt: string) => {
        const [loads, isUnset, isSet] = [`cd '${folder}'; ${atPrompt}`, '[ -z "$A" ] || exit', '[ "$A" = 1 ] || exit'];
        return run(name, `${setUp}; prompt() { ${loads}; }`, `cd /; ${atPrompt}; ${isUnset}`, isSet);
      };
      const direnv = enter("direnv", `eval "$(direnv hook ${shell})"`, "_direnv_hook");
      const beside = (goal: number): Compared[] => (withDirenv ? [{ contender: direnv, goal: atMost(goal) }] : []);
      const asks = shell === "bash" ? "by curl" : "by its own socket";
      const entering = `${shell}, cd into a folder and its prompt`;
      const asked = enter("hook", ours, "__repoconf_hook");
      rows.push(...(await compare(machine, `${entering}, ${asks}`, "ms", asked, beside(0.6))));
      // Each answer of the command lets the script ask the daemon itself.
      const byCommand = enter("hook", ours, "__repoconf_checked=; __repoconf_hook");
      rows.push(...(await compare(machine, `${entering}, by the command`, "ms", byCommand, beside(1.5))));
      const inside = `${ours}; prompt() { __repoconf_hook; }; cd '${folder}'; prompt`;
      const moving = run("cd", inside, `cd '${folder}/src/deep'`, `cd '${folder}'; prompt`);
      const staying = run("nothing changed", `${inside}; cd '${folder}/src/deep'; prompt`, ":", ":");
      const goal = atMost(3);
      const within = `${shell}, prompt after a cd within a repository`;
      rows.push(...(await compare(machine, within, "ms", moving, [{ contender: staying, goal }])));
    }
    return rows;
  },
};
