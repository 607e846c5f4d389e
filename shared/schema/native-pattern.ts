import type { TextPattern } from "./schema-walk.ts";
import { charactersOfPart } from "./step-budget.ts";

/** A pattern for the engine that is there: for those that are part of the program, and take no longer than the text is long. */
export function nativePattern(source: string): TextPattern {
  const expression = new RegExp(source, "u");
  return {
    test: (text, budget) => {
      budget.take(1 + Math.floor(text.length / charactersOfPart));
      return expression.test(text);
    },
  };
}
