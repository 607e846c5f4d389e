import { repoconfCommand } from "../helpers/spawned-daemon.ts";
import { atMost } from "./compare.ts";
import { figureOf, interleave, ratiosOf } from "./figures.ts";
import { makeHome, repositoryId } from "./homes.ts";
import type { Machine } from "./machine.ts";
import type { Row, Section } from "./section.ts";
import { ask } from "./sockets.ts";

const sizes = [10, 10_000];

/** Kills a daemon right after sets in this many repositories, and returns how long the next start takes. */
async function startAfterKill(machine: Machine, home: string, changed: number): Promise<number> {
  const killed = await machine.daemon(home);
  const socket = await killed.connect();
  const value = Math.floor(Math.random() * 86_400);
  const repositories = Array.from({ length: changed }, (_, index) => repositoryId(index));
  await Promise.all(repositories.map(repo => ask(socket, "config/set", { repo, "svc.timeout": value })));
  socket.close();
  await killed.stop("SIGKILL");
  const daemon = await machine.daemon(home);
  await daemon.stop();
  return daemon.startTime;
}

/** How long a command takes that finds no daemon, and so starts one, which is stopped afterwards. */
async function firstCommand(machine: Machine, home: string): Promise<number> {
  const get = [repoconfCommand, "get", "svc.timeout", "--repo", repositoryId(0), "--home", home];
  const time = await machine.time(process.execPath, get);
  await machine.time(process.execPath, [repoconfCommand, "stop", "--home", home]);
  return time;
}

/** The time from the start of the process to the line that says it is ready. */
export const start: Section = {
  name: "start",
  title: "Time from the start until the daemon is ready",
  run: async machine => {
    const homes = new Map<number, string>();
    for (const size of sizes) homes.set(size, await makeHome(machine, size));
    const startOnce = async (size: number) => {
      const daemon = await machine.daemon(homes.get(size) ?? "");
      await daemon.stop();
      return daemon.startTime;
    };
    const node = "node -e 0";
    const floor = "an empty Socket.IO server";
    const afterKill = "10,000 repositories, after kill -9 right after sets in 100 of them";
    const first = (size: number) => `get without a daemon, ${size.toLocaleString("en")} repositories`;
    const values = await interleave(
      [
        ...sizes.map(size => ({ name: String(size), run: () => startOnce(size) })),
        ...sizes.map(size => ({ name: first(size), run: () => firstCommand(machine, homes.get(size) ?? "") })),
        { name: afterKill, run: () => startAfterKill(machine, homes.get(10_000) ?? "", 100) },
        {
          name: floor,
          run: async () => {
            const server = await machine.floor();
            await server.stop();
            return server.startTime;
          },
        },
        { name: node, run: () => machine.time(process.execPath, ["-e", "0"]) },
      ],
      machine.rounds,
      machine.progress,
    );
    const of = (name: string | number): readonly number[] => values.get(String(name)) ?? [];
    const rows: Row[] = sizes.map(size => {
      const beyondNode = figureOf(of(size).map((time, round) => time - (of(node)[round] ?? 0)));
      return {
        what: `${size.toLocaleString("en")} repositories`,
        unit: "ms",
        ours: figureOf(of(size)),
        against: floor,
        theirs: figureOf(of(floor)),
        ratio: figureOf(ratiosOf(of(size), of(floor))),
        ...(size === 10_000 && {
          goal: {
            text: `under 500 ms after Node's own start (${beyondNode.median.toFixed(0)} ms)`,
            met: beyondNode.median < 500,
          },
        }),
      };
    });
    for (const size of sizes) {
      const ratio = figureOf(ratiosOf(of(first(size)), of(floor)));
      const { text, isMet } = atMost(1.8);
      rows.push({
        what: first(size),
        unit: "ms",
        ours: figureOf(of(first(size))),
        against: floor,
        theirs: figureOf(of(floor)),
        ratio,
        ...(size === 10 && { goal: { text, met: isMet(ratio.median) } }),
      });
    }
    const thousands = (10_000 - 10) / 1_000;
    const growth = figureOf(of(10_000).map((time, round) => (time - (of(10)[round] ?? 0)) / thousands));
    rows.push({
      what: afterKill,
      unit: "ms",
      ours: figureOf(of(afterKill)),
      against: "after a clean stop",
      theirs: figureOf(of(10_000)),
      ratio: figureOf(ratiosOf(of(afterKill), of(10_000))),
    });
    rows.push({
      what: "each additional 1,000 repositories",
      unit: "ms",
      ours: growth,
      goal: { text: "at most 6 ms", met: growth.median <= 6 },
    });
    return rows;
  },
};
