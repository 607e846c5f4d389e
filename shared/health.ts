import type { HealthProblem } from "./protocol.ts";

/** What is wrong with a file. That it was merged (1104) is worth knowing, and nothing is wrong with it. */
export function problemsIn(health: readonly HealthProblem[]): readonly HealthProblem[] {
  return health.filter(({ code }) => code !== 1104);
}

/** A problem in one line for people: what is wrong, and where. */
export function describeProblem({ message, line, column }: HealthProblem): string {
  return line === undefined ? message : `${message} (line ${line}, column ${column ?? 1})`;
}
