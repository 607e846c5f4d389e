import { RE2JS } from "re2js";
import { shortened } from "../shortened.ts";
import { SchemaError } from "./compile-schema.ts";
import { nativePattern } from "./native-pattern.ts";
import type { TextPattern } from "./schema-walk.ts";
import type { StepBudget } from "./step-budget.ts";
import { mostInstructions, translatePattern, UntranslatableError } from "./translate-pattern.ts";

/**
 * The steps that matching costs: for each text, for each character, for each state the engine has not cached yet, and for each
 * instruction it then checks. Measured so that every step takes about the same time: a million take 40 ms.
 */
const [stepsOfText, stepsOfCharacter, stepsOfNew, stepsOfInstruction] = [4, 1, 35, 2];

/**
 * Compiles a JavaScript pattern with the flag u, as `pattern` and `patternProperties` define it, for RE2, which never backtracks:
 * no text can make it slow. Throws SchemaError if RE2 does not support the pattern.
 */
export function linearPattern(source: string): TextPattern {
  assertIsPattern(source);
  const engine = engineOf(source);
  const instructions = engine.programSize();
  if (instructions > mostInstructions) throw cannotUse(source, "it is too large");
  const counted = countSteps(engine, instructions);
  const matcher = engine.re2();
  return {
    test: (text: string, budget: StepBudget) => {
      budget.take(stepsOfText + text.length * stepsOfCharacter);
      counted.budget = budget;
      // `engine.test` first checks the argument's type, which takes as long as matching a short text.
      return matcher.match(text);
    },
  };
}

/** A state of the engine's DFA: its NFA instructions, and the next state for each class of characters, as far as it is cached. */
interface EngineState {
  readonly nfaStates: readonly number[];
  readonly next: readonly unknown[] | null;
}

/**
 * Counts the engine's uncached steps by wrapping its methods, because only the engine knows what is cached. Repeating a text is a
 * hundred times cheaper.
 */
function countSteps(engine: RE2JS, instructions: number): { budget: StepBudget | undefined } {
  const counted: { budget: StepBudget | undefined } = { budget: undefined };
  const { dfa } = engine.re2();
  const [step, match] = [dfa.step.bind(dfa), dfa.match.bind(dfa)];
  dfa.step = (state: EngineState, kind: number, character: number, anchor: number) => {
    const isKnown = (state.next?.[kind] ?? null) !== null;
    const next: EngineState | null = step(state, kind, character, anchor);
    const states = next?.nfaStates.length ?? instructions;
    if (!isKnown) counted.budget?.take(stepsOfNew + dfa.numClasses / 100 + states * stepsOfInstruction);
    return next;
  };
  dfa.match = (...given: Parameters<typeof match>) => {
    const found: boolean | null = match(...given);
    // The cache is full, so the engine falls back to its NFA, which checks all instructions for each character.
    if (found === null)
      counted.budget?.take(given[0].endPos() * (stepsOfCharacter + instructions * stepsOfInstruction));
    return found;
  };
  return counted;
}

function assertIsPattern(source: string): void {
  try {
    nativePattern(source);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*: /, "") : String(error);
    throw cannotUse(source, `it is not a valid regular expression (${reason})`);
  }
}

function engineOf(source: string): RE2JS {
  try {
    return RE2JS.compile(translatePattern(source).translated);
  } catch (error) {
    if (error instanceof UntranslatableError) throw cannotUse(source, error.message);
    const reason = error instanceof Error ? error.message : String(error);
    throw cannotUse(source, /repeat/.test(reason) ? "it repeats a part more than 1,000 times" : reason);
  }
}

/** Characters of a pattern that a message quotes. */
const mostShown = 80;

export function cannotUse(source: string, reason: string): SchemaError {
  return new SchemaError(`its pattern ${shortened(source, mostShown)} is not accepted: ${reason}`);
}
