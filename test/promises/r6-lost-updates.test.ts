import type { ChildProcess } from "node:child_process";
import { expect, test } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { type WatchedFileSystem, watchFileSystem } from "../helpers/file-system.ts";
import type { HandEditing } from "../helpers/hand-editing-process.ts";
import { addLoadScope } from "../helpers/load-scope.ts";
import { amount, reportPromise } from "../helpers/promise.ts";
import { wholeHistory } from "../helpers/recorded-run.ts";
import { forkHelper } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const [processes, setsEach] = [4, amount(400, 400)];
const handFields = 20;
/** An edit is made between two parts of the sets, however fast both are. */
const parts = 10;

type Span = readonly [from: number, to: number];

/** Records when a write was between its last check of the file and the rename, in microseconds of `hrtime`. */
function recordGaps(fileSystem: WatchedFileSystem): readonly Span[] {
  const gaps: Span[] = [];
  const now = () => Number(process.hrtime.bigint() / 1_000n);
  let begin: number | undefined;
  fileSystem.after = ({ operation }) => {
    if (operation === "readNow") begin = now();
    if (operation === "rename" && begin !== undefined) gaps.push([begin, now()]);
  };
  return gaps;
}

/** The last message of a process before it exits. */
async function sentBy<Message>(child: ChildProcess): Promise<Message> {
  let sent: { readonly message: Message } | undefined;
  child.on("message", (message: Message) => {
    sent = { message };
  });
  const code = await new Promise(resolve => child.once("exit", resolve));
  if (sent === undefined) throw new Error(`the process ended with ${code} and sent nothing`);
  return sent.message;
}

test(`R6 no update is lost: ${processes} processes x ${setsEach} sets of different fields beside a script that edits by hand`, async () => {
  await using home = await temporaryFolder();
  const names = Array.from({ length: processes }, (_, one) =>
    Array.from({ length: setsEach }, (_, index) => `process${one}_${index}`),
  );
  const byHand = Array.from({ length: handFields }, (_, index) => `hand_${index}`);
  await addLoadScope(home.path, [...names.flat(), ...byHand]);
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ home: home.path, fileSystem });
  const repo = await t.addRepository("shop");
  await t.owner.call("config/watch", { repo });

  const gaps = recordGaps(fileSystem);
  const editor = forkHelper("hand-editing-process.ts", t.repositoryFile(repo), "load", String(handFields));
  const handEditing = sentBy<HandEditing>(editor);
  const setters = names.map(fields =>
    forkHelper("setting-process.ts", home.path, repo, String(parts), ...fields.map(name => `load.${name}`)),
  );
  editor.on("message", () => {
    // A process that has exited, or is exiting, needs no message.
    for (const setter of setters) if (setter.connected) setter.send("an edit was made", () => {});
  });
  const acknowledged = await Promise.all(setters.map(setter => sentBy<string[]>(setter)));
  editor.send("end");
  const { edits, repeats } = await handEditing;
  const widths = gaps.map(([from, to]) => to - from).sort((one, other) => one - other);
  // Edits may only be lost inside these gaps.
  const isInGap = ([from, to]: Span) => gaps.some(([begin, end]) => begin <= to && from <= end);
  const outside = repeats.filter(repeat => !isInGap(repeat));
  const sets = names.flat().length;
  const lost = sets - acknowledged.flat().length;
  const gap = `the gap between check and rename is ${widths[Math.floor(widths.length / 2)]} microseconds`;
  const note = `${sets} sets during ${edits.length} hand edits, of which ${repeats.length} were repeated; ${gap}`;
  reportPromise({ row: "R6", tried: sets + edits.length, failed: lost + outside.length, note });
  expect(outside).toEqual([]);

  expect(acknowledged).toEqual(names.map(fields => fields.map(name => `load.${name}`)));
  const wanted = {
    ...Object.fromEntries(names.flat().map(name => [name, `load.${name}`])),
    ...Object.fromEntries(edits),
  };
  await until(async () => {
    const { result } = await t.owner.call("config/list", { repo, stored: true });
    return edits.slice(-handFields).every(([field, value]) => result["load"]?.[field] === value);
  }, "the last edits to be active");
  expect((await t.owner.call("config/list", { repo, stored: true })).result).toEqual({ load: wanted });
  expect(JSON.parse(await t.readRepository(repo)).config).toEqual({ load: wanted });

  const history = await wholeHistory(t.owner, repo);
  expect(history.map(({ revision }) => revision)).toEqual(history.map((_, index) => index + 1));
  const recorded = (sources: readonly string[]) =>
    history
      .filter(({ source }) => sources.includes(source))
      .flatMap(({ changes }) => Object.entries(changes["load"] ?? {}))
      .map(([field, { value }]) => `${field}: ${value}`);
  expect(recorded(["set"]).sort()).toEqual(
    names
      .flat()
      .map(name => `${name}: load.${name}`)
      .sort(),
  );
  const recordedByHand = new Set(recorded(["file", "merge"]));
  expect(edits.filter(([field, value]) => !recordedByHand.has(`${field}: ${value}`))).toEqual([]);
  const events = t.owner.events.flatMap(([resource, , payload]) => (resource === "config" ? [payload.revision] : []));
  expect(events).toEqual(history.slice(1).map(({ revision }) => revision));
  expect(edits.length).toBeGreaterThanOrEqual(parts - 1);
});
