import { repoconfCommand } from "../helpers/spawned-daemon.ts";
import { atMost, type Compared, commandTimeOf, compare, processorTimeOf } from "./compare.ts";
import type { Contender } from "./figures.ts";
import { makeHome } from "./homes.ts";
import type { Machine } from "./machine.ts";
import type { Row, Section } from "./section.ts";

/** The commands, with the goal for their processor time beside that of `node -e 0`. */
const goals: readonly (readonly [goal: number, ...args: string[]])[] = [
  [1.5, "get", "svc.timeout"],
  [1.6, "set", "svc.timeout=30"],
  [1.7, "env"],
  [1.7, "run", "--", "true"],
  [1.7, "complete", "--", "get", "svc.ti"],
];

/** Commands as scripts use them: one process for every value, in the folder of a repository. */
export const cli: Section = {
  name: "cli",
  title: "Commands while the daemon is running, over its Unix socket",
  run: async machine => {
    const folder = await machine.newFolder("shop");
    const home = await homeWith(machine, 1, folder);
    await using _daemon = await machine.daemon(home);
    const inHome = { REPOCONF_HOME: home };
    const node = process.execPath;
    const git = machine.has("git");
    if (git) {
      await machine.time("git", ["init", "--quiet", folder]);
      await machine.time("git", ["config", "svc.timeout", "30"], folder);
    }
    const rows: Row[] = [];
    for (const [goal, ...args] of goals) {
      const name = args.join(" ");
      const others: Compared[] = [
        { contender: processorTimeOf(machine, "node -e 0", node, ["-e", "0"]), goal: atMost(goal) },
      ];
      if (git && args[0] === "get") {
        const read = ["config", "--get", "svc.timeout"];
        others.push({ contender: processorTimeOf(machine, "git config --get", "git", read, folder) });
      }
      const ours = processorTimeOf(machine, name, node, [repoconfCommand, ...args], folder, inHome);
      rows.push(...(await compare(machine, `repoconf ${name}, processor time`, "ms", ours, others)));
    }
    const one = commandTimeOf(machine, "get", node, [repoconfCommand, "get", "svc.timeout"], folder, inHome);
    const goal = { ...atMost(3), text: "under 3" };
    const empty = { contender: commandTimeOf(machine, "node -e 0", node, ["-e", "0"]), goal };
    rows.push(...(await compare(machine, "repoconf get svc.timeout, duration", "ms", one, [empty])));
    return [...rows, ...(await ofManyRepositories(machine, { ...one, name: "with one" }))];
  },
};

async function ofManyRepositories(machine: Machine, one: Contender): Promise<Row[]> {
  const count = machine.short ? 100 : 10_000;
  const folder = await machine.newFolder("shop");
  const home = await homeWith(machine, count, folder);
  await using _daemon = await machine.daemon(home);
  const args = [repoconfCommand, "get", "svc.timeout"];
  const many = commandTimeOf(machine, "with many", process.execPath, args, folder, { REPOCONF_HOME: home });
  const what = `repoconf get svc.timeout with ${count.toLocaleString("en")} repositories, duration`;
  return compare(machine, what, "ms", many, [{ contender: one, goal: atMost(1.1) }]);
}

/** A home with so many repositories, and one for this folder. */
async function homeWith(machine: Machine, repositories: number, folder: string): Promise<string> {
  const home = await makeHome(machine, repositories - 1);
  await using _daemon = await machine.daemon(home);
  await machine.time(process.execPath, [repoconfCommand, "repo", "add", folder, "--id", "shop", "--home", home]);
  return home;
}
