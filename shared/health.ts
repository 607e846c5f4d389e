import type { HealthProblem } from "./protocol.ts";

/** Worth knowing, and nothing is wrong: the file was merged (1104), or has a field that is to be written otherwise (1115). */
export function isNote({ code }: HealthProblem): boolean {
  return code === 1104 || code === 1115;
}

/** What is wrong with a file. */
export function problemsIn(health: readonly HealthProblem[]): readonly HealthProblem[] {
  return health.filter(problem => !isNote(problem));
}

/** A problem in one line for people: what is wrong, and where. */
export function describeProblem({ message, line, column }: HealthProblem): string {
  return line === undefined ? message : `${message} (line ${line}, column ${column ?? 1})`;
}
