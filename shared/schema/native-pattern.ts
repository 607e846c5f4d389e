import type { TextPattern } from "./schema-walk.ts";
import { charactersOfPart } from "./step-budget.ts";

/** Uses JavaScript's own regular expressions. Only for the program's own patterns, which are known to take linear time. */
export function nativePattern(source: string): TextPattern {
  const expression = new RegExp(source, "u");
  return {
    test: (text, budget) => {
      budget.take(1 + Math.floor(text.length / charactersOfPart));
      return expression.test(text);
    },
  };
}
