/** What one check of `repoconf doctor` found. A note is worth knowing and harmless; a problem wants to be fixed. */
export interface Finding extends Place {
  readonly check: string;
  readonly result: "good" | "note" | "problem";
  readonly message: string;
  /** What to do about it. */
  readonly action?: string;
}

/** Where it was found; line and column from 1. */
export interface Place {
  readonly repo?: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

export function good(check: string, message: string): Finding {
  return { check, result: "good", message };
}

export function note(check: string, message: string, action: string, place: Place = {}): Finding {
  return { check, result: "note", message, action, ...place };
}

export function problem(check: string, message: string, action: string, place: Place = {}): Finding {
  return { check, result: "problem", message, action, ...place };
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
