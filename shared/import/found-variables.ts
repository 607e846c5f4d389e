/** A variable that a file sets. */
export interface FoundVariable {
  readonly name: string;
  readonly text: string;
  /** Its line in the file, if the format has lines. */
  readonly line?: number;
}

/** What a file of variables says. If there are `problems`, nothing of it may be imported. */
export interface FoundVariables {
  /** Each name once. */
  readonly variables: readonly FoundVariable[];
  readonly problems: readonly string[];
  /** Sentences about what a person should know before the import; they quote no values. */
  readonly notes: readonly string[];
}

/** Collects the variables of a file in order. Of a name that is set twice the last text counts, and that is noted. */
export class VariableCollector {
  readonly #variables = new Map<string, FoundVariable>();
  readonly problems: string[] = [];
  readonly notes: string[] = [];

  add(variable: FoundVariable): void {
    const { name, line } = variable;
    const before = this.#variables.get(name);
    if (before !== undefined) {
      const lines = line === undefined ? "twice" : `in line ${before.line} and in line ${line}`;
      this.notes.push(`${name} is set ${lines}; the last one counts.`);
    }
    this.#variables.set(name, variable);
  }

  /** Notes that a text has the form of a reference to another variable, which nothing replaces. */
  noteReference({ name, text, line }: FoundVariable): void {
    // Not as one pattern with its end, which would look for that again from each beginning.
    const begin = text.search(/\$\{[A-Za-z_]/);
    if (!(begin !== -1 && text.includes("}", begin)) && !/\$[A-Z_][A-Z0-9_]+/.test(text)) return;
    const place = line === undefined ? "" : `Line ${line}: `;
    this.notes.push(`${place}${name} refers to another variable, and is kept as text: nothing replaces the reference.`);
  }

  get found(): FoundVariables {
    const { problems, notes } = this;
    return { variables: [...this.#variables.values()], problems, notes };
  }
}

/** Counts the lines of a text up to places that only grow. */
export function lineCounter(text: string): (at: number) => number {
  let [line, counted] = [1, 0];
  return at => {
    for (let next = text.indexOf("\n", counted); next !== -1 && next < at; next = text.indexOf("\n", counted)) {
      line += 1;
      counted = next + 1;
    }
    return line;
  };
}
