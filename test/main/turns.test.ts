import { expect, test } from "vitest";
import { runInParts } from "../../main/turns.ts";
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
