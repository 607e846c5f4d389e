import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Mutant } from "../../test/mutants/mutant.ts";
import { applyMutant } from "./apply.ts";
import { ProjectCopy } from "./project-copy.ts";
import { runTests, type TestOutcome } from "./run-tests.ts";
import { usesBuild } from "./uses-build.ts";

/** The result of trying a mutant. Only the first two count as killed. */
type MutantStatus =
  | "killed"
  | "killed by timeout"
  | "SURVIVED"
  | "does not apply"
  /** Its test fails, or cannot run, on the unmutated product. */
  | "red unmutated"
  /** Inconclusive: it does not build, its test does not load, or something other than a test fails. */
  | "error";

export interface MutantResult {
  readonly mutant: Mutant;
  readonly status: MutantStatus;
  /** What failed, or why the mutant was not killed. */
  readonly why?: string;
  readonly seconds: number;
}

export interface MutantsRun {
  /** The project's folder, a git work tree. It is only read. */
  readonly project: string;
  readonly mutants: readonly Mutant[];
  /** How many copies of it to use in parallel. */
  readonly copies: number;
  /** The timeout of a mutant's tests in milliseconds, given how long they took unmutated. */
  readonly timeout?: (unmutated: number) => number;
  readonly signal?: AbortSignal;
  onUnmutated?(test: string, outcome: TestOutcome, seconds: number): void;
  onResult?(result: MutantResult): void;
}

interface Unmutated {
  readonly outcome: TestOutcome;
  readonly milliseconds: number;
  readonly needsBuild: boolean;
}

/** The timeout of the first, unmutated run, in milliseconds. */
const unmutatedTimeout = 30 * 60_000;
const tenfold = (unmutated: number) => Math.max(5 * 60_000, 10 * unmutated);

/** Tries each mutant on copies of the project in a temporary folder: runs its tests on the unmutated product, and then on the mutant. */
export async function runMutants(run: MutantsRun): Promise<readonly MutantResult[]> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "repoconf-mutants-")));
  try {
    const names = Array.from({ length: run.copies }, (_, index) => join(folder, String(index)));
    const copies = await Promise.all(names.map(name => ProjectCopy.make(run.project, name, run.signal)));
    const unmutated = new Map<string, Unmutated>();
    const tests = new Map(run.mutants.map(mutant => [testOf(mutant), mutant]));
    const built = new Set<ProjectCopy>();
    await distribute(copies, [...tests], async (copy, [test, mutant]) => {
      const needsBuild = await usesBuild(copy.root, mutant.test);
      const { result: outcome, milliseconds } = await timed(() =>
        runTests(copy, mutant, { build: needsBuild && !built.has(copy), timeout: unmutatedTimeout }),
      );
      if (needsBuild) built.add(copy);
      unmutated.set(test, { outcome, milliseconds, needsBuild });
      run.onUnmutated?.(test, outcome, Math.round(milliseconds / 1000));
    });
    const results = new Map<Mutant, MutantResult>();
    const slowness = (mutant: Mutant) => unmutated.get(testOf(mutant))?.milliseconds ?? 0;
    // So that no slow one runs alone at the end.
    const slowFirst = run.mutants.toSorted((one, other) => slowness(other) - slowness(one));
    await distribute(copies, slowFirst, async (copy, mutant) => {
      const { result, milliseconds } = await timed(() => tryMutant(copy, mutant, unmutated.get(testOf(mutant)), run));
      const finished = { mutant, ...result, seconds: Math.round(milliseconds / 1000) };
      results.set(mutant, finished);
      run.onResult?.(finished);
    });
    return run.mutants.flatMap(mutant => results.get(mutant) ?? []);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function tryMutant(
  copy: ProjectCopy,
  mutant: Mutant,
  before: Unmutated | undefined,
  { timeout = tenfold }: MutantsRun,
): Promise<Pick<MutantResult, "status" | "why">> {
  if (before === undefined || before.outcome.kind !== "passed")
    return { status: "red unmutated", ...(before && "why" in before.outcome && { why: before.outcome.why }) };
  let revert: () => Promise<void>;
  try {
    revert = await applyMutant(copy.root, mutant);
  } catch (error) {
    return { status: "does not apply", why: error instanceof Error ? error.message : String(error) };
  }
  try {
    const build = before.needsBuild;
    const outcome = await runTests(copy, mutant, { build, timeout: timeout(before.milliseconds) });
    if (outcome.kind === "passed") return { status: "SURVIVED" };
    const status = { failed: "killed", "timed out": "killed by timeout", error: "error" } as const;
    return { status: status[outcome.kind], why: outcome.why };
  } finally {
    await revert();
  }
}

/** Identifies the tests of a mutant. Mutants with the same tests share one unmutated run. */
function testOf({ test, name }: Mutant): string {
  return name === undefined ? test : `${test}: ${name}`;
}

/** Processes the items in parallel, one at a time on each copy. */
async function distribute<Item>(
  copies: readonly ProjectCopy[],
  items: readonly Item[],
  work: (copy: ProjectCopy, item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  await Promise.all(
    copies.map(async copy => {
      for (const item of waiting) await work(copy, item);
    }),
  );
}

async function timed<Result>(task: () => Promise<Result>): Promise<{ result: Result; milliseconds: number }> {
  const started = performance.now();
  const result = await task();
  return { result, milliseconds: performance.now() - started };
}
