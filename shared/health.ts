import type { HealthProblem } from "./protocol.ts";

/**
 * Whether it is only a note and not a problem of the file: the file was merged (1104) or uses an old field name (1115), or something was
 * found that a person should know (1116).
 */
export function isNote({ code }: HealthProblem): boolean {
  return code === 1104 || code === 1115 || code === 1116;
}

export function problemsIn(health: readonly HealthProblem[]): readonly HealthProblem[] {
  return health.filter(problem => !isNote(problem));
}

/** A problem and its position in one line for people. */
export function describeProblem({ message, line, column }: HealthProblem): string {
  return line === undefined ? message : `${message} (line ${line}, column ${column ?? 1})`;
}
