import type { JsonObject, JsonValue } from "../../shared/json.ts";
import { type CompiledSchema, SchemaCompiler } from "../../shared/schema/compile-schema.ts";
import { describeSchemaProblem } from "../../shared/schema/describe-problem.ts";
import { SchemaError } from "../../shared/schema/keyword.ts";
import { patternOrUnchecked } from "../../shared/schema/linear-pattern.ts";
import type { SchemaProblem } from "../../shared/schema/schema-walk.ts";
import { SpareSteps } from "../../shared/schema/step-budget.ts";
import type { ScopeSchema, ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { joinPointer, valueAt } from "../../shared/value-edit.ts";
import { unreadMessage, unreadPlaces } from "../state/unread-text.ts";

/** The maximum of shown problems of a value, more than fit on a screen. */
const maxProblems = 100;
const compilers = new WeakMap<object, SchemaCompiler>();
/** Undefined: this key may not see what the schema refers to, so only the daemon checks it. */
const compiled = new WeakMap<object, CompiledSchema | undefined>();

/** A problem of a part of a value. */
export interface ValueProblem {
  /** The members and indexes that lead to the part. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Checks a value against its field's schema, or one within that, as the daemon will. `scope`: the schema that contains it. */
export function checkValue(value: JsonValue, schema: ValueSchema, scope?: ScopeSchema): readonly ValueProblem[] {
  const unread = unreadPlaces(value);
  if (unread.length > 0) return unread.map(path => ({ path, message: unreadMessage }));
  if (!compiled.has(schema)) compiled.set(schema, compile(schema, scope ?? schema));
  const problems = compiled.get(schema)?.check(value, new SpareSteps(), maxProblems, true).problems ?? [];
  return problems.map(problem => describe(problem, value));
}

function compile(schema: ValueSchema, root: object): CompiledSchema | undefined {
  // The daemon only serves JSON.
  const known = compilers.get(root) ?? SchemaCompiler.of(root as JsonObject, patternOrUnchecked);
  compilers.set(root, known);
  try {
    return known.compile(schema as unknown as JsonObject);
  } catch (error) {
    if (error instanceof SchemaError) return undefined;
    throw error;
  }
}

function describe(problem: SchemaProblem, value: JsonValue): ValueProblem {
  const path = problem.path.map(String);
  const message = describeSchemaProblem(problem, valueAt(value, joinPointer(path)));
  if (problem.keyword !== "uniqueItemProperties") return { path, message: `This ${message}.` };
  // Shown at the later one of the two items, at its name.
  const { i, property } = problem.params;
  return { path: [...path, String(i), String(property)], message: `The list ${message}.` };
}
