import { watch as watchFolder } from "node:fs";
import { open, rename, unlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { figureOf, quantile } from "./figures.ts";
import { makeHome, repositoryFile, repositoryId } from "./homes.ts";
import type { Row, Section } from "./section.ts";
import { ask } from "./sockets.ts";

const savers: { readonly [name: string]: (path: string, text: string) => Promise<number> } = {
  "saved by rename": async (path, text) => {
    await writeFile(`${path}.new`, text);
    const begin = performance.now();
    await rename(`${path}.new`, path);
    return begin;
  },
  // Renames the file to a backup, writes a new one, and deletes the backup.
  "saved as vim does": async (path, text) => {
    await rename(path, `${path}~`);
    const file = await open(path, "wx");
    const begin = performance.now();
    await file.writeFile(text);
    await file.sync();
    await file.close();
    await unlink(`${path}~`);
    return begin;
  },
  // Truncates the file and writes to it.
  "saved as VS Code does": async (path, text) => {
    const file = await open(path, "r+");
    const begin = performance.now();
    await file.truncate(0);
    await file.writeFile(text);
    await file.close();
    return begin;
  },
};

/** The time from an editor's write to the event, compared with the time until fs.watch reports the change. */
export const handEdit: Section = {
  name: "hand-edit",
  title: "From a hand edit to its event, 99th percentile",
  run: async machine => {
    const rows: Row[] = [];
    const repo = repositoryId(3);
    for (const repositories of machine.short ? [10] : [10, 10_000]) {
      const home = await makeHome(machine, repositories);
      await using daemon = await machine.daemon(home);
      const socket = await daemon.connect();
      await ask(socket, "config/watch", { repo });
      const { path, text } = await repositoryFile(home, repo);
      let [count, heard] = [0, 0];
      const watcher = watchFolder(dirname(path), (_event, name) => {
        if (name === `${repo}.json`) heard = performance.now();
      });
      const names = Object.keys(savers);
      const times = new Map(names.map(name => [name, { ours: [] as number[], theirs: [] as number[] }]));
      const edits = machine.short ? 10 : 100;
      for (let edit = 0; edit < edits; edit += 1) {
        machine.progress(`${repositories.toLocaleString("en")} repositories: edit ${edit + 1} of ${edits}`);
        for (const name of names) {
          const notified = new Promise<number>(resolve => socket.once("svc", () => resolve(performance.now())));
          count += 1;
          heard = 0;
          const begin = await savers[name]?.(path, text.replace(/"timeout": \d+/, `"timeout": ${100 + count}`));
          const seen = await notified;
          const lists = times.get(name);
          if (begin === undefined || lists === undefined) continue;
          lists.ours.push(seen - begin);
          if (heard > 0) lists.theirs.push(heard - begin);
          // A random pause, so that edits do not fall into step with the daemon's timers.
          await delay(5 + Math.random() * 20);
        }
      }
      watcher.close();
      socket.close();
      for (const [name, { ours, theirs }] of times) {
        const [own, folder] = [inRounds(ours, machine.rounds), inRounds(theirs, machine.rounds)];
        rows.push({
          what: `${repositories.toLocaleString("en")} repositories, ${name}`,
          unit: "ms",
          ours: { ...own, median: quantile(ours, 0.99) },
          against: "last fs.watch event of the folder",
          theirs: { ...folder, median: quantile(theirs, 0.99) },
          goal: { text: "under 50 ms", met: quantile(ours, 0.99) < 50 },
        });
      }
    }
    return rows;
  },
};

/** The spread of the 99th percentile over the rounds. */
function inRounds(values: readonly number[], rounds: number) {
  const width = Math.ceil(values.length / rounds);
  return figureOf(
    Array.from({ length: rounds }, (_, round) => quantile(values.slice(round * width, (round + 1) * width), 0.99)),
  );
}
