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
  /** Ours, of a field as a whole: the environment variable that has the value in `repoconf run`. It waits for trust as a command does. */
  readonly "x-env"?: string;
  /** Ours, of a field as a whole: the value is a secret, so it should be a reference to one. */
  readonly "x-secret"?: boolean;
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

/** What is said of a field as a whole: anywhere else in a schema it would count for nothing. */
export const fieldKeywords = ["x-command", "x-env", "x-secret", "x-renamedFrom", "x-keyOf"] as const;

/**
 * Whether a field's value runs as a command. A variable of the environment does too: LD_PRELOAD, NODE_OPTIONS, PATH and others,
 * which no list of forbidden names could hold.
 */
export function runsAsCommand(schema: ValueSchema): boolean {
  return schema["x-command"] === true || schema["x-env"] !== undefined;
}
