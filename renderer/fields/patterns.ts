import { type PatternMaker, SchemaError } from "../../shared/schema/compile-schema.ts";
import { nativePattern } from "../../shared/schema/native-pattern.ts";
import { patternsIn } from "../../shared/schema/patterns-in.ts";
import { svcSchema } from "../../shared/scopes/svc.ts";

/** Built-in patterns use the browser's engine; they are fast for any text. */
const builtIn = new Set(patternsIn(svcSchema));
let linear: PatternMaker | undefined;

/** Loads the engine for the patterns of scopes that people added, only if there are any: it is a third of the screen's size. */
export async function loadPatterns(scopes: readonly { readonly schema: object }[]): Promise<void> {
  const isNeeded = scopes.some(({ schema }) => [...patternsIn(schema)].some(pattern => !builtIn.has(pattern)));
  if (!isNeeded || linear !== undefined) return;
  // Without the engine, only the daemon checks them.
  linear = (await import("../../shared/schema/linear-pattern.ts").catch(() => undefined))?.linearPattern;
}

/** Uses the same engines as the daemon. */
export const makePattern: PatternMaker = source => {
  if (builtIn.has(source)) return nativePattern(source);
  // Without the engine, only the daemon checks such a field.
  if (linear === undefined) throw new SchemaError("the pattern engine is not loaded");
  return linear(source);
};
