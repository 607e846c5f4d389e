import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CallOrder, last } from "../helpers/call-order.ts";
import { noRescans, startTestDaemon, type TestClient, until } from "../helpers/daemon.ts";
import { startDaemonProcess } from "../helpers/daemon-process.ts";
import type { Death } from "../helpers/dying-daemon.ts";
import { watchFileSystem } from "../helpers/file-system.ts";
import { PowerLoss } from "../helpers/power-loss.ts";
import { amount, judge, seed } from "../helpers/promise.ts";
import { randomNumbers } from "../helpers/random.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const ids = Array.from({ length: 8 }, (_, index) => `shop${index + 1}`);
const textOf = (id: string) => `{ "name": "${id}", "config": { "svc": { "timeout": 30 } } }\n`;

async function addShops(home: string, some: readonly string[]): Promise<void> {
  await mkdir(join(home, "repos"), { recursive: true });
  for (const id of some) await writeFile(join(home, "repos", `${id}.json`), textOf(id));
}

/** An atomic set over all of them. */
function setAll(client: TestClient, some: readonly string[], timeout: number, flush = true) {
  return client.call("config/set", { repo: [...some], atomic: true, flush, "svc.timeout": timeout });
}

/** The active timeout of each. */
async function timeouts(client: TestClient, some: readonly string[]): Promise<unknown[]> {
  const replies = await Promise.all(some.map(repo => client.call("config/list", { repo, field: "svc.timeout" })));
  return replies.map(({ result }) => result["svc"]?.["timeout"]);
}

/** The number of file-system calls of an atomic set and its follow-up writes. */
async function callsOfSet(): Promise<number> {
  await using folder = await temporaryFolder();
  await addShops(folder.path, ids);
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ home: folder.path, fileSystem, ...noRescans });
  await setAll(t.owner, ids, 31);
  const begin = fileSystem.calls.length;
  await setAll(t.owner, ids, 32);
  return fileSystem.calls.length - begin;
}

test("R17 an atomic set over 8 repositories is served whole or not at all after kill -9 at each step", async () => {
  const calls = await callsOfSet();
  expect(calls).toBeGreaterThan(40);
  // The calls of the log come first; of the calls of the files, the short form uses only some.
  const isTried = (step: number) => step <= 4 || step % amount(18, 1) === 0;
  const steps = Array.from({ length: calls }, (_, index) => index + 1).filter(isTried);
  const wrong: string[] = [];
  let unheard = 0;
  await using folder = await temporaryFolder();
  await addShops(folder.path, ids);
  let before = 30;
  let daemon = await startDaemonProcess(folder.path);
  let client = await daemon.connect();
  for (const call of steps) {
    const timeout = 1_000 + call;
    await daemon.arm({ call, when: "before" } satisfies Death);
    const reply = await setAll(client, ids, timeout).catch(() => undefined);
    if (reply === undefined) await until(() => daemon.isDead, "the daemon's death");
    else await daemon.kill();
    client.socket.close();
    daemon = await startDaemonProcess(folder.path);
    client = await daemon.connect();
    const served = await timeouts(client, ids);
    const [first] = served;
    if (served.some(value => value !== first)) wrong.push(`killed at call ${call}: ${served.join(", ")}`);
    if (first !== before && first !== timeout) wrong.push(`killed at call ${call}: ${first}`);
    if (reply?.errors.length === 0 && first !== timeout) wrong.push(`killed at call ${call}: acknowledged and gone`);
    if (reply === undefined && first === timeout) unheard++;
    before = Number(first);
  }
  client.socket.close();
  await daemon.kill();
  const note = `${steps.length} of ${calls} steps; ${unheard} times complete although no reply arrived`;
  judge("R17", steps.length, wrong, note);
  expect(unheard).toBeGreaterThan(0);
});

test("R17 an atomic set is served whole or not at all after a power loss at each step", async () => {
  const some = ids.slice(0, amount(2, 3));
  await using folder = await temporaryFolder();
  const home = folder.path;
  const watched = watchFileSystem();
  const loss = new PowerLoss(home, watched);
  await addShops(home, some);
  await using t = await startTestDaemon({ home, fileSystem: loss.fileSystem, ...noRescans });
  await setAll(t.owner, some, 31);
  await using _vault = await loss.begin();
  const order = new CallOrder(last("journal"));
  watched.before = call => order.turnOf(call);
  watched.ended = call => order.ended(call);
  expect((await setAll(t.owner, some, 99, false)).errors).toEqual([]);
  loss.acknowledge();
  for (const id of some) await t.readRepository(id);
  loss.end();
  // Calls that are already waiting can still finish.
  watched.before = () => {};
  // It would go on writing to the files that the states are made of.
  await t[Symbol.asyncDispose]();
  const wrong: string[] = [];
  const seen = new Set<unknown>();
  let states = 0;
  for (const state of loss.states(randomNumbers(seed), amount(2, 6))) {
    if (states++ > amount(40, 3_000)) break;
    await using lost = await loss.make(state);
    await using again = await startTestDaemon({ home: lost.path, ...noRescans });
    const served = await timeouts(again.owner, some);
    const [first] = served;
    seen.add(first);
    if (served.some(value => value !== first)) wrong.push(`${state.label}: ${served.join(", ")}`);
    const allowed = state.isAcknowledged ? [99] : [31, 99];
    if (!allowed.includes(Number(first))) wrong.push(`${state.label}: ${first}`);
  }
  judge("R17", states, wrong, "states of the disk after a power loss");
  expect(seen).toEqual(new Set([31, 99]));
});
