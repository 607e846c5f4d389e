/** The JSON Schema keywords for all types, strings and numbers, and the table of all keywords. */
import { canonicalJson, isJsonObject, type JsonValue } from "../json.ts";
import { makeAnyOf, makeOneOf } from "./alternatives.ts";
import { arrayKeywords } from "./array-keywords.ts";
import { formats } from "./formats.ts";
import { type KeywordContext, type KeywordMaker, numberOf, schemasOf } from "./keyword.ts";
import { objectKeywords } from "./object-keywords.ts";
import { type SchemaCheck, Seen } from "./schema-walk.ts";
import { charactersOfPart, partsOf } from "./step-budget.ts";

/**
 * In the order in which they are checked. The `unevaluated` keywords come last because they need to know what the others checked.
 */
export const keywords: ReadonlyMap<string, KeywordMaker> = new Map<string, KeywordMaker>([
  ["type", makeType],
  ["maximum", makeBound((value, limit) => value <= limit)],
  ["minimum", makeBound((value, limit) => value >= limit)],
  ["exclusiveMaximum", makeBound((value, limit) => value < limit)],
  ["exclusiveMinimum", makeBound((value, limit) => value > limit)],
  ["multipleOf", makeMultipleOf],
  ["maxLength", makeLength((length, limit) => length <= limit)],
  ["minLength", makeLength((length, limit) => length >= limit)],
  ["pattern", makePattern],
  ["format", makeFormat],
  ["$ref", makeReference],
  ["$dynamicRef", makeReference],
  ["const", makeConst],
  ["enum", makeEnum],
  ["not", makeNot],
  ["anyOf", makeAnyOf],
  ["oneOf", makeOneOf],
  ["allOf", makeAllOf],
  ["if", makeIf],
  ...arrayKeywords,
  ...objectKeywords,
]);

const types: Readonly<Record<string, (value: JsonValue) => boolean>> = {
  null: value => value === null,
  boolean: value => typeof value === "boolean",
  string: value => typeof value === "string",
  number: value => typeof value === "number",
  // Unlike in JSON Schema: a client may have rounded a larger one, as JavaScript does, before the value came here.
  integer: value => Number.isSafeInteger(value),
  array: value => Array.isArray(value),
  object: isJsonObject,
};

function makeType(operand: JsonValue, { schema, refuse }: KeywordContext): SchemaCheck {
  const names: readonly JsonValue[] = [...new Set<JsonValue>(Array.isArray(operand) ? operand : [operand])];
  const tests = names.map(name => {
    const test = typeof name === "string" && Object.hasOwn(types, name) ? types[name] : undefined;
    return test ?? refuse(`${JSON.stringify(name)} is not a type`);
  });
  return (value, walk) => tests.some(test => test(value)) || walk.fail(schema, "type", { type: operand });
}

function makeBound(keeps: (value: number, limit: number) => boolean): KeywordMaker {
  return (operand, context, keyword) => {
    const limit = numberOf(operand, context, keyword);
    return (value, walk) =>
      typeof value !== "number" || keeps(value, limit) || walk.fail(context.schema, keyword, { limit });
  };
}

function makeMultipleOf(operand: JsonValue, context: KeywordContext): SchemaCheck {
  const step = numberOf(operand, context, "multipleOf");
  if (step <= 0) context.refuse("its multipleOf is not greater than 0");
  return (value, walk) =>
    typeof value !== "number" ||
    isMultiple(value, step) ||
    walk.fail(context.schema, "multipleOf", { multipleOf: step });
}

/**
 * Whether `value` is a multiple of `step`, allowing for rounding: 0.3 counts as three times 0.1, although neither number is
 * exact.
 */
function isMultiple(value: number, step: number): boolean {
  if (Number.isInteger(step)) return value % step === 0;
  const times = value / step;
  // The division overflowed: the value is huge and the step tiny, and such a value is a multiple of any such step.
  if (!Number.isFinite(times)) return true;
  return Math.abs(times - Math.round(times)) <= Number.EPSILON * Math.abs(times);
}

/** Counts characters (code points), not UTF-16 units. */
function makeLength(keeps: (length: number, limit: number) => boolean): KeywordMaker {
  return (operand, context, keyword) => {
    const limit = numberOf(operand, context, keyword);
    return (value, walk) => {
      if (typeof value !== "string") return true;
      walk.budget.take(Math.floor(value.length / charactersOfPart));
      return keeps(charactersIn(value), limit) || walk.fail(context.schema, keyword, { limit });
    };
  };
}

