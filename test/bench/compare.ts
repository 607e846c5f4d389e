import { type Call, type Contender, figureOf, interleave, rateOf, ratiosOf } from "./figures.ts";
import { type CommandLine, cpuTime, type Machine, type Started } from "./machine.ts";
import type { Row } from "./section.ts";

export interface Goal {
  readonly text: string;
  isMet(ratio: number): boolean;
}

export interface Compared {
  readonly contender: Contender;
  /** The goal for the ratio of Repoconf to this contender. If left out, the ratio is only shown. */
  readonly goal?: Goal;
}

/** Measures Repoconf and others in the same rounds, and returns a row for each of the others. */
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

/** Measures the time of one call in milliseconds, running one call at a time. */
export function timeOf(machine: Machine, name: string, call: Call): Contender {
  return { name, run: async () => 1_000 / (await rateOf(call, 1, machine.slice)) };
}

/** Measures the average time of a command in milliseconds. */
export function commandTimeOf(machine: Machine, name: string, ...command: CommandLine): Contender {
  const times = machine.short ? 3 : 10;
  const run = async () => {
    let sum = 0;
    for (let left = times; left > 0; left -= 1) sum += await machine.time(...command);
    return sum / times;
  };
  return { name, run };
}

/** Measures the processor time of a command in milliseconds, which noise of the machine changes less than its duration. */
export function processorTimeOf(machine: Machine, name: string, ...command: CommandLine): Contender {
  const times = machine.short ? 3 : 20;
  return { name, run: () => machine.processorTime(times, ...command) };
}

/** Measures the server's CPU time per call in milliseconds, with 64 calls running at once. */
export function cpuTimeOf(machine: Machine, name: string, server: Started, call: Call): Contender {
  return {
    name,
    run: async () => {
      let calls = 0;
      const counted: Call = (lane, done) => {
        calls += 1;
        call(lane, done);
      };
      const before = await cpuTime(server);
      await rateOf(counted, 64, machine.slice);
      return ((await cpuTime(server)) - before) / calls;
    },
  };
}

export function atLeast(ratio: number): Goal {
  return { text: `at least ${ratio}`, isMet: measured => measured >= ratio };
}

export function atMost(ratio: number): Goal {
  return { text: `at most ${ratio}`, isMet: measured => measured <= ratio };
}
