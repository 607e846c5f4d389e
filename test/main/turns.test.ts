import { stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { nextTurn, runInParts } from "../../main/turns.ts";
import { countingRounds } from "../helpers/rounds.ts";

test("long work side by side goes on one by one: no two parts are in one turn of the event loop", async () => {
  await using rounds = countingRounds();
  const turns: number[] = [];
  function* work(): Generator<void, string> {
    for (let part = 0; part < 5; part++) {
      yield;
      turns.push(rounds.count);
    }
    return "done";
  }
  const works = Array.from({ length: 4 }, () => runInParts(work()));
  expect(await Promise.all(works)).toEqual(["done", "done", "done", "done"]);
  expect(turns).toHaveLength(20);
  expect(new Set(turns).size).toBe(20);
});

test("a turn is a whole round of the event loop, wherever in the round it is asked for", async () => {
  await using rounds = countingRounds();
  // Goes on where the round takes in what files and the network brought: immediates follow in the same one.
  await stat(import.meta.filename);
  const before = rounds.count;
  await nextTurn();
  expect(rounds.count - before).toBeGreaterThanOrEqual(2);
});
