import type { JsonObject, JsonValue } from "../../shared/json.ts";
import { type CompiledSchema, SchemaCompiler, SchemaError } from "../../shared/schema/compile-schema.ts";
import type { SchemaProblem } from "../../shared/schema/schema-walk.ts";
import { OutOfStepsError, SpareSteps } from "../../shared/schema/step-budget.ts";
import type { FieldSchema, ScopeSchema, ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { unreadMessage, unreadPlaces } from "../state/unread-text.ts";
import { boundsText } from "./limits.ts";
import { makePattern } from "./patterns.ts";

/** The maximum of shown problems of a value, more than fit on a screen. */
const mostProblems = 100;
const compilers = new WeakMap<object, SchemaCompiler>();
/** Undefined: this key may not see what the schema refers to, so only the daemon checks it. */
const compiled = new WeakMap<object, CompiledSchema | undefined>();

/** A problem of a part of a value. */
export interface ValueProblem {
  /** The members and indexes that lead to the part. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Checks a value against its field's schema, as the daemon will. `scope`: the schema that contains the field. */
export function checkValue(value: JsonValue, schema: FieldSchema, scope?: ScopeSchema): readonly ValueProblem[] {
  const unread = unreadPlaces(value);
  if (unread.length > 0) return unread.map(path => ({ path, message: unreadMessage }));
  if (!compiled.has(schema)) compiled.set(schema, compile(schema, scope ?? schema));
  try {
    const problems = compiled.get(schema)?.check(value, new SpareSteps(), mostProblems).problems ?? [];
    return problems.map(problem => ({ path: pathOf(problem), message: describe(problem) }));
  } catch (error) {
    if (!(error instanceof OutOfStepsError)) throw error;
    return [{ path: [], message: "Takes too long to check. Make it smaller." }];
  }
}

function compile(schema: FieldSchema, root: object): CompiledSchema | undefined {
  // The daemon only serves JSON.
  const known = compilers.get(root) ?? SchemaCompiler.of(root as JsonObject, makePattern);
  compilers.set(root, known);
  try {
    return known.compile(schema as unknown as JsonObject);
  } catch (error) {
    if (error instanceof SchemaError) return undefined;
    throw error;
  }
}

/** For two items with the same name, the part is the name of the later one. */
function pathOf({ path, keyword, params: { i, property } }: SchemaProblem): string[] {
  const inside = keyword === "uniqueItemProperties" ? [i, property] : [];
  return [...path, ...inside].map(String);
}

function describe({ keyword, message, params, parentSchema }: SchemaProblem): string {
  const expected = parentSchema[keyword];
  switch (keyword) {
    case "minimum":
    case "maximum":
      return `Expected ${boundsText(parentSchema as ValueSchema)}.`;
    case "exclusiveMinimum":
      return `Expected more than ${String(expected)}.`;
    case "exclusiveMaximum":
      return `Expected less than ${String(expected)}.`;
    case "multipleOf":
      return `Expected a multiple of ${String(expected)}.`;
    case "minLength":
      return expected === 1 ? "This must not be empty." : `Expected at least ${String(expected)} characters.`;
    case "maxLength":
      return `Expected at most ${String(expected)} characters.`;
    case "type":
      return expected === "integer"
        ? "Expected a whole number."
        : `Expected ${[expected].flat().map(typeName).join(" or ")}.`;
    case "enum":
      return `Expected one of ${Array.isArray(expected) ? expected.map(one => JSON.stringify(one)).join(", ") : "the known values"}.`;
    case "pattern":
      return typeof parentSchema["description"] === "string"
        ? `Invalid format: ${parentSchema["description"]}`
        : `Expected text that matches the pattern ${String(expected)}.`;
    case "minItems":
    case "minProperties":
      return expected === 1 ? "This must not be empty." : `Expected at least ${String(expected)} entries.`;
    case "maxItems":
    case "maxProperties":
      return `Expected at most ${String(expected)} entries.`;
    case "required":
    case "dependentRequired":
      return `${String(params["missingProperty"])} is missing.`;
    case "additionalProperties":
      return `${String(params["additionalProperty"])} is not allowed here.`;
    case "uniqueItems":
    case "uniqueItemProperties":
      return "This appears twice.";
    default:
      return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  }
}

/** A JSON type in plain words. */
function typeName(type: unknown): string {
  switch (type) {
    case "string":
      return "a text";
    case "integer":
      return "a whole number";
    case "boolean":
      return "on or off";
    case "array":
      return "a list";
    case "null":
      return "nothing";
    default:
      return type === "object" ? "named entries" : "a number";
  }
}
