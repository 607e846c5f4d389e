import { readFile, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Mutant } from "../../test/mutants/mutant.ts";
import type { ProjectCopy } from "./project-copy.ts";

/** The result of a mutant's tests, from vitest's report. */
export type TestOutcome =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly why: string }
  /** A test exceeded vitest's own timeout, or the whole run was killed because of `timeout`. */
  | { readonly kind: "timed out"; readonly why: string }
  /** Inconclusive: the build failed, the file did not load, no test ran, or something failed outside of the tests. */
  | { readonly kind: "error"; readonly why: string };

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly title: string;
      readonly status: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

export interface TestRun {
  /** Whether to build dist/ first. */
  readonly build: boolean;
  /** In milliseconds. Tests that take longer are assumed to hang. */
  readonly timeout: number;
}

/** Runs the tests that have to kill a mutant on the copy in its current state. */
export async function runTests(copy: ProjectCopy, { test, name }: Mutant, run: TestRun): Promise<TestOutcome> {
  if (run.build) {
    const { code, output } = await copy.build(run.timeout);
    if (code !== 0) return { kind: "error", why: `npm run build fails: ${lastLines(output)}` };
  }
  const path = copy.temporaryFile("report.json");
  await rm(path, { force: true });
  const { code, output } = await copy.test(test, name, path, run.timeout);
  if (code === undefined) return { kind: "timed out", why: `ended after ${Math.round(run.timeout / 1000)} s` };
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return { kind: "error", why: `no report: ${lastLines(output)}` };
  // Written by vitest's own reporter.
  const report = JSON.parse(text) as Report;
  const files = report.testResults.filter(file => resolve(file.name) === resolve(copy.root, test));
  const tests = files.flatMap(file => file.assertionResults);
  const failed = tests.find(({ status }) => status === "failed");
  if (failed !== undefined) {
    const message = failed.failureMessages?.[0] ?? "";
    const why = `${failed.title}: ${stripVTControlCharacters(message).split("\n", 1)[0]}`;
    return /^(Error: )?(Test|Hook) timed out in /.test(message) ? { kind: "timed out", why } : { kind: "failed", why };
  }
  if (!tests.some(({ status }) => status === "passed")) {
    const loading = files.map(({ message }) => message ?? "").find(message => message !== "");
    return { kind: "error", why: `no test ran: ${loading ?? lastLines(output)}` };
  }
  if (code !== 0) return { kind: "error", why: `it failed outside of its tests: ${lastLines(output)}` };
  return { kind: "passed" };
}

function lastLines(text: string): string {
  return stripVTControlCharacters(text).trim().split("\n").slice(-15).join("\n");
}
