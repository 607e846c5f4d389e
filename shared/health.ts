import type { HealthProblem } from "./protocol.ts";

/** A problem in one line for people: what is wrong, and where. */
export function describeProblem({ message, line, column }: HealthProblem): string {
  return line === undefined ? message : `${message} (line ${line}, column ${column ?? 1})`;
}
