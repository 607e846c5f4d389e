/**
 * Translates a JavaScript pattern with the flag u into RE2's syntax, and makes sample texts that it matches. The pattern must be
 * valid: JavaScript's own engine has parsed it before.
 */

/** The pattern cannot be expressed in RE2's syntax; `message` says why. */
export class UntranslatableError extends Error {
  override readonly name = "UntranslatableError";
}

/** Numbers from 0 to below 1. */
export type Random = () => number;

interface Part {
  readonly translated: string;
  /** The approximate number of instructions that the engine compiles it to. */
  readonly size: number;
  /** Makes a text that probably matches; `left` limits how many characters and parts it may make. */
  sample(random: Random, left: SampleBudget): string;
}

/** Limits a sample: nested repeats multiply, and thirty of them would never finish. */
interface SampleBudget {
  steps: number;
}

type CodeRange = readonly [from: number, to: number];

/** How deep groups may nest. */
const deepest = 100;
const mostRepeats = 1_000;
/**
 * The largest program that a pattern may compile to. Nested repeats multiply, and compiling a million instructions takes seconds.
 */
export const mostInstructions = 10_000;

const digits: readonly CodeRange[] = [[0x30, 0x39]];
const words: readonly CodeRange[] = [...digits, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const blanks: readonly CodeRange[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const lineEnds: readonly CodeRange[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];
const controls: Readonly<Record<string, number>> = { t: 0x09, n: 0x0a, v: 0x0b, f: 0x0c, r: 0x0d, "0": 0 };
/** The characters tried first as samples for a negated class. */
const likely = ["a", "Z", "5", "_", "-", " ", ".", "\n", "\u00e9", "\u2028", "\u{1f600}"];

/** Throws UntranslatableError. */
export function translatePattern(source: string): Part {
  if (source.length > mostInstructions) throw new UntranslatableError("it is too large");
  const reader = new PatternReader([...source]);
  return reader.alternatives(0);
}

class PatternReader {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(characters: readonly string[]) {
    this.#characters = characters;
  }

  alternatives(depth: number): Part {
    if (depth > deepest) throw new UntranslatableError("its groups are nested too deeply");
    const branches = [this.#sequence(depth)];
    while (this.#take("|")) branches.push(this.#sequence(depth));
    return {
      translated: branches.map(({ translated }) => translated).join("|"),
      size: sizeOf(branches) + branches.length,
      sample: (random, left) => branches[Math.floor(random() * branches.length)]?.sample(random, left) ?? "",
    };
  }

  #sequence(depth: number): Part {
    const parts: Part[] = [];
    for (let next = this.#next(); next !== undefined && next !== "|" && next !== ")"; next = this.#next())
      parts.push(this.#repeated(this.#term(depth)));
    return {
      translated: parts.map(({ translated }) => translated).join(""),
      size: sizeOf(parts),
      sample: (random, left) => parts.map(part => sampleOf(part, random, left)).join(""),
    };
  }

  #repeated(part: Part): Part {
    const bounds = this.#bounds();
    if (bounds === undefined) return part;
    const [least, most] = bounds;
    if (least > mostRepeats || (most !== undefined && most > mostRepeats))
      throw new UntranslatableError("it repeats a part more than 1,000 times");
    const isLazy = this.#take("?");
    const size = (most ?? Math.max(least, 1)) * (part.size + 1);
    if (size > mostInstructions) throw new UntranslatableError("it is too large");
    const times = least === 0 && most === undefined ? "*" : `{${least},${most ?? ""}}`;
    return {
      // In a group, because one JavaScript character may become several in RE2's syntax.
      translated: `(?:${part.translated})${times}${isLazy ? "?" : ""}`,
      size,
      sample: (random, left) => {
        const extra = Math.floor(random() * (Math.min(most ?? least + 3, least + 3) - least + 1));
        let text = "";
        for (let count = 0; count < least + extra && left.steps > 0; count++) text += sampleOf(part, random, left);
        return text;
      },
    };
  }

  /** How often the previous term repeats; `most` undefined means without limit. */
  #bounds(): readonly [least: number, most: number | undefined] | undefined {
    if (this.#take("*")) return [0, undefined];
    if (this.#take("+")) return [1, undefined];
    if (this.#take("?")) return [0, 1];
    if (!this.#take("{")) return undefined;
    const [least = "", most] = this.#until("}").split(",");
    return [Number(least), most === undefined ? Number(least) : most === "" ? undefined : Number(most)];
  }

  #term(depth: number): Part {
    const character = this.#read();
    switch (character) {
      case "^":
        return { translated: "\\A", size: 1, sample: () => "" };
      case "$":
        return { translated: "\\z", size: 1, sample: () => "" };
      case ".":
        return classOf(lineEnds, true);
      case "(":
        return this.#group(depth);
      case "[":
        return this.#class();
      case "\\":
        return this.#escape();
      default:
        return literal(codeOf(character));
    }
  }

  #group(depth: number): Part {
    if (this.#take("?") && !this.#take(":")) {
      const kind = this.#read();
      const isNamed = kind === "<" && this.#next() !== "=" && this.#next() !== "!";
      if (kind === "=" || kind === "!" || (kind === "<" && !isNamed))
        throw new UntranslatableError("lookahead and lookbehind are not supported");
      if (!isNamed) throw new UntranslatableError("inline flags are not supported");
      this.#until(">");
    }
    const inner = this.alternatives(depth + 1);
    this.#read();
    return { ...inner, translated: `(?:${inner.translated})` };
  }

  #escape(): Part {
    const kind = this.#next();
    if (kind === "b" || kind === "B") {
      this.#read();
      return { translated: `\\${kind}`, size: 1, sample: () => "" };
    }
    if (kind === "k" || (kind !== undefined && /[1-9]/.test(kind)))
      throw new UntranslatableError("backreferences are not supported");
    const item = this.#classItem("\\");
    return typeof item === "number" ? literal(item) : item;
  }

  #class(): Part {
    const isNegated = this.#take("^");
    const ranges: CodeRange[] = [];
    const others: Part[] = [];
    for (let next = this.#read(); next !== "]"; next = this.#read()) {
      const from = this.#classItem(next);
      if (typeof from !== "number") {
        others.push(from);
        continue;
      }
      if (this.#next() === "-" && this.#characters[this.#at + 1] !== "]") {
        this.#read();
        const to = this.#classItem(this.#read());
        if (typeof to !== "number") throw new UntranslatableError("a range ends with a class");
        ranges.push([from, to]);
      } else ranges.push([from, from]);
    }
    const plain = classOf(ranges, isNegated);
    if (others.length === 0) return plain;
    const inner = rangesText(ranges) + others.map(({ translated }) => translated.slice(1, -1)).join("");
    // A nested class stays a class of its own. For a negated class, sample any character.
    const samples = isNegated ? [classOf([], true)] : ranges.length > 0 ? [plain, ...others] : others;
    return {
      translated: `[${isNegated ? "^" : ""}${inner}]`,
      size: 1,
      sample: (random, left) => samples[Math.floor(random() * samples.length)]?.sample(random, left) ?? "",
    };
  }

  /** A character of a class or an escape, as its code point; or a class, whose translation is in brackets. */
  #classItem(first: string): number | Part {
    if (first !== "\\") return codeOf(first);
    const kind = this.#read();
    switch (kind) {
      case "d":
        return classOf(digits, false);
      case "D":
        return classOf(complementOf(digits), false);
      case "w":
        return classOf(words, false);
      case "W":
        return classOf(complementOf(words), false);
      case "s":
        return classOf(blanks, false);
      case "S":
        return classOf(complementOf(blanks), false);
      case "p":
      case "P":
        return this.#property(kind);
      case "b":
        return 0x08;
      case "c":
        return codeOf(this.#read()) % 32;
      case "x":
        return Number.parseInt(this.#read() + this.#read(), 16);
      case "u":
        return this.#unicode();
      default:
        return controls[kind] ?? codeOf(kind);
    }
  }

  #property(kind: string): Part {
    this.#read();
    const name = this.#until("}");
    const expression = new RegExp(`\\${kind}{${name}}`, "u");
    const value = name.replace(/^(Script|sc|General_Category|gc)=/, "");
    let matching: readonly string[] | undefined;
    return {
      translated: `[\\${kind}{${value}}]`,
      size: 1,
      sample: random => {
        // Cached, because a text may need the class a thousand times.
        matching ??= [
          ...likely,
          ...Array.from({ length: 50 }, () => characterAt(Math.floor(random() * 0x3000))),
        ].filter(one => expression.test(one));
        return matching[Math.floor(random() * matching.length)] ?? "a";
      },
    };
  }

  #unicode(): number {
    if (this.#take("{")) return Number.parseInt(this.#until("}"), 16);
    const first = Number.parseInt(this.#several(4), 16);
    const isHalf = first >= 0xd800 && first <= 0xdfff;
    if (!isHalf) return first;
    const rest = this.#characters.slice(this.#at, this.#at + 6).join("");
    const second = /^\\u([dD][c-fC-F][0-9a-fA-F]{2})$/.exec(rest)?.[1];
    if (first >= 0xdc00 || second === undefined) throw new UntranslatableError("it names half of a character");
    this.#several(6);
    return 0x10000 + (first - 0xd800) * 0x400 + (Number.parseInt(second, 16) - 0xdc00);
  }

  #next(): string | undefined {
    return this.#characters[this.#at];
  }

  #read(): string {
    const character = this.#characters[this.#at];
    if (character === undefined) throw new UntranslatableError("it ends too early");
    this.#at += 1;
    return character;
  }

  #several(count: number): string {
    return Array.from({ length: count }, () => this.#read()).join("");
  }

  #take(character: string): boolean {
    if (this.#next() !== character) return false;
    this.#at += 1;
    return true;
  }

  #until(end: string): string {
    let text = "";
    for (let character = this.#read(); character !== end; character = this.#read()) text += character;
    return text;
  }
}

function sizeOf(parts: readonly Part[]): number {
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  if (size > mostInstructions) throw new UntranslatableError("it is too large");
  return size;
}

function sampleOf(part: Part, random: Random, left: SampleBudget): string {
  left.steps -= 1;
  return left.steps < 0 ? "" : part.sample(random, left);
}

function literal(code: number): Part {
  if (code >= 0xd800 && code <= 0xdfff) throw new UntranslatableError("it names half of a character");
  return { translated: codeText(code), size: 1, sample: () => characterAt(code) };
}

function classOf(ranges: readonly CodeRange[], isNegated: boolean): Part {
  const wanted = isNegated ? complementOf(ranges) : ranges;
  // RE2's syntax has no empty class.
  const translated = wanted.length === 0 ? "[^\\x{0}-\\x{10FFFF}]" : `[${rangesText(wanted)}]`;
  return {
    translated,
    size: 1,
    sample: random => {
      const good = likely.filter(one => wanted.some(([from, to]) => codeOf(one) >= from && codeOf(one) <= to));
      const range = wanted[Math.floor(random() * wanted.length)];
      if (range === undefined) return "";
      if (good.length > 0 && (isNegated || random() < 0.5)) return good[Math.floor(random() * good.length)] ?? "";
      const [from, to] = range;
      return characterAt(from + Math.floor(random() * Math.min(to - from + 1, 0x400)));
    },
  };
}

/** All characters outside the ranges. */
function complementOf(ranges: readonly CodeRange[]): CodeRange[] {
  const result: CodeRange[] = [];
  let next = 0;
  for (const [from, to] of ranges.toSorted(([one], [other]) => one - other)) {
    if (from > next) result.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= 0x10ffff) result.push([next, 0x10ffff]);
  return result;
}

function rangesText(ranges: readonly CodeRange[]): string {
  return ranges.map(([from, to]) => (from === to ? codeText(from) : `${codeText(from)}-${codeText(to)}`)).join("");
}

function codeText(code: number): string {
  const character = characterAt(code);
  return /^[A-Za-z0-9]$/.test(character) ? character : `\\x{${code.toString(16)}}`;
}

function characterAt(code: number): string {
  return String.fromCodePoint(code);
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
