import { performance } from "node:perf_hooks";
import type { Socket } from "socket.io-client";
import { atMost, compare } from "./compare.ts";
import { quantile } from "./figures.ts";
import { makeHome, repositoryFile, repositoryId } from "./homes.ts";
import type { Server } from "./machine.ts";
import type { Row, Section } from "./section.ts";
import { ask, prepare, startPair } from "./sockets.ts";

/** The time from sending a set to receiving the event, for each of many watchers. */
export const watch: Section = {
  name: "watch",
  title: "From a set to its event, 99th percentile (all watchers in one process)",
  run: async machine => {
    const home = await makeHome(machine, 1);
    await using pair = await startPair(machine, home);
    const { daemon, floor, ours, bare } = pair;
    const repo = repositoryId(0);
    const { event, reply } = await exampleOf(ours, repo);
    const write = { folder: await machine.newFolder("floor"), text: (await repositoryFile(home, repo)).text };
    const replies = { "config/set": reply };
    const rows: Row[] = [];
    const watchers: Watchers[] = [];
    for (const count of machine.short ? [1, 100] : [1, 100, 500]) {
      machine.progress(`connecting ${count} watchers`);
      const [ourCrowd, bareCrowd] = [await connectWatchers(daemon, count), await connectWatchers(floor, count)];
      watchers.push(ourCrowd, bareCrowd);
      await Promise.all(ourCrowd.sockets.map(socket => ask(socket, "config/watch", { repo })));
      const sets = machine.short ? 20 : Math.max(40, Math.round(300 / Math.sqrt(count)));
      let value = 0;
      const run = (socket: Socket, crowd: Watchers) => async () => {
        const times: number[] = [];
        for (let left = sets; left > 0; left -= 1) {
          value = (value + 1) % 86_400;
          const arrival = crowd.next();
          const begin = performance.now();
          const [received] = await Promise.all([arrival, ask(socket, "config/set", { repo, "svc.timeout": value })]);
          for (const time of received) times.push(time - begin);
        }
        return quantile(times, 0.99);
      };
      const own = { name: "Repoconf", run: run(ours, ourCrowd) };
      const emit = async () => {
        await prepare(bare, { replies, event });
        return run(bare, bareCrowd)();
      };
      const writeAndEmit = async () => {
        await prepare(bare, { replies, event, write });
        return run(bare, bareCrowd)();
      };
      const what = `${count} ${count === 1 ? "watcher" : "watchers"}`;
      rows.push(
        ...(await compare(machine, what, "ms", own, [
          { contender: { name: "bare io.emit, nothing written", run: emit }, goal: atMost(2) },
          {
            contender: { name: "durable write of the file, then io.emit", run: writeAndEmit },
            ...(count === 1 && { goal: atMost(1) }),
          },
        ])),
      );
      for (const { sockets } of watchers.splice(0)) for (const socket of sockets) socket.close();
      await new Promise(resolve => setTimeout(resolve, 200));
    }
    return rows;
  },
};

/** The event and the reply of a set, so that the bare server can send the same. */
async function exampleOf(socket: Socket, repo: string): Promise<{ event: readonly unknown[]; reply: unknown }> {
  await ask(socket, "config/watch", { repo });
  const message = new Promise<readonly unknown[]>(resolve => socket.once("svc", (...message) => resolve(message)));
  const reply = await ask(socket, "config/set", { repo, "svc.timeout": 77 });
  const event = await message;
  await ask(socket, "config/unwatch", { repo });
  return { event, reply };
}

interface Watchers {
  readonly sockets: readonly Socket[];
  /** The times at which each of them receives the next event. */
  next(): Promise<readonly number[]>;
}

async function connectWatchers(server: Server, count: number): Promise<Watchers> {
  const sockets: Socket[] = [];
  let times: number[] = [];
  let full: (times: readonly number[]) => void = () => {};
  for (let index = 0; index < count; index += 1) {
    const socket = await server.connect();
    socket.on("svc", () => {
      times.push(performance.now());
      if (times.length === count) full(times);
    });
    sockets.push(socket);
  }
  return {
    sockets,
    next: () =>
      new Promise(resolve => {
        times = [];
        full = resolve;
      }),
  };
}
