import { type PatternMaker, SchemaError } from "../../shared/schema/compile-schema.ts";
import { nativePattern } from "../../shared/schema/native-pattern.ts";
import { patternsIn } from "../../shared/schema/patterns-in.ts";
import { svcSchema } from "../../shared/scopes/svc.ts";

/** Those that are part of the program are the browser's; no text takes them long. */
const builtIn = new Set(patternsIn(svcSchema));
let linear: PatternMaker | undefined;

/** Loads the engine for the patterns of scopes that people added, only if there are any: it is a third of the screen's size. */
export async function loadPatterns(scopes: readonly { readonly schema: object }[]): Promise<void> {
  const isNeeded = scopes.some(({ schema }) => [...patternsIn(schema)].some(pattern => !builtIn.has(pattern)));
  if (!isNeeded || linear !== undefined) return;
  // Without it the daemon alone checks them.
  linear = (await import("../../shared/schema/linear-pattern.ts").catch(() => undefined))?.linearPattern;
}

/** The same engines as the daemon's. */
export const makePattern: PatternMaker = source => {
  if (builtIn.has(source)) return nativePattern(source);
  // What is not known cannot be told: the daemon alone checks such a field.
  if (linear === undefined) throw new SchemaError("the pattern engine is not loaded");
  return linear(source);
};
