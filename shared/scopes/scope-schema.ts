import type { JsonValue } from "../json.ts";

/** The schema of a value: JSON Schema (2020-12) with keywords of our own for people and tools. */
export interface ValueSchema {
  readonly title?: string;
  readonly description?: string;
  readonly default?: JsonValue;
  /** Ours: the value is "" or a key of this other field of the scope, which is an object. */
  readonly "x-keyOf"?: string;
  /** Ours: screens and tables hide the value until asked for it. */
  readonly "x-masked"?: boolean;
  /**
   * Ours, for a whole field: the value runs as a command, so one that comes with a work tree's file waits until a person trusts
   * it.
   */
  readonly "x-command"?: boolean;
  /** Ours, for a whole field: its former names. Values stored under them still work. */
  readonly "x-renamedFrom"?: string | readonly string[];
  /**
   * Ours, for a whole field: the environment variable that receives the value in `repoconf run`. It waits for trust like a
   * command.
   */
  readonly "x-env"?: string;
  /** Ours, for a whole field with `x-env`: only `repoconf run` gives the variable, no interactive shell has it. */
  readonly "x-env-in"?: "run";
  /** Ours, for a whole field: the value is a secret, so it should be a reference to one. */
  readonly "x-secret"?: boolean;
  /** Ours, for a whole field: the layers that may have a value of it, such as `["shared"]`; if left out, all. */
  readonly "x-layers"?: readonly string[];
  /**
   * Ours, for a whole field, an integer or a text of digits: what a linked worktree inherits is this much higher for each number of its
   * slot.
   */
  readonly "x-step"?: number;
  /** Ours, for a whole field, added where the scope's `required` names a field without a default: somebody should set it. */
  readonly "x-required"?: boolean;
  /** Ours: what a number counts, such as "seconds". */
  readonly "x-unit"?: string;
  /** Ours: the text is a path on this machine. */
  readonly "x-path"?: boolean;
  /** Ours: names for the integers from `minimum` on. */
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

/** Keywords about a whole field. Elsewhere in a schema they have no effect. */
export const fieldKeywords = [
  "x-command",
  "x-env",
  "x-env-in",
  "x-secret",
  "x-renamedFrom",
  "x-layers",
  "x-step",
  "x-keyOf",
] as const;

/**
 * Whether a field's value can run as a command. Environment variables can too (LD_PRELOAD, NODE_OPTIONS, PATH and others), and no
 * list of forbidden names would be complete.
 */
export function runsAsCommand(schema: ValueSchema): boolean {
  return schema["x-command"] === true || schema["x-env"] !== undefined;
}

/** What a field's value does outside of Repoconf. Trust in a value is trust in the value as this. */
export interface Effect {
  readonly command: boolean;
  /** The environment variable that receives the value. */
  readonly variable?: string;
}

export function effectOf(schema: ValueSchema): Effect {
  const variable = schema["x-env"];
  return { command: schema["x-command"] === true, ...(variable !== undefined && { variable }) };
}
