import { type Call, type Contender, figureOf, interleave, rateOf, ratiosOf } from "./figures.ts";
import { type Machine, processorTime, type Started } from "./machine.ts";
import type { Row } from "./section.ts";

export interface Compared {
  readonly contender: Contender;
  /** What is wanted of ours to this one; left out: it is shown, and nothing is wanted. */
  readonly goal?: { readonly text: string; isMet(ratio: number): boolean };
}

/** Ours beside others, interleaved: a row for each of the others. */
export async function compare(
  machine: Machine,
  what: string,
  unit: string,
  ours: Contender,
  others: readonly Compared[],
): Promise<Row[]> {
  const contenders = [ours, ...others.map(({ contender }) => contender)];
  const values = await interleave(contenders, machine.rounds, text => machine.progress(`${what}: ${text}`));
  const own = values.get(ours.name) ?? [];
  return others.map(({ contender: { name }, goal }) => {
    const theirs = values.get(name) ?? [];
    const ratio = figureOf(ratiosOf(own, theirs));
    return {
      what,
      unit,
      ours: figureOf(own),
      against: name,
      theirs: figureOf(theirs),
      ratio,
      ...(goal !== undefined && { goal: { text: goal.text, met: goal.isMet(ratio.median) } }),
    };
  });
}

/** How long a call takes, one at a time, in milliseconds. */
export function timeOf(machine: Machine, name: string, call: Call): Contender {
  return { name, run: async () => 1_000 / (await rateOf(call, 1, machine.slice)) };
}

/** What a call costs the process that answers it, while 64 at once are asked. */
export function processorTimeOf(machine: Machine, name: string, server: Started, call: Call): Contender {
  return {
    name,
    run: async () => {
      let calls = 0;
      const counted: Call = (lane, done) => {
        calls += 1;
        call(lane, done);
      };
      const before = await processorTime(server);
      await rateOf(counted, 64, machine.slice);
      return ((await processorTime(server)) - before) / calls;
    },
  };
}

export function atLeast(ratio: number): { text: string; isMet(ratio: number): boolean } {
  return { text: `at least ${ratio}`, isMet: measured => measured >= ratio };
}

export function atMost(ratio: number): { text: string; isMet(ratio: number): boolean } {
  return { text: `at most ${ratio}`, isMet: measured => measured <= ratio };
}