function charactersIn(text: string): number {
  let count = text.length;
  for (let at = 0; at + 1 < text.length; at++) {
    const isPair = (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
    if (!isPair) continue;
    count -= 1;
    at += 1;
  }
  return count;
}

function makePattern(operand: JsonValue, { schema, pattern, refuse }: KeywordContext): SchemaCheck {
  if (typeof operand !== "string") return refuse("its pattern is not a string");
  const made = pattern(operand);
  return (value, walk) =>
    typeof value !== "string" || made.test(value, walk.budget) || walk.fail(schema, "pattern", { pattern: operand });
}

/** Only new values have to have a format: in others it is taken as right, also where that does not make a value valid. */
function makeFormat(operand: JsonValue, { schema }: KeywordContext): SchemaCheck | undefined {
  const format = typeof operand === "string" ? formats.get(operand) : undefined;
  if (format === undefined) return undefined;
  return (value, walk) => {
    if (typeof value !== "string") return true;
    walk.budget.take(1 + Math.floor(value.length / charactersOfPart));
    if (walk.checksFormats) return format.test(value) || walk.fail(schema, "format", { format: operand });
    walk.budget.doubts += 1;
    return true;
  };
}

function makeReference(operand: JsonValue, { resolve, refuse }: KeywordContext, keyword: string): SchemaCheck {
  if (typeof operand !== "string") return refuse(`its ${keyword} is not a string`);
  const target = resolve(operand);
  return (value, walk, seen) => walk.visit(target, value, seen);
}

function makeConst(operand: JsonValue, { schema }: KeywordContext): SchemaCheck {
  const wanted = canonicalJson(operand);
  const parts = partsOf(operand);
  return (value, walk) => {
    const mayBe = typeof value === typeof operand && partsOf(value) <= parts;
    walk.budget.take(partsOf(value));
    const isEqual = mayBe && canonicalJson(value) === wanted;
    return isEqual ? walk.equals() : walk.fail(schema, "const", { allowedValue: operand });
  };
}

function makeEnum(operand: JsonValue, { schema, refuse }: KeywordContext): SchemaCheck {
  if (!Array.isArray(operand)) return refuse("its enum is not an array");
  const allowed = new Set(operand.map(canonicalJson));
  return (value, walk) => {
    walk.budget.take(partsOf(value));
    const isListed = allowed.has(canonicalJson(value));
    // One value is what `const` was before draft-06.
    if (isListed) return allowed.size > 1 || walk.equals();
    return walk.fail(schema, "enum", { allowedValues: operand });
  };
}

function makeNot(operand: JsonValue, { schema, compile }: KeywordContext): SchemaCheck {
  const inner = compile(operand);
  return (value, walk) => {
    const { doubts } = walk.budget;
    return !walk.isSo(() => walk.visit(inner, value)) || walk.budget.doubts > doubts || walk.fail(schema, "not");
  };
}

function makeAllOf(operand: JsonValue, context: KeywordContext, keyword: string): SchemaCheck {
  const branches = schemasOf(operand, context, keyword);
  return (value, walk, seen) => {
    walk.budget.take(branches.length);
    let good = true;
    for (const branch of branches) {
      if (walk.visit(branch, value, seen)) continue;
      good = false;
      if (walk.endsAtFirst) break;
    }
    return good;
  };
}

function makeIf(operand: JsonValue, { schema, compile }: KeywordContext): SchemaCheck | undefined {
  const condition = compile(operand);
  const branch = (keyword: "then" | "else") => (Object.hasOwn(schema, keyword) ? compile(schema[keyword]) : undefined);
  const [then, otherwise] = [branch("then"), branch("else")];
  return (value, walk, seen) => {
    const own = seen && new Seen();
    const { doubts } = walk.budget;
    const holds = walk.isSo(() => walk.visit(condition, value, own));
    if (holds && own !== undefined) seen?.add(own, walk.budget);
    if (walk.budget.doubts > doubts) {
      // Either may be meant, so both may have checked what an `unevaluated` keyword asks for.
      if (own !== undefined)
        for (const branch of [then, otherwise])
          if (branch !== undefined) walk.isSo(() => walk.visit(branch, value, own));
      if (own !== undefined) seen?.add(own, walk.budget);
      return true;
    }
    const next = holds ? then : otherwise;
    if (next === undefined || walk.visit(next, value, seen)) return true;
    return walk.fail(schema, "if", { failingKeyword: holds ? "then" : "else" });
  };
}
