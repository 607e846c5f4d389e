import { stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { nextTurn, runInParts } from "../../../main/time/turns.ts";
import { countingRounds } from "../../helpers/rounds.ts";

test("concurrent long work takes turns: no two parts run in one turn of the event loop", async () => {
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

test("a turn is a whole round of the event loop, wherever in the round it is requested", async () => {
  await using rounds = countingRounds();
  // Resumes in the poll phase, where files and the network report: immediates follow in the same round.
  await stat(import.meta.filename);
  const before = rounds.count;
  await nextTurn();
  expect(rounds.count - before).toBeGreaterThanOrEqual(2);
});
