import { performance } from "node:perf_hooks";

/** The results of several rounds: their median, minimum and maximum. */
export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export function figureOf(values: readonly number[]): Figure {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const median = sorted.length % 2 === 1 ? at(Math.floor(middle)) : (at(middle - 1) + at(middle)) / 2;
  return { median, low: at(0), high: at(sorted.length - 1) };
}

/** The value that the given share of the values does not exceed, such as 0.99 for the 99th percentile. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The ratio of each round. Both ran in the same round, so what else the machine was doing affects both and cancels out. */
export function ratiosOf(ours: readonly number[], theirs: readonly number[]): number[] {
  return ours.map((value, index) => value / (theirs[index] ?? Number.NaN));
}

/** One of the things that are compared. Each run returns one measurement. */
export interface Contender {
  readonly name: string;
  run(): Promise<number>;
}

/** Runs all contenders in every round, each round starting with the next one. The first round is a warm-up round and does not count. */
export async function interleave(contenders: readonly Contender[], rounds: number, progress: (text: string) => void) {
  const values = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    progress(round === 0 ? "warming up" : `round ${round} of ${rounds}`);
    for (let turn = 0; turn < contenders.length; turn += 1) {
      const contender = contenders[(round + turn) % contenders.length];
      const value = await contender?.run();
      if (contender !== undefined && value !== undefined && round > 0) values.get(contender.name)?.push(value);
    }
  }
  return values;
}

/** Starts a call, which calls `done` when it has ended. Calls that run at the same time have different lanes, counted from 0. */
export type Call = (lane: number, done: (error?: unknown) => void) => void;

/** Measures calls per second, with `lanes` calls running at any time. */
export function rateOf(call: Call, lanes: number, milliseconds: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const begin = performance.now();
  let calls = 0;
  let waiting = lanes;
  const next = (lane: number) =>
    call(lane, error => {
      if (error !== undefined) return reject(error);
      calls += 1;
      const taken = performance.now() - begin;
      if (taken < milliseconds) return next(lane);
      waiting -= 1;
      if (waiting === 0) resolve((calls * 1_000) / taken);
    });
  for (let lane = 0; lane < lanes; lane += 1) next(lane);
  return promise;
}

/** Measures how long it takes until something is told: `told` is called when it is. */
export function untilTold(times: number) {
  let { promise, resolve: told } = Promise.withResolvers<void>();
  return {
    told: () => told(),
    /** The 99th percentile of the times from the begin of `send` until it has ended and its event was told, one after another. */
    timesOf: (name: string, send: () => Promise<unknown>): Contender => ({
      name,
      run: async () => {
        const taken: number[] = [];
        for (let left = times; left > 0; left -= 1) {
          ({ promise, resolve: told } = Promise.withResolvers<void>());
          const begin = performance.now();
          await Promise.all([promise, send()]);
          taken.push(performance.now() - begin);
        }
        return quantile(taken, 0.99);
      },
    }),
  };
}
