import { isJsonObject, type JsonValue } from "../json.ts";
import { type KeywordContext, type KeywordMaker, makeCount } from "./keyword.ts";
import type { CheckedSchema, SchemaCheck } from "./schema-walk.ts";

/**
 * The keywords for objects. `properties`, `patternProperties` and `additionalProperties` are a single check, made for the first
 * of them in a schema.
 */
export const objectKeywords: readonly (readonly [string, KeywordMaker])[] = [
  ["maxProperties", makeCount("members", (count, limit) => count <= limit)],
  ["minProperties", makeCount("members", (count, limit) => count >= limit)],
  ["required", makeRequired],
  ["dependentRequired", makeDependentRequired],
  ["dependentSchemas", makeDependentSchemas],
  ["dependencies", makeDependencies],
  ["propertyNames", makePropertyNames],
  ["properties", makeMembers],
  [
    "patternProperties",
    (_, context) => (Object.hasOwn(context.schema, "properties") ? undefined : makeMembers(_, context)),
  ],
  [
    "additionalProperties",
    (_, context) =>
      Object.hasOwn(context.schema, "properties") || Object.hasOwn(context.schema, "patternProperties")
        ? undefined
        : makeMembers(_, context),
  ],
  ["unevaluatedProperties", makeUnevaluated],
];

function namesOf(operand: JsonValue | undefined, { refuse }: KeywordContext, keyword: string): readonly string[] {
  if (!Array.isArray(operand)) return refuse(`its ${keyword} is not an array of names`);
  return operand.map(name => (typeof name === "string" ? name : refuse(`its ${keyword} is not an array of names`)));
}

function makeRequired(operand: JsonValue, context: KeywordContext): SchemaCheck {
  const names = namesOf(operand, context, "required");
  return (value, walk) => {
    if (!isJsonObject(value)) return true;
    walk.budget.take(names.length);
    let good = true;
    for (const name of names) {
      if (Object.hasOwn(value, name)) continue;
      good = walk.fail(context.schema, "required", { missingProperty: name });
      if (walk.endsAtFirst) break;
    }
    return good;
  };
}

function entriesOf(operand: JsonValue, { refuse }: KeywordContext, keyword: string): [string, JsonValue][] {
  return isJsonObject(operand) ? Object.entries(operand) : refuse(`its ${keyword} is not an object`);
}

function makeDependentRequired(operand: JsonValue, context: KeywordContext): SchemaCheck {
  const needed = entriesOf(operand, context, "dependentRequired").map(
    ([name, others]) => [name, namesOf(others, context, "dependentRequired")] as const,
  );
  return (value, walk) => {
    if (!isJsonObject(value)) return true;
    for (const [name, others] of needed) {
      walk.budget.take(1 + others.length);
      const missing = Object.hasOwn(value, name) ? others.find(other => !Object.hasOwn(value, other)) : undefined;
      if (missing === undefined) continue;
      return walk.fail(context.schema, "dependentRequired", { missingProperty: missing });
    }
    return true;
  };
}

function makeDependentSchemas(operand: JsonValue, context: KeywordContext): SchemaCheck {
  const dependent = entriesOf(operand, context, "dependentSchemas").map(
    ([name, inner]) => [name, context.compile(inner)] as const,
  );
  return (value, walk, seen) => {
    if (!isJsonObject(value)) return true;
    walk.budget.take(dependent.length);
    return dependent.every(([name, inner]) => !Object.hasOwn(value, name) || walk.visit(inner, value, seen));
  };
}

/** The form of the two keywords above before draft 2019-09. */
function makeDependencies(operand: JsonValue, context: KeywordContext): SchemaCheck {
  const entries = entriesOf(operand, context, "dependencies");
  const [names, schemas] = [true, false].map(isNames =>
    Object.fromEntries(entries.filter(([, inner]) => Array.isArray(inner) === isNames)),
  );
  const [required, dependent] = [
    makeDependentRequired(names ?? {}, context),
    makeDependentSchemas(schemas ?? {}, context),
  ];
  return (value, walk, seen) => required(value, walk, seen) && dependent(value, walk, seen);
}

function makePropertyNames(operand: JsonValue, { compile }: KeywordContext): SchemaCheck {
  const inner = compile(operand);
  return (value, walk) => {
    if (!isJsonObject(value)) return true;
    let good = true;
    for (const name of Object.keys(value)) {
      walk.budget.take(1);
      if (walk.visitName(name, inner)) continue;
      good = false;
      if (walk.endsAtFirst) break;
    }
    return good;
  };
}

function makeMembers(_: JsonValue, context: KeywordContext): SchemaCheck {
  const { schema, compile, pattern } = context;
  const entries = (keyword: string) =>
    Object.hasOwn(schema, keyword) ? entriesOf(schema[keyword] ?? null, context, keyword) : [];
  const own = new Map(entries("properties").map(([name, inner]) => [name, compile(inner)]));
  const patterns = entries("patternProperties").map(([source, inner]) => [pattern(source), compile(inner)] as const);
  const additional = schema["additionalProperties"];
  const others = additional === undefined ? undefined : compile(additional);
  return (value, walk, seen) => {
    if (!isJsonObject(value)) return true;
    let good = true;
    for (const name of Object.keys(value)) {
      walk.budget.take(1);
      const schemas: CheckedSchema[] = [];
      const named = own.get(name);
      if (named !== undefined) schemas.push(named);
      const { doubts } = walk.budget;
      for (const [one, inner] of patterns) {
        const before = walk.budget.doubts;
        if (one.test(name, walk.budget) && walk.budget.doubts === before) schemas.push(inner);
      }
      // A pattern that cannot be checked may match the name: then it is no other one.
      const mayMatch = walk.budget.doubts > doubts;
      if (schemas.length === 0 && others !== undefined && !mayMatch) schemas.push(others);
      if (schemas.length > 0 || mayMatch) seen?.members.add(name);
      const isRefused = schemas[0] === others && additional === false;
      if (isRefused) good = walk.fail(schema, "additionalProperties", { additionalProperty: name });
      else for (const inner of schemas) if (!walk.visitPart(name, inner, value[name] ?? null)) good = false;
      if (!good && walk.endsAtFirst) break;
    }
    return good;
  };
}

function makeUnevaluated(operand: JsonValue, { schema, compile }: KeywordContext): SchemaCheck {
  const inner = compile(operand);
  return (value, walk, seen) => {
    if (!isJsonObject(value)) return true;
    let good = true;
    for (const name of Object.keys(value)) {
      walk.budget.take(1);
      if (seen?.members.has(name)) continue;
      seen?.members.add(name);
      if (operand === false) good = walk.fail(schema, "unevaluatedProperties", { unevaluatedProperty: name });
      else if (!walk.visitPart(name, inner, value[name] ?? null)) good = false;
      if (!good && walk.endsAtFirst) break;
    }
    return good;
  };
}
