import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { CheckedSchema, SchemaCheck, TextPattern } from "./schema-walk.ts";

/** What makes a schema invalid: the part of it, and the keyword there. */
export interface InvalidKeyword {
  readonly message: string;
  readonly schema: JsonObject;
  readonly keyword: string;
}

/** The schema is invalid; `message` says why, and `keywords` where, if that is known. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly keywords: readonly InvalidKeyword[];

  constructor(message: string, keywords: readonly InvalidKeyword[] = []) {
    super(message);
    this.keywords = keywords;
  }
}

/** The schema that contains a keyword, and what its check is made with. */
export interface KeywordContext {
  readonly schema: JsonObject;
  /** Throws SchemaError. */
  compile(inner: unknown): CheckedSchema;
  /** The schema that a `$ref` points to. Throws SchemaError. */
  resolve(reference: string): CheckedSchema;
  /** Throws SchemaError. */
  pattern(source: string): TextPattern;
  /** Throws SchemaError. */
  refuse(message: string): never;
}

/** Makes the check for a keyword, or undefined if there is nothing to check. */
export type KeywordMaker = (operand: JsonValue, context: KeywordContext, keyword: string) => SchemaCheck | undefined;

/** The keyword's operand, which must be a number. Throws SchemaError. */
export function numberOf(operand: JsonValue, { refuse }: KeywordContext, keyword: string): number {
  return typeof operand === "number" ? operand : refuse(`its ${keyword} is not a number`);
}

/** The keyword's operand, which must be an array of schemas. Throws SchemaError. */
export function schemasOf(operand: JsonValue, context: KeywordContext, keyword: string): readonly CheckedSchema[] {
  if (!Array.isArray(operand)) return context.refuse(`its ${keyword} is not an array of schemas`);
  return operand.map(inner => context.compile(inner));
}

/** Makes a limit on the number of items in an array or members in an object. */
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
      return keeps(count, limit) || walk.fail(context.schema, keyword, { limit });
    };
  };
}

function itemsIn(value: JsonValue): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function membersIn(value: JsonValue): number | undefined {
  return isJsonObject(value) ? Object.keys(value).length : undefined;
}
