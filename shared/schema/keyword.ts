import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { CheckedSchema, SchemaCheck, TextPattern } from "./schema-walk.ts";

/** What stands around a rule. */
export interface KeywordContext {
  readonly schema: JsonObject;
  /** Throws SchemaError. */
  compile(inner: unknown): CheckedSchema;
  /** The schema that a `$ref` leads to. Throws SchemaError. */
  resolve(reference: string): CheckedSchema;
  /** Throws SchemaError. */
  pattern(source: string): TextPattern;
  /** Throws SchemaError. */
  refuse(message: string): never;
}

/** Makes the check of a rule; undefined if there is nothing to check. */
export type KeywordMaker = (operand: JsonValue, context: KeywordContext, keyword: string) => SchemaCheck | undefined;

/** The number that a rule asks for. Throws SchemaError. */
export function numberOf(operand: JsonValue, { refuse }: KeywordContext, keyword: string): number {
  return typeof operand === "number" ? operand : refuse(`its ${keyword} is not a number`);
}

/** A bound of how many items an array has, or members an object. */
export function makeCount(
  counted: "items" | "members",
  keeps: (count: number, limit: number) => boolean,
): KeywordMaker {
  return (operand, context, keyword) => {
    const limit = numberOf(operand, context, keyword);
    return (value, walk) => {
      const count = counted === "items" ? itemsIn(value) : membersIn(value);
      if (count === undefined) return true;
      walk.budget.take(count);
      return keeps(count, limit) || walk.fail(context.schema, keyword, { limit }, `breaks the rule ${keyword}`);
    };
  };
}

function itemsIn(value: JsonValue): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function membersIn(value: JsonValue): number | undefined {
  return isJsonObject(value) ? Object.keys(value).length : undefined;
}
