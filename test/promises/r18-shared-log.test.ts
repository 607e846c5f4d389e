import { expect, test } from "vitest";
import { describeWithNats } from "../helpers/nats-server.ts";
import { amount, judge, seed } from "../helpers/promise.ts";
import { recordSharedRun } from "../helpers/recorded-shared-run.ts";

describeWithNats("R18 three servers, three daemons, eight clients and two people editing files", () => {
  test("lose nothing acknowledged, see one order, and agree in the end", async () => {
    const run = await recordSharedRun({
      seed,
      clients: 8,
      seconds: Number(process.env["REPOCONF_SECONDS"] ?? amount(10, 120)),
      pause: Number(process.env["REPOCONF_PAUSE"] ?? 0),
      leastSets: 50,
      leastEdits: 5,
    });
    const wrong = [...run.violations.map(({ promise, problem }) => `${promise}: ${problem}`), ...run.wrong];
    const note = `${run.acknowledged} of ${run.sets} sets acknowledged; ${run.reads} reads, ${run.events} events, ${run.edits} hand edits; ${run.additions} repositories added or removed while away; longest time without a leader ${seconds(run.withoutLeader)}, without an acknowledged set ${seconds(run.longestWithoutSet)}; told after at most ${seconds(Math.max(0, ...run.told))} (${run.told.length} times); a person was needed ${run.helped.length} times ${run.helped.join()}; ${[...run.mishaps].map(([name, count]) => `${name} ${count} times`).join(", ")}`;
    judge("R18", run.sets + run.reads + run.events, wrong, note);
    expect(new Set(run.histories).size).toBe(1);
    expect(new Set(run.lists).size).toBe(1);
    expect(new Set(run.files).size).toBe(1);
    expect(run.acknowledged).toBeGreaterThan(50);
    expect(run.edits).toBeGreaterThan(2);
  });
});

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
