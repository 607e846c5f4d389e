import { shortened } from "../shortened.ts";
import { SchemaError } from "./keyword.ts";
import { type Assertion, type PatternProgram, parsePattern, UnsupportedPatternError } from "./parse-pattern.ts";
import type { TextPattern } from "./schema-walk.ts";
import type { StepBudget } from "./step-budget.ts";

/**
 * The steps that matching costs: for each text, for each character, for each set that a new character is compared with, for each state
 * that is reached for the first time, and for each instruction that is then checked. Measured so that every step takes about the same
 * time: a million take 40 ms.
 */
const [stepsOfText, stepsOfCharacter, stepsOfSet, stepsOfNew, stepsOfInstruction] = [4, 1, 10, 35, 2];
/** What a pattern keeps of earlier texts: so many instructions, steps and sets together, and the classes of so many characters. */
const [maxKept, maxCharacters] = [100_000, 5_000];
/** JavaScript's engine takes up to a millisecond to prepare each. */
const maxProperties = 40;
/** Characters of a pattern that a message quotes. */
const maxShown = 80;

/** A pattern that this engine cannot follow, such as one with lookahead. */
class UnsupportedPattern extends SchemaError {
  readonly reason: string;

  constructor(source: string, reason: string) {
    super(`${quoted(source)} is not accepted: ${reason}`);
    this.reason = reason;
  }
}

/** Stands for a pattern that is not supported: any text may match it, so that no value is refused because of it. */
class UncheckedPattern implements TextPattern {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }

  test(_: string, budget: StepBudget): boolean {
    budget.doubts += 1;
    return true;
  }
}

/** Why a pattern of `patternOrUnchecked` is not checked; undefined if it is. */
export function whyUnchecked(pattern: TextPattern): string | undefined {
  return pattern instanceof UncheckedPattern ? pattern.reason : undefined;
}

/** Like `linearPattern`, but what is not supported becomes a pattern that is not checked. Throws SchemaError if it is invalid. */
export function patternOrUnchecked(source: string): TextPattern {
  try {
    return linearPattern(source);
  } catch (error) {
    if (!(error instanceof UnsupportedPattern)) throw error;
    return new UncheckedPattern(error.reason);
  }
}

/**
 * Compiles a JavaScript pattern with the flag u, as `pattern` and `patternProperties` define it. It never backtracks: it follows
 * all possible ways through the pattern at once, one character after the other, so no text can make it slow. Throws SchemaError if
 * the pattern is invalid or not supported.
 */
export function linearPattern(source: string): TextPattern {
  if ((source.match(/\\[pP]\{/g)?.length ?? 0) > maxProperties)
    throw new UnsupportedPattern(source, `it has more than ${maxProperties} classes of the form \\p{...}`);
  const invalid = whyInvalid(source, "u");
  if (invalid !== undefined && whyInvalid(source, "") === undefined)
    throw new UnsupportedPattern(source, `it is only valid without the flag u (${invalid})`);
  if (invalid !== undefined)
    throw new SchemaError(`${quoted(source)} is not accepted: it is not a valid regular expression (${invalid})`);
  try {
    return new LinearPattern(parsePattern(source));
  } catch (error) {
    if (error instanceof UnsupportedPatternError) throw new UnsupportedPattern(source, error.message);
    throw error;
  }
}

function whyInvalid(source: string, flags: string): string | undefined {
  try {
    new RegExp(source, flags);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^.*: /, "") : String(error);
  }
}

function quoted(source: string): string {
  return `its pattern ${shortened(source, maxShown)}`;
}

/** The characters that all sets of the pattern treat alike. */
interface CharacterClass {
  /** The sets that contain them. */
  readonly sets: ReadonlySet<number>;
  /** Whether `\b` counts them as part of a word. */
  readonly isWord: boolean;
}

/** How far the pattern has been followed when some text was read. */
interface State {
  /** The instructions that go on from there. */
  readonly pending: readonly number[];
  readonly isAfterWord: boolean;
  /** The next state, by the class of the next character, as far as it is known. */
  readonly next: Map<CharacterClass, State>;
}

