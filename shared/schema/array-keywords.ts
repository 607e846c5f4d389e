import { canonicalJson, isJsonObject, type JsonValue } from "../json.ts";
import { type KeywordContext, type KeywordMaker, makeCount, numberOf } from "./keyword.ts";
import type { SchemaCheck, SchemaWalk } from "./schema-walk.ts";
import { partsOf } from "./step-budget.ts";

/** The keywords for arrays. */
export const arrayKeywords: readonly (readonly [string, KeywordMaker])[] = [
  ["maxItems", makeCount("items", (count, limit) => count <= limit)],
  ["minItems", makeCount("items", (count, limit) => count >= limit)],
  ["uniqueItems", makeUniqueItems],
  ["uniqueItemProperties", makeUniqueProperties],
  ["prefixItems", makePrefixItems],
  ["items", makeItems],
  ["contains", makeContains],
  ["unevaluatedItems", makeUnevaluatedItems],
];

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function makeUniqueItems(operand: JsonValue, { schema }: KeywordContext): SchemaCheck | undefined {
  if (operand !== true) return undefined;
  return (value, walk) => {
    if (!isArray(value)) return true;
    const [found] = repeated(value, walk, item => item);
    return found === undefined || walk.fail(schema, "uniqueItems", found);
  };
}

/**
 * The keyword of ajv-keywords: no two objects in the array may have the same value for the property, and objects without the
 * property count as equal. We do not use that package because it only works inside Ajv, which does not count its steps, and it
 * compares every pair of items.
 */
function makeUniqueProperties(operand: JsonValue, { schema, refuse }: KeywordContext): SchemaCheck {
  if (!isArray(operand) || !operand.every(name => typeof name === "string"))
    return refuse("its uniqueItemProperties is not an array of names");
  return (value, walk) => {
    if (!isArray(value)) return true;
    let good = true;
    for (const property of operand) {
      const valueIn = (item: JsonValue) =>
        isJsonObject(item) ? (Object.hasOwn(item, property) ? item[property] : null) : undefined;
      for (const { i } of repeated(
        value,
        walk,
        valueIn,
        item => isJsonObject(item) && !Object.hasOwn(item, property),
      )) {
        good = walk.fail(schema, "uniqueItemProperties", { i, property });
        if (walk.endsAtFirst) return false;
      }
    }
    return good;
  };
}

/** Stands for the value of an object that lacks the property. */
const absent = Symbol("absent");

/**
 * Yields each item that equals an earlier one. Values are looked up in maps because comparing every pair takes quadratic time.
 */
function* repeated(
  items: readonly JsonValue[],
  walk: SchemaWalk,
  valueIn: (item: JsonValue) => JsonValue | undefined,
  lacks: (item: JsonValue) => boolean = () => false,
): Generator<{ readonly i: number; readonly j: number }> {
  /** `plain` maps primitive values (and `absent`) to their first index, `texts` maps the canonical JSON of arrays and objects. */
  const [plain, texts] = [new Map<unknown, number>(), new Map<string, number>()];
  const firstOf = <Key>(firsts: Map<Key, number>, key: Key, i: number) => {
    const j = firsts.get(key);
    if (j === undefined) firsts.set(key, i);
    return j;
  };
  for (let i = 0; i < items.length; i++) {
    const item = items[i] ?? null;
    const value = valueIn(item);
    if (value === undefined) continue;
    walk.budget.take(1 + partsOf(value));
    const isPlain = typeof value !== "object" || value === null;
    const j = isPlain ? firstOf(plain, lacks(item) ? absent : value, i) : firstOf(texts, canonicalJson(value), i);
    if (j !== undefined) yield { i, j };
  }
}

function makePrefixItems(operand: JsonValue, { refuse, compile }: KeywordContext): SchemaCheck {
  if (!isArray(operand)) return refuse("its prefixItems is not an array of schemas");
  const schemas = operand.map(inner => compile(inner));
  return (value, walk, seen) => {
    if (!isArray(value)) return true;
    let good = true;
    for (const [index, schema] of schemas.entries()) {
      const item = value[index];
      if (item === undefined) break;
      seen?.items.add(index);
      if (walk.visitPart(index, schema, item)) continue;
      good = false;
      if (walk.endsAtFirst) break;
    }
    return good;
  };
}

function makeItems(operand: JsonValue, { schema, compile }: KeywordContext): SchemaCheck {
  const inner = compile(operand);
  const { prefixItems } = schema;
  const first = prefixItems !== undefined && isArray(prefixItems) ? prefixItems.length : 0;
  return (value, walk, seen) => {
    if (!isArray(value)) return true;
    walk.budget.take(value.length);
    if (operand === false && value.length > first) return walk.fail(schema, "items", { limit: first });
    let good = true;
    for (let index = first; index < value.length; index++) {
      seen?.items.add(index);
      if (walk.visitPart(index, inner, value[index] ?? null)) continue;
      good = false;
      if (walk.endsAtFirst) break;
    }
    return good;
  };
}

function makeContains(operand: JsonValue, context: KeywordContext): SchemaCheck {
  const { schema } = context;
  const inner = context.compile(operand);
  const limitOf = (keyword: string, other: number) =>
    Object.hasOwn(schema, keyword) ? numberOf(schema[keyword] ?? null, context, keyword) : other;
  const [least, most] = [limitOf("minContains", 1), limitOf("maxContains", Number.POSITIVE_INFINITY)];
  return (value, walk, seen) => {
    if (!isArray(value)) return true;
    let count = 0;
    const { doubts } = walk.budget;
    for (const [index, item] of value.entries()) {
      if (!walk.isSo(() => walk.visitPart(index, inner, item))) continue;
      seen?.items.add(index);
      count += 1;
    }
    if (count >= least && (count <= most || walk.budget.doubts > doubts)) return true;
    const limits = { minContains: least, ...(most !== Number.POSITIVE_INFINITY && { maxContains: most }) };
    return walk.fail(schema, "contains", limits);
  };
}

function makeUnevaluatedItems(operand: JsonValue, { schema, compile }: KeywordContext): SchemaCheck {
  const inner = compile(operand);
  return (value, walk, seen) => {
    if (!isArray(value)) return true;
    walk.budget.take(value.length);
    let good = true;
    for (const [index, item] of value.entries()) {
      if (seen?.items.has(index)) continue;
      seen?.items.add(index);
      if (operand === false) return walk.fail(schema, "unevaluatedItems");
      if (walk.visitPart(index, inner, item)) continue;
      good = false;
      if (walk.endsAtFirst) break;
    }
    return good;
  };
}
