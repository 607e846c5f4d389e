import type { JsonValue } from "../json.ts";

/** One field of a scope: a JSON Schema (2020-12) with what a person needs to know about it. */
export interface FieldSchema {
  readonly title?: string;
  readonly description?: string;
  readonly default: JsonValue;
  /** Ours: the value is "" or a key of this other field of the scope, which is an object. */
  readonly "x-keyOf"?: string;
  /** Ours: screens and tables hide the value until asked for it. */
  readonly "x-masked"?: boolean;
  readonly [keyword: string]: unknown;
}

/** A scope: one JSON Schema object whose properties are its fields. */
export interface ScopeSchema {
  readonly title?: string;
  readonly description?: string;
  readonly type: "object";
  readonly properties: { readonly [field: string]: FieldSchema };
  readonly [keyword: string]: unknown;
}
