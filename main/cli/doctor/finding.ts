/** The result of one check of `repoconf doctor`. Notes are harmless; problems must be fixed. */
export interface Finding extends Location {
  readonly check: string;
  readonly result: "good" | "note" | "problem";
  readonly message: string;
  /** The next step for the user. */
  readonly action?: string;
}

/** Where it was found. Line and column start at 1. */
export interface Location {
  readonly repo?: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

export function good(check: string, message: string): Finding {
  return { check, result: "good", message };
}

export function note(check: string, message: string, action: string, location: Location = {}): Finding {
  return { check, result: "note", message, action, ...location };
}

export function problem(check: string, message: string, action: string, location: Location = {}): Finding {
  return { check, result: "problem", message, action, ...location };
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
