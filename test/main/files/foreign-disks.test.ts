import { expect, test } from "vitest";
import { ForeignDisks, patience, UnreachableDiskError } from "../../../main/files/foreign-disks.ts";
import { until } from "../../helpers/daemon.ts";
import { TestClock } from "../../helpers/test-clock.ts";

/** Disks named by their folder, and calls that hang until the test lets them return. */
function start(threads = 4) {
  const clock = new TestClock();
  const disks = new ForeignDisks(threads, folder => folder);
  const running: string[] = [];
  const hanging = new Map<string, () => void>();
  return {
    clock,
    disks,
    /** The folders whose call runs. */
    running,
    hang: (folder: string) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const call = async () => {
        running.push(folder);
        hanging.set(folder, resolve);
        await promise;
        running.splice(running.indexOf(folder), 1);
      };
      const asked = disks.ask(folder, call, clock);
      asked.catch(() => {});
      return asked;
    },
    end: (folder: string) => hanging.get(folder)?.(),
    ask: (folder: string) => disks.ask(folder, async () => `of ${folder}`, clock),
    isHung: (folder: string) => until(() => disks.hung.includes(folder), `${folder} to be found hanging`),
  };
}

/** What a call returned or threw; "waits" if it does neither. */
async function settled(call: Promise<unknown>): Promise<unknown> {
  const failed = call.catch((error: unknown) => error);
  return Promise.race([failed, new Promise(resolve => setImmediate(resolve, "waits"))]);
}

test("a call that does not return in time is refused, and with it all that wait for the same disk", async () => {
  const t = start();
  const first = t.hang("far");
  const waiting = t.ask("far");
  waiting.catch(() => {});
  expect(await t.ask("near")).toBe("of near");
  t.clock.advance(patience);
  await expect(first).rejects.toThrow(UnreachableDiskError);
  await expect(waiting).rejects.toThrow("far has not answered for 2 seconds");
});

test("the disk is not asked again until the call returns, while others are", async () => {
  const t = start();
  void t.hang("far").catch(() => {});
  t.clock.advance(patience);
  await t.isHung("far");
  let asked = 0;
  const ask = () => t.disks.ask("far", async () => (asked += 1), t.clock);
  expect(await settled(ask())).toBeInstanceOf(UnreachableDiskError);
  expect(await t.ask("near")).toBe("of near");
  expect(asked).toBe(0);
  t.end("far");
  await until(() => t.disks.hung.length === 0, "the call to return");
  expect(await ask()).toBe(1);
});

test("each disk gets one call at a time, and all together at most half of the threads", async () => {
  const t = start(4);
  for (const folder of ["a", "a", "b", "c"]) void t.hang(folder);
  expect(t.running).toEqual(["a", "b"]);
  t.end("b");
  await until(() => t.running.includes("c"), "the next disk's turn");
  expect(t.running).toEqual(["a", "c"]);
  t.end("a");
  await until(() => t.running.join() === "c,a", "the second call");
});

test("while hanging calls hold half of the threads, every call is refused, also one that waits for a thread", async () => {
  const t = start(4);
  void t.hang("a");
  void t.hang("b");
  const waiting = t.ask("near");
  waiting.catch(() => {});
  t.clock.advance(patience);
  await t.isHung("a");
  await t.isHung("b");
  expect(await settled(waiting)).toMatchObject({ message: expect.stringContaining("a and b have not answered") });
  await expect(t.ask("near")).rejects.toThrow(UnreachableDiskError);
  t.end("a");
  await until(() => t.disks.hung.length === 1, "the first call to return");
  expect(await t.ask("near")).toBe("of near");
});

test("a verdict that comes late, because this process stood still, is not believed", async () => {
  const t = start();
  const asked = t.hang("far");
  t.clock.advance(10 * patience);
  await until(() => t.clock.waiting() === 1, "the next wait");
  expect(t.disks.hung).toEqual([]);
  t.end("far");
  await asked;
  expect(t.clock.waiting()).toBe(0);
});

test("a call that throws frees its thread", async () => {
  const t = start(2);
  const fail = () => {
    throw new Error("no such folder");
  };
  await expect(t.disks.ask("far", fail, t.clock)).rejects.toThrow("no such folder");
  expect(await t.ask("far")).toBe("of far");
});
