import { setTimeout as delay } from "node:timers/promises";
import { type Figure, figureOf, interleave } from "./figures.ts";
import { makeHome, repositoryId } from "./homes.ts";
import { residentMemory } from "./machine.ts";
import type { Row, Section } from "./section.ts";
import { ask } from "./sockets.ts";

/** How long to wait after the start, in milliseconds, until the daemon has compared the home with the index. */
const settleTime = 2_000;

/** The daemon's memory after a start and after every repository has been read, compared with an empty server's. */
export const memory: Section = {
  name: "memory",
  title: "Resident memory",
  run: async machine => {
    const size = machine.short ? 10 : 10_000;
    const home = await makeHome(machine, size);
    const [ourName, floorName] = ["Repoconf", "an empty Socket.IO server"];
    const allRead: number[] = [];
    const runOurs = async () => {
      await using daemon = await machine.daemon(home);
      const socket = await daemon.connect();
      await delay(settleTime);
      const before = await residentMemory(daemon);
      for (let index = 0; index < size; index += 1) await ask(socket, "config/list", { repo: repositoryId(index) });
      allRead.push(await residentMemory(daemon));
      socket.close();
      return before;
    };
    const runFloor = async () => {
      await using floor = await machine.floor();
      const socket = await floor.connect();
      await delay(settleTime);
      socket.close();
      return await residentMemory(floor);
    };
    const contenders = [
      { name: ourName, run: runOurs },
      { name: floorName, run: runFloor },
    ];
    const values = await interleave(contenders, 2, machine.progress);
    const theirs = figureOf(values.get(floorName) ?? []);
    const row = (when: string, ours: Figure, most: number): Row => {
      const over = ours.median - theirs.median;
      const goal = { text: `at most ${most} MB more (${over.toFixed(1)} MB)`, met: over <= most };
      return {
        what: `${size.toLocaleString("en")} repositories, ${when}`,
        unit: "MB",
        ours,
        against: floorName,
        theirs,
        goal,
      };
    };
    return [
      row("before any read", figureOf(values.get(ourName) ?? []), 40),
      // Without the value of the warm-up round.
      row("all read", figureOf(allRead.slice(1)), 150),
    ];
  },
};
