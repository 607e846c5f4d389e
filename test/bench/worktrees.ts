import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Socket } from "socket.io-client";
import { cleanEnvironment } from "../helpers/spawned-daemon.ts";
import { atMost, type Compared, compare, cpuTimeOf, timeOf } from "./compare.ts";
import type { Call, Contender } from "./figures.ts";
import { makeHome, repositoryId, twentyFields } from "./homes.ts";
import { type Machine, residentMemory } from "./machine.ts";
import type { Row, Section } from "./section.ts";
import { ask, calls, sets } from "./sockets.ts";

/** How long to wait after the start, in milliseconds, until the daemon has compared the home with the index. */
const settleTime = 2_000;

interface Site {
  readonly home: string;
  /** The ids of the entries in work trees: linked ones, or as many plain ones. */
  readonly inTree: readonly string[];
}

interface Sizes {
  readonly repositories: number;
  readonly withWorktrees: number;
  readonly each: number;
}

const text = `${JSON.stringify({ config: { svc: twentyFields } }, null, 2)}\n`;

/**
 * Repositories, of which some are in work trees: `linked`, each has linked worktrees and a local value; else there are as many plain
 * work trees, so that both homes have the same number of entries and files.
 */
async function makeSite(
  machine: Machine,
  linked: boolean,
  { repositories, withWorktrees, each }: Sizes,
): Promise<Site> {
  const home = await makeHome(machine, repositories - withWorktrees);
  const folder = await machine.newFolder("trees");
  const git = (tree: string, ...args: readonly string[]) => {
    const who = ["-c", "user.name=A", "-c", "user.email=a@example.test"];
    execFileSync("git", [...who, ...args], { cwd: tree, env: cleanEnvironment(), stdio: "ignore" });
  };
  await using daemon = await machine.daemon(home);
  const socket = await daemon.connect();
  const others: string[] = [];
  const make = async (id: string) => {
    const tree = join(folder, id);
    await mkdir(tree);
    await writeFile(join(tree, ".repoconf.json"), text);
    git(tree, "init", "--quiet");
    await ask(socket, "repo/add", { id, name: id, path: tree, inTree: true });
    return tree;
  };
  machine.progress(`making ${withWorktrees} work trees with ${each} more each`);
  for (let index = 0; index < withWorktrees; index += 1) {
    const tree = await make(`tree-${index}`);
    if (linked) git(tree, "add", ".repoconf.json");
    if (linked) git(tree, "commit", "--quiet", "--message", "values");
    for (let other = 0; other < each; other += 1) {
      const name = `tree-${index}-${other}`;
      if (linked) git(tree, "worktree", "add", "--quiet", join(folder, name));
      else await make(name);
      others.push(linked ? await idAt(socket, join(folder, name)) : name);
    }
    const local = { "svc.provider": "own", ...(linked && { layer: "local" }) };
    await ask(socket, "config/set", { repo: `tree-${index}`, ...local });
  }
  socket.close();
  await daemon.stop();
  return { home, inTree: others };
}

async function idAt(socket: Socket, path: string): Promise<string> {
  const { result } = await ask(socket, "repo/find", { path });
  return typeof result === "object" && result !== null && "id" in result ? String(result.id) : "";
}

/** Lists all repositories. The ids of linked worktrees are others than those of plain ones, so that no page compares with another. */
async function listAll(socket: Socket): Promise<void> {
  let after: unknown = "";
  while (after !== undefined) after = (await ask(socket, "repo/list", { limit: 1_000, after })).next;
}

/** What linked worktrees and local values cost, compared with as many plain work trees. */
export const worktrees: Section = {
  name: "worktrees",
  title: "Linked worktrees on repositories with a local value, beside as many plain work trees",
  run: async machine => {
    if (!machine.has("git")) return [];
    const sizes = machine.short
      ? { repositories: 10, withWorktrees: 2, each: 2 }
      : { repositories: 1_000, withWorktrees: 100, each: 5 };
    const [linked, plain] = [await makeSite(machine, true, sizes), await makeSite(machine, false, sizes)];
    const name = "plain work trees";
    const compared = (what: string, unit: string, ours: Contender, theirs: Contender) => {
      const other: Compared = { contender: theirs, goal: atMost(1.1) };
      return compare(machine, what, unit, ours, [other]);
    };
    const rows: Row[] = [];
    {
      await using one = await machine.daemon(linked.home);
      await using other = await machine.daemon(plain.home);
      const [ours, theirs] = [await one.connect(), await other.connect()];
      const repoOf =
        ({ inTree }: Site) =>
        (lane: number) =>
          inTree[lane % inTree.length] ?? repositoryId(0);
      const listOf = (socket: Socket, site: Site) =>
        calls(socket, "config/list", lane => ({ repo: repoOf(site)(lane) }));
      const all =
        (socket: Socket): Call =>
        (_, done) =>
          void listAll(socket).then(() => done(), done);
      rows.push(
        ...(await compared(
          "listing one of them, CPU time per call, 64 at once",
          "ms",
          cpuTimeOf(machine, "Repoconf", one, listOf(ours, linked)),
          cpuTimeOf(machine, name, other, listOf(theirs, plain)),
        )),
        ...(await compared(
          "repo/list, all pages",
          "ms",
          timeOf(machine, "Repoconf", all(ours)),
          timeOf(machine, name, all(theirs)),
        )),
        ...(await compared(
          "durable set into one of them, one at a time",
          "ms",
          timeOf(machine, "Repoconf", sets(ours, repoOf(linked))),
          timeOf(machine, name, sets(theirs, repoOf(plain))),
        )),
      );
      for (const socket of [ours, theirs]) socket.close();
    }
    const startOf = (contender: string, { home }: Site) => ({
      name: contender,
      run: async () => {
        const daemon = await machine.daemon(home);
        await daemon.stop();
        return daemon.startTime;
      },
    });
    rows.push(...(await compared("start", "ms", startOf("Repoconf", linked), startOf(name, plain))));
    const memoryOf = (contender: string, { home, inTree }: Site) => ({
      name: contender,
      run: async () => {
        await using daemon = await machine.daemon(home);
        const socket = await daemon.connect();
        await delay(settleTime);
        for (const repo of inTree) await ask(socket, "config/list", { repo });
        socket.close();
        return await residentMemory(daemon);
      },
    });
    const what = "resident memory, all of them read";
    rows.push(...(await compared(what, "MB", memoryOf("Repoconf", linked), memoryOf(name, plain))));
    return rows;
  },
};
