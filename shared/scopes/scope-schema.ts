import type { JsonValue } from "../json.ts";

/** The schema of a value: JSON Schema (2020-12), with what a person needs to know about it. */
export interface ValueSchema {
  readonly title?: string;
  readonly description?: string;
  readonly default?: JsonValue;
  /** Ours: the value is "" or a key of this other field of the scope, which is an object. */
  readonly "x-keyOf"?: string;
  /** Ours: screens and tables hide the value until asked for it. */
  readonly "x-masked"?: boolean;
  /** Ours, of a field as a whole: the value runs as a command, so one that a work tree's file brings waits until a person trusts it. */
  readonly "x-command"?: boolean;
  /** Ours, of a field as a whole: names that it had before. What is stored by them serves. */
  readonly "x-renamedFrom"?: string | readonly string[];
  /** Ours: what a number counts, such as "seconds". */
  readonly "x-unit"?: string;
  /** Ours: the text is a path on this machine. */
  readonly "x-path"?: boolean;
  /** Ours: names for the whole numbers from `minimum` on. */
  readonly "x-labels"?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** One field of a scope. */
export interface FieldSchema extends ValueSchema {
  readonly default: JsonValue;
}

/** A scope: one JSON Schema object whose properties are its fields. */
export interface ScopeSchema {
  readonly title?: string;
  readonly description?: string;
  readonly type: "object";
  readonly properties: { readonly [field: string]: FieldSchema };
  readonly [keyword: string]: unknown;
}
