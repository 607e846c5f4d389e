import { createContext, Script } from "node:vm";
import { cannotUse, linearPattern } from "../../shared/schema/linear-pattern.ts";
import type { TextPattern } from "../../shared/schema/schema-walk.ts";
import { OutOfStepsError, SpareSteps, StepBudget } from "../../shared/schema/step-budget.ts";
import { type Random, translatePattern } from "../../shared/schema/translate-pattern.ts";

/** The number of texts generated for each pattern, and the maximum length of one. */
const [textCount, longestText] = [200, 24];
/** The maximum number of parts generated for one text, before it is cut. */
const sampleSteps = 1_000;
/** The maximum number of steps of our engine, for all texts of a pattern together. */
const comparedSteps = 300_000;
/** Milliseconds after which the built-in engine is stopped, for all texts of a pattern together: it may run forever. */
const nativeTime = 20;

/** Texts that patterns often get wrong: line ends, blanks, digits and letters of other scripts, lone surrogates. */
const odd = [
  "",
  "\n",
  "a\n",
  "\r\n",
  "\u2028",
  "\u00a0",
  "\ufeff",
  "\u0085",
  "\u0661",
  "\u00df",
  "\u017f",
  "\u212a",
  "\ud800",
  "\u{1f600}",
  "_",
  "\0",
];

/**
 * Like `linearPattern`, but first compares its answers with those of the built-in engine for generated texts. Throws SchemaError
 * if they differ: editors and other tools would accept what is refused here, or the other way round.
 */
export function comparedPattern(source: string): TextPattern {
  const pattern = linearPattern(source);
  const texts = textsFor(source);
  const different = firstDifference(pattern, nativeAnswers(source, texts), texts);
  if (different === undefined) return pattern;
  throw cannotUse(
    source,
    `regular expression engines disagree about it, for example for the text ${JSON.stringify(different)}`,
  );
}

/** The first text with different answers; undefined if there is none, or none before the steps run out. */
function firstDifference(
  pattern: TextPattern,
  native: readonly boolean[],
  texts: readonly string[],
): string | undefined {
  const budget = new StepBudget(1, new SpareSteps(comparedSteps));
  try {
    return texts.slice(0, native.length).find((text, index) => pattern.test(text, budget) !== native[index]);
  } catch (error) {
    if (error instanceof OutOfStepsError) return undefined;
    throw error;
  }
}

/** Texts that the pattern matches or nearly matches, and the odd ones. Always the same for a pattern. */
export function textsFor(source: string): readonly string[] {
  const random = randomNumbers(source.length + 1);
  const { sample } = translatePattern(source);
  const texts = [...odd];
  while (texts.length < textCount) {
    const text = sample(random, { steps: sampleSteps }).slice(0, longestText);
    const at = Math.floor(random() * (text.length + 1));
    const other = odd[Math.floor(random() * odd.length)] ?? "";
    texts.push(text, text.slice(0, at) + other + text.slice(at + 1), text.slice(0, at) + text.slice(at + 1));
  }
  return texts;
}

const context = createContext({});
const run = new Script("for (const text of texts) answers.push(pattern.test(text));");

/** The built-in engine's answers for the first texts, as many as it had time for. */
function nativeAnswers(source: string, texts: readonly string[]): readonly boolean[] {
  const answers: boolean[] = [];
  Object.assign(context, { pattern: new RegExp(source, "u"), texts, answers });
  try {
    run.runInContext(context, { timeout: nativeTime });
  } catch (error) {
    // An error of the context's own realm.
    const wasEnded = isObject(error) && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    if (!wasEnded) throw error;
  }
  return answers;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Marsaglia's xorshift. */
function randomNumbers(seed: number): Random {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
