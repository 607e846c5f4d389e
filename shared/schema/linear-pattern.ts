import { RE2JS } from "re2js";
import { shortened } from "../shortened.ts";
import { SchemaError } from "./compile-schema.ts";
import { nativePattern } from "./native-pattern.ts";
import type { TextPattern } from "./schema-walk.ts";
import type { StepBudget } from "./step-budget.ts";
import { mostInstructions, translatePattern, UntranslatableError } from "./translate-pattern.ts";

/**
 * Steps for a text and for each of its characters; and where the engine has not met one in that state before, so many, and for each
 * instruction that it checks. Measured, so that no step takes longer than another: a million of them 40 ms.
 */
const [stepsOfText, stepsOfCharacter, stepsOfNew, stepsOfInstruction] = [4, 1, 35, 2];

/**
 * A pattern (as `pattern` and `patternProperties` have it: JavaScript's, with the flag u) for an engine that never goes back in the text, so
 * that no text takes long. Throws SchemaError where that engine cannot do it.
 */
export function linearPattern(source: string): TextPattern {
  assertIsPattern(source);
  const engine = engineOf(source);
  const instructions = engine.programSize();
  if (instructions > mostInstructions) throw cannotUse(source, "it is too large");
  const counted = countSteps(engine, instructions);
  return {
    test: (text: string, budget: StepBudget) => {
      budget.take(stepsOfText + text.length * stepsOfCharacter);
      counted.budget = budget;
      return engine.test(text);
    },
  };
}

/** As the engine has it: the instructions that may follow, and what follows by the kinds of characters, as far as that is known. */
interface EngineState {
  readonly nfaStates: readonly number[];
  readonly next: readonly unknown[] | null;
}

/**
 * Has the engine count what it does for the first time, as it does it: it keeps what it finds out, so the same text costs a hundred times less
 * the next time. Only it knows which is which.
 */
function countSteps(engine: RE2JS, instructions: number): { budget: StepBudget | undefined } {
  const counted: { budget: StepBudget | undefined } = { budget: undefined };
  const { dfa } = engine.re2();
  const [step, match] = [dfa.step.bind(dfa), dfa.match.bind(dfa)];
  dfa.step = (state: EngineState, kind: number, character: number, anchor: number) => {
    const isKnown = (state.next?.[kind] ?? null) !== null;
    const next: EngineState | null = step(state, kind, character, anchor);
    const looked = next?.nfaStates.length ?? instructions;
    if (!isKnown) counted.budget?.take(stepsOfNew + dfa.numClasses / 100 + looked * stepsOfInstruction);
    return next;
  };
  dfa.match = (...given: Parameters<typeof match>) => {
    const found: boolean | null = match(...given);
    // It has no more room for what it finds out: another engine follows, which checks all instructions for each character.
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

/** Characters of a pattern that are told. */
const mostShown = 80;

export function cannotUse(source: string, reason: string): SchemaError {
  return new SchemaError(`its pattern ${shortened(source, mostShown)} is not accepted: ${reason}`);
}
