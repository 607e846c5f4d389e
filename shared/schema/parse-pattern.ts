/**
 * Reads a JavaScript pattern with the flag u into a program that linear-pattern.ts runs. The pattern must be valid: JavaScript's
 * own engine has parsed it before. That engine also decides which characters a class such as `[^a-f\d]` or `\p{Lu}` contains.
 */

/** The pattern uses something that takes more than linear time, or it is too large; `message` says which. */
export class UnsupportedPatternError extends Error {
  override readonly name = "UnsupportedPatternError";
}

/** Something that is true between two characters. */
export type Assertion = "^" | "$" | "\\b" | "\\B";

/** `next` and `targets` are indexes of instructions. */
type Instruction =
  | { readonly kind: "character"; readonly set: number; readonly next: number }
  | { readonly kind: "branch"; readonly targets: number[] }
  | { readonly kind: "assertion"; readonly assertion: Assertion; readonly next: number }
  | { readonly kind: "match" };

export interface PatternProgram {
  readonly instructions: readonly Instruction[];
  /** The index of the first instruction. */
  readonly start: number;
  /** For each set of characters that the instructions refer to: whether it contains a character (a code point). */
  readonly sets: readonly ((character: string) => boolean)[];
}

/** A part of a pattern. */
interface Part {
  /** The maximum number of its instructions. */
  readonly size: number;
  /** Adds its instructions, which continue with the instruction `next`, and returns the first one. */
  emit(program: ProgramWriter, next: number): number;
}

/** How deep groups may nest. */
const maxDepth = 100;
const maxRepeats = 1_000;
/** The largest program. Nested repeats multiply, and running a million instructions for each character takes too long. */
const maxInstructions = 10_000;

/** Escapes, classes, the beginnings of groups, quantifiers, and single characters. */
const token =
  /\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u\{[^}]*\}|\\u.{4}|\\x..|\\c.|\\[pP]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\(\?<?[=!]|\(\?(?::|<[^>]*>)?|(?:[*+?]|\{\d+(?:,\d*)?\})\??|./gsu;
const quantifier = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??$/;

/** Throws UnsupportedPatternError. */
export function parsePattern(source: string): PatternProgram {
  if (source.length > maxInstructions) throw new UnsupportedPatternError("it is too large");
  const pattern = new PatternReader(source.match(token) ?? []).alternatives(0);
  const program = new ProgramWriter();
  const start = pattern.emit(program, program.add({ kind: "match" }));
  return { instructions: program.instructions, start, sets: program.sets };
}

class ProgramWriter {
  readonly instructions: Instruction[] = [];
  readonly sets: ((character: string) => boolean)[] = [];
  readonly #setIndexes = new Map<string, number>();

  /** Returns the index of the added instruction. */
  add(instruction: Instruction): number {
    return this.instructions.push(instruction) - 1;
  }

  /** The index of the set that a class, an escape, `.` or a single character stands for. */
  setOf(source: string): number {
    const known = this.#setIndexes.get(source);
    if (known !== undefined) return known;
    this.#setIndexes.set(source, this.sets.length);
    const expression = /^[\\[.]/.test(source) ? new RegExp(source, "u") : undefined;
    return this.sets.push(character => expression?.test(character) ?? character === source) - 1;
  }
}

class PatternReader {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  alternatives(depth: number): Part {
    if (depth > maxDepth) throw new UnsupportedPatternError("its groups are nested too deeply");
    const branches = [this.#sequence(depth)];
    while (this.#take("|")) branches.push(this.#sequence(depth));
    const [only] = branches;
    if (only !== undefined && branches.length === 1) return only;
    return {
      size: assertFits(totalSize(branches) + 1),
      emit: (program, next) =>
        program.add({ kind: "branch", targets: branches.map(branch => branch.emit(program, next)) }),
    };
  }

  #sequence(depth: number): Part {
    const parts: Part[] = [];
    for (let next = this.#next(); next !== undefined && next !== "|" && next !== ")"; next = this.#next()) {
      this.#at += 1;
      parts.push(this.#repeated(this.#term(next, depth)));
    }
    return {
      size: assertFits(totalSize(parts)),
      emit: (program, next) => parts.reduceRight((following, part) => part.emit(program, following), next),
    };
  }

  #repeated(part: Part): Part {
    const found = quantifier.exec(this.#next() ?? "");
    if (found === null) return part;
    this.#at += 1;
    const [, sign, from = "", comma, to = ""] = found;
    const least = sign === undefined ? Number(from) : sign === "+" ? 1 : 0;
    const most = sign === "?" ? 1 : sign === undefined && (comma === "" || to !== "") ? Number(to || from) : undefined;
    if (least > maxRepeats || (most !== undefined && most > maxRepeats))
      throw new UnsupportedPatternError("it repeats a part more than 1,000 times");
    return {
      size: assertFits((most ?? Math.max(least, 1)) * (part.size + 1)),
      emit: (program, next) => {
        let first = next;
        let copies = least;
        if (most === undefined) {
          const targets: number[] = [];
          const loop = program.add({ kind: "branch", targets });
          targets.push(part.emit(program, loop), next);
          first = least === 0 ? loop : (targets[0] ?? loop);
          copies -= 1;
        } else
          for (let count = least; count < most; count++)
            first = program.add({ kind: "branch", targets: [part.emit(program, first), next] });
        for (let count = 0; count < copies; count++) first = part.emit(program, first);
        return first;
      },
    };
  }

  #term(source: string, depth: number): Part {
    if (source === "^" || source === "$" || source === "\\b" || source === "\\B")
      return { size: 1, emit: (program, next) => program.add({ kind: "assertion", assertion: source, next }) };
    if (source.startsWith("(")) return this.#group(source, depth);
    if (/^\\[1-9k]/.test(source)) throw new UnsupportedPatternError("backreferences are not supported");
    return {
      size: 1,
      emit: (program, next) => program.add({ kind: "character", set: program.setOf(source), next }),
    };
  }

  #group(opening: string, depth: number): Part {
    if (/[=!]$/.test(opening)) throw new UnsupportedPatternError("lookahead and lookbehind are not supported");
    if (opening === "(?") throw new UnsupportedPatternError("inline flags are not supported");
    const inner = this.alternatives(depth + 1);
    this.#take(")");
    return inner;
  }

  #next(): string | undefined {
    return this.#tokens[this.#at];
  }

  #take(wanted: string): boolean {
    if (this.#next() !== wanted) return false;
    this.#at += 1;
    return true;
  }
}

function totalSize(parts: readonly Part[]): number {
  return parts.reduce((sum, { size }) => sum + size, 0);
}

function assertFits(size: number): number {
  if (size > maxInstructions) throw new UnsupportedPatternError("it is too large");
  return size;
}
