import { expect, test } from "vitest";
import { Yielding } from "../../../main/time/yielding.ts";

/** A clock and an event loop that the test advances. */
function startLoop() {
  let [now, soon]: [number, (() => void)[]] = [0, []];
  const yielding = new Yielding({ monotonic: () => now }, task => void soon.push(task));
  const runRound = async () => {
    const tasks = soon;
    soon = [];
    for (const task of tasks) task();
    // Whatever resumes runs until it waits again.
    await new Promise(setImmediate);
  };
  const advance = (milliseconds: number) => {
    now += milliseconds;
  };
  return { yielding, runRound, advance };
}

test("work runs for 10 ms in each round of the event loop", async () => {
  const { yielding, runRound, advance } = startLoop();
  let steps = 0;
  void (async () => {
    const turn = yielding.begin("key");
    for (; steps < 100; steps++) {
      if (turn.isOver) await turn.pass();
      advance(1);
    }
  })();
  expect([steps, yielding.yields]).toEqual([0, 1]);
  for (let round = 1; round <= 9; round++) {
    await runRound();
    expect([steps, yielding.yields]).toEqual([10 * round, round + 1]);
  }
});

test("one piece of work runs at a time, and keys take turns however much work one has", async () => {
  const { yielding, runRound, advance } = startLoop();
  const done: string[] = [];
  const work = async (key: string) => {
    const turn = yielding.begin(key);
    for (let step = 0; step < 2; step++) {
      if (turn.isOver) await turn.pass();
      done.push(key);
      advance(10);
    }
  };
  for (const key of ["many", "many", "many", "one"]) void work(key);
  for (let round = 1; round <= 8; round++) {
    await runRound();
    expect(done.length).toBe(round);
  }
  expect(done.indexOf("one")).toBe(1);
  expect(done.slice(0, 4)).toEqual(["many", "one", "many", "one"]);
});
