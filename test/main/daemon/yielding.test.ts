import { expect, test } from "vitest";
import { Yielding } from "../../../main/daemon/yielding.ts";

/** A clock and an event loop that go on when they are told to. */
function startLoop() {
  let [now, soon]: [number, (() => void)[]] = [0, []];
  const yielding = new Yielding({ monotonic: () => now }, task => void soon.push(task));
  const comesRound = async () => {
    const tasks = soon;
    soon = [];
    for (const task of tasks) task();
    // What goes on does so until it waits again.
    await new Promise(setImmediate);
  };
  const takes = (milliseconds: number) => {
    now += milliseconds;
  };
  return { yielding, comesRound, takes };
}

test("work goes on for 10 ms each time the event loop comes round", async () => {
  const { yielding, comesRound, takes } = startLoop();
  let steps = 0;
  void (async () => {
    const turn = yielding.begin("key");
    for (; steps < 100; steps++) {
      if (turn.isOver) await turn.pass();
      takes(1);
    }
  })();
  expect([steps, yielding.yields]).toEqual([0, 1]);
  for (let round = 1; round <= 9; round++) {
    await comesRound();
    expect([steps, yielding.yields]).toEqual([10 * round, round + 1]);
  }
});

test("one piece of work goes on at a time, and keys take turns however much one has", async () => {
  const { yielding, comesRound, takes } = startLoop();
  const done: string[] = [];
  const work = async (key: string) => {
    const turn = yielding.begin(key);
    for (let step = 0; step < 2; step++) {
      if (turn.isOver) await turn.pass();
      done.push(key);
      takes(10);
    }
  };
  for (const key of ["many", "many", "many", "one"]) void work(key);
  for (let round = 1; round <= 8; round++) {
    await comesRound();
    expect(done.length).toBe(round);
  }
  expect(done.indexOf("one")).toBe(1);
  expect(done.slice(0, 4)).toEqual(["many", "one", "many", "one"]);
});
