import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Socket } from "socket.io-client";
import { atMost, compare, cpuTimeOf, type Goal, timeOf } from "./compare.ts";
import type { Contender } from "./figures.ts";
import { homeWithFields, makeHome, repositoryId } from "./homes.ts";
import type { Machine, Server } from "./machine.ts";
import type { Row, Section } from "./section.ts";
import { ask, calls, prepare, sets } from "./sockets.ts";

/** How list and set scale with the number of fields and with the length of the history. */
export const growth: Section = {
  name: "growth",
  title: "Growth with the number of fields and the length of the history",
  run: async machine => [...(await moreFields(machine)), ...(await moreHistory(machine))],
};

/** Compares lists of 20 to 2,000 fields with a bare server's replies of the same size, and sets among them with each other. */
async function moreFields(machine: Machine): Promise<Row[]> {
  const rows: Row[] = [];
  await using floor = await machine.floor();
  const bare = await floor.connect();
  await using resources = new AsyncDisposableStack();
  const repo = repositoryId(0);
  const setters: { fields: number; socket: Socket }[] = [];
  for (const fields of [20, 200, 2_000]) {
    const home = await homeWithFields(machine, fields);
    const daemon: Server = resources.use(await machine.daemon(home));
    const socket = await daemon.connect();
    resources.defer(() => void socket.close());
    setters.push({ fields, socket });
    const args = { repo, scope: "wide" };
    await prepare(bare, { replies: { "config/list": await ask(socket, "config/list", args) } });
    const own = calls(socket, "config/list", () => args);
    const theirs = calls(bare, "config/list", () => args);
    const [ours, other] = ["Repoconf", "bare Socket.IO with the same reply"];
    const what = `list of ${fields.toLocaleString("en")} fields`;
    const isLarge = fields === 2_000;
    const same = { contender: timeOf(machine, other, theirs), ...(isLarge && { goal: atMost(0.65) }) };
    rows.push(...(await compare(machine, what, "ms", timeOf(machine, ours, own), [same])));
    if (process.platform !== "linux" || !isLarge) continue;
    const cpu = { contender: cpuTimeOf(machine, other, floor, theirs), goal: atMost(0.2) };
    const cpuOfOurs = cpuTimeOf(machine, ours, daemon, own);
    rows.push(...(await compare(machine, `${what}, CPU time per call`, "ms", cpuOfOurs, [cpu])));
  }
  const contenders = setters.map(({ fields, socket }) => {
    let count = 0;
    const call = calls(socket, "config/set", () => ({ repo, "wide.field_0": ++count }));
    return timeOf(machine, `set among ${fields.toLocaleString("en")} fields`, call);
  });
  rows.push(...(await withSmallest(machine, contenders, atMost(1.5))));
  bare.close();
  return rows;
}

/** Compares each of the others with the first. */
async function withSmallest(machine: Machine, [small, ...larger]: readonly Contender[], goal: Goal) {
  const rows: Row[] = [];
  for (const one of larger)
    if (small !== undefined) rows.push(...(await compare(machine, one.name, "ms", one, [{ contender: small, goal }])));
  return rows;
}

/** Compares sets on a repository with a long history with sets on one with a short history. */
async function moreHistory(machine: Machine): Promise<Row[]> {
  const home = await makeHome(machine, 3);
  const settings = { history: { revisions: 1_000_000, bytes: 1_073_741_824 } };
  await writeFile(join(home, "settings.json"), JSON.stringify(settings));
  await using daemon = await machine.daemon(home);
  const socket = await daemon.connect();
  const journals = machine.short ? [10, 1_000] : [10, 10_000, 100_000];
  for (const [index, revisions] of journals.entries()) {
    machine.progress(`making a journal of ${revisions.toLocaleString("en")} revisions`);
    await addRevisions(socket, repositoryId(index), revisions);
  }
  const contenders = journals.map((revisions, index) => {
    const set = sets(socket, () => repositoryId(index));
    return timeOf(machine, `set on a journal of ${revisions.toLocaleString("en")} revisions`, set);
  });
  const rows = await withSmallest(machine, contenders, { ...atMost(1.15), text: "no growth: at most 1.15" });
  socket.close();
  return rows;
}

/** Creates this many revisions of one repository, as fast as possible. */
async function addRevisions(socket: Socket, repo: string, times: number): Promise<void> {
  const call = sets(socket, () => repo);
  for (let left = times; left > 0; left -= 500) {
    const some = Array.from({ length: Math.min(500, left) }, (_, lane) => lane);
    await Promise.all(some.map(lane => promisify(call)(lane)));
  }
}
