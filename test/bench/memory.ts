import { setTimeout as delay } from "node:timers/promises";
import { figureOf, interleave } from "./figures.ts";
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
    const rows: Row[] = [];
    const floorName = "an empty Socket.IO server";
    const sizes = machine.short ? [10] : [10, 1_000, 10_000];
    const after = new Map<number, number[]>();
    const contenders = [];
    for (const size of sizes) {
      const home = await makeHome(machine, size);
      const read: number[] = [];
      after.set(size, read);
      contenders.push({
        name: String(size),
        run: async () => {
          await using daemon = await machine.daemon(home);
          const socket = await daemon.connect();
          await delay(settleTime);
          const before = await residentMemory(daemon);
          for (let index = 0; index < size; index += 1) await ask(socket, "config/list", { repo: repositoryId(index) });
          read.push(await residentMemory(daemon));
          socket.close();
          return before;
        },
      });
    }
    const values = await interleave(
      [
        ...contenders,
        {
          name: floorName,
          run: async () => {
            await using floor = await machine.floor();
            const socket = await floor.connect();
            await delay(settleTime);
            socket.close();
            return await residentMemory(floor);
          },
        },
      ],
      2,
      machine.progress,
    );
    const floor = figureOf(values.get(floorName) ?? []);
    for (const size of sizes) {
      const own = figureOf(values.get(String(size)) ?? []);
      const over = own.median - floor.median;
      const shared = { unit: "MB", against: floorName, theirs: floor };
      const what = `${size.toLocaleString("en")} repositories`;
      rows.push({
        what: `${what}, before any read`,
        ...shared,
        ours: own,
        ...(size === 10_000 && { goal: { text: `at most 40 MB more (${over.toFixed(1)} MB)`, met: over <= 40 } }),
      });
      // Skip the values of the warm-up round.
      const all = figureOf((after.get(size) ?? []).slice(1));
      const overAll = all.median - floor.median;
      rows.push({
        what: `${what}, all read`,
        ...shared,
        ours: all,
        ...(size === 10_000 && {
          goal: { text: `at most 150 MB more (${overAll.toFixed(1)} MB)`, met: overAll <= 150 },
        }),
      });
    }
    return rows;
  },
};