/** The state once some part of the text has matched. */
const matched: State = { pending: [], isAfterWord: false, next: new Map() };
const endOfText: CharacterClass = { sets: new Set(), isWord: false };

class LinearPattern implements TextPattern {
  readonly #program: PatternProgram;
  readonly #hasBoundaries: boolean;
  readonly #start: State;
  readonly #states = new Map<string, State>();
  #kept = 0;
  readonly #classes = new Map<string, CharacterClass>();
  /** The classes of characters (code points) that texts have had. */
  readonly #characters = new Map<number, CharacterClass>();

  constructor(program: PatternProgram) {
    this.#program = program;
    this.#hasBoundaries = program.instructions.some(
      one => one.kind === "assertion" && (one.assertion === "\\b" || one.assertion === "\\B"),
    );
    this.#start = { pending: [program.start], isAfterWord: false, next: new Map() };
  }

  test(text: string, budget: StepBudget): boolean {
    budget.take(stepsOfText + text.length * stepsOfCharacter);
    let state = this.#start;
    for (let at = 0; at < text.length; at++) {
      const code = text.codePointAt(at) ?? 0;
      if (code > 0xffff) at += 1;
      const character = this.#characters.get(code) ?? this.#classOf(code, budget);
      state = state.next.get(character) ?? this.#step(state, character, budget);
      if (state === matched) return true;
    }
    return (state.next.get(endOfText) ?? this.#step(state, endOfText, budget)) === matched;
  }

  #classOf(code: number, budget: StepBudget): CharacterClass {
    const { sets } = this.#program;
    budget.take(sets.length * stepsOfSet);
    const character = String.fromCodePoint(code);
    const containing = [...sets.keys()].filter(index => sets[index]?.(character));
    const isWord = /\w/.test(character);
    const key = `${containing.join()}${this.#hasBoundaries && isWord ? "w" : ""}`;
    const known = this.#classes.get(key);
    const found = known ?? { sets: new Set(containing), isWord };
    if (known === undefined) this.#keep(containing.length);
    this.#classes.set(key, found);
    if (this.#characters.size >= maxCharacters) this.#characters.clear();
    this.#characters.set(code, found);
    return found;
  }

  #step(state: State, character: CharacterClass, budget: StepBudget): State {
    const { instructions, start } = this.#program;
    const holds: Record<Assertion, boolean> = {
      "^": state === this.#start,
      $: character === endOfText,
      "\\b": state.isAfterWord !== character.isWord,
      "\\B": state.isAfterWord === character.isWord,
    };
    // A match may begin at any character.
    const next = new Set([start]);
    // What is added during the loop is visited too.
    const visited = new Set(state.pending);
    let isMatch = false;
    for (const index of visited) {
      const instruction = instructions[index];
      if (instruction?.kind === "branch") for (const target of instruction.targets) visited.add(target);
      else if (instruction?.kind === "assertion" && holds[instruction.assertion]) visited.add(instruction.next);
      else if (instruction?.kind === "character" && character.sets.has(instruction.set)) next.add(instruction.next);
      else if (instruction?.kind === "match") isMatch = true;
    }
    budget.take(stepsOfNew + visited.size * stepsOfInstruction);
    const found = isMatch ? matched : this.#stateOf(next, this.#hasBoundaries && character.isWord);
    this.#keep(1);
    state.next.set(character, found);
    return found;
  }

  #stateOf(instructions: ReadonlySet<number>, isAfterWord: boolean): State {
    const pending = [...Uint16Array.from(instructions).sort()];
    const key = `${isAfterWord ? "w" : ""}${String.fromCharCode(...pending)}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    this.#keep(pending.length);
    const state: State = { pending, isAfterWord, next: new Map() };
    this.#states.set(key, state);
    return state;
  }

  /** Counts what is about to be kept, and forgets everything else if that is too much. */
  #keep(count: number): void {
    this.#kept += count;
    if (this.#kept <= maxKept) return;
    this.#states.clear();
    this.#classes.clear();
    this.#characters.clear();
    this.#start.next.clear();
    this.#kept = count;
  }
}
