import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { runToEnd } from "../run-to-end.ts";
import { fieldKeywords } from "../scopes/scope-schema.ts";
import { type InvalidKeyword, SchemaError } from "./keyword.ts";
import { keywords } from "./keywords.ts";
import { linearPattern } from "./linear-pattern.ts";
import { schemaPace } from "./schema-pace.ts";
import { SchemaResources } from "./schema-resources.ts";
import type { CheckedSchema, SchemaCheck, SchemaProblem, TextPattern } from "./schema-walk.ts";
import { SchemaWalk } from "./schema-walk.ts";
import { OutOfStepsError, partsOf, type SpareSteps, StepBudget } from "./step-budget.ts";

/** Compiles a pattern. Throws SchemaError if it is invalid or not supported. */
export type PatternMaker = (source: string) => TextPattern;

/** Checks values against one schema. */
export interface CompiledSchema {
  /**
   * Returns at most `most` problems; with 1 it stops at the first. If the check takes more steps than the value's size allows and
   * `spare` has left, that is the only problem: of the keyword "steps". `checksFormats`: for a new value.
   */
  check(
    value: JsonValue,
    spare: SpareSteps,
    most?: number,
    checksFormats?: boolean,
  ): { readonly problems: readonly SchemaProblem[]; readonly steps: number };
}

/**
 * Compiles the JSON Schemas (2020-12) in one file into checks that walk the value. It generates no code, so compiling is fast,
 * every step can be counted, and it also runs in a page whose security policy forbids eval. Unknown keywords are
 * ignored, `format` is checked only on demand, and a `$ref` must stay within the file.
 */
export class SchemaCompiler {
  readonly #resources: SchemaResources;
  readonly #patterns = new Map<string, TextPattern>();
  readonly #makePattern: PatternMaker;
  readonly #made = new Map<object, CheckedSchema>();
  /**
   * Fills in the checks of schemas that are created but still empty. They wait here so that schemas can refer to each other
   * without recursion.
   */
  readonly #unfilled: (() => void)[] = [];
  #invalid: InvalidKeyword[] = [];

  constructor(resources: SchemaResources, makePattern: PatternMaker = linearPattern) {
    this.#resources = resources;
    this.#makePattern = makePattern;
  }

  /** For the file whose root is `root`. */
  static of(root: JsonObject, makePattern?: PatternMaker): SchemaCompiler {
    return new SchemaCompiler(runToEnd(SchemaResources.reading(root)), makePattern);
  }

  /** Throws SchemaError, with all invalid keywords, if the schema, or one that it refers to, is invalid. */
  compile(schema: JsonValue): CompiledSchema {
    return runToEnd(this.compiling(schema));
  }

  /** Like `compile`, but yields now and then. Nothing else may be compiled until it is done. */
  *compiling(schema: JsonValue): Generator<void, CompiledSchema> {
    const checked = yield* this.#filling(schema);
    return {
      check: (value, spare, most = 1, checksFormats = false) => {
        const budget = new StepBudget(partsOf(value), spare);
        const walk = new SchemaWalk(budget, most, checksFormats);
        let problems = walk.problems;
        try {
          walk.visit(checked, value);
        } catch (error) {
          if (!(error instanceof OutOfStepsError)) throw error;
          problems = [{ keyword: "steps", path: [], params: {}, parentSchema: {} }];
        }
        spare.taken += budget.taken;
        return { problems, steps: budget.taken };
      },
    };
  }

  *#filling(schema: JsonValue): Generator<void, CheckedSchema> {
    try {
      const checked = this.#schema(schema);
      const isLong = schemaPace();
      while (this.#unfilled.length > 0) {
        this.#unfilled.pop()?.();
        if (isLong()) yield;
      }
      const invalid = this.#invalid;
      if (invalid.length === 0) return checked;
      throw new SchemaError(invalid.map(({ message }) => message).join("; "), invalid);
    } catch (error) {
      // Otherwise another field that refers to a half-compiled schema would use it without its checks.
      this.#unfilled.length = 0;
      this.#invalid = [];
      this.#made.clear();
      throw error;
    }
  }

  #schema(schema: unknown): CheckedSchema {
    if (schema === true) return { checks: [], isCollecting: false };
    if (schema === false) return { checks: [refuse], isCollecting: false };
    if (!isJsonObject(schema as JsonValue)) throw new SchemaError("a schema must be an object, true or false");
    const object = schema as JsonObject;
    const known = this.#made.get(object);
    if (known !== undefined) return known;
    const checks: SchemaCheck[] = [];
    const isCollecting = Object.hasOwn(object, "unevaluatedProperties") || Object.hasOwn(object, "unevaluatedItems");
    const made: CheckedSchema = { checks, isCollecting };
    this.#made.set(object, made);
    this.#unfilled.push(() => this.#fill(object, checks));
    return made;
  }

  /**
   * Compiles a schema inside another one, or one that a `$ref` points to. Keywords about a whole field have no effect there, so
   * they are rejected.
   */
  #inner(schema: unknown): CheckedSchema {
    for (const keyword of fieldKeywords)
      if (typeof schema === "object" && schema !== null && Object.hasOwn(schema, keyword))
        throw new SchemaError(
          `${keyword} has no effect where another schema refers to it: put the shared part into $defs`,
        );
    return this.#schema(schema);
  }

  #fill(schema: JsonObject, checks: SchemaCheck[]): void {
    const context = {
      schema,
      compile: (inner: unknown) => this.#inner(inner),
      resolve: (reference: string) => {
        const target = this.#resources.resolve(schema, reference);
        if (target === undefined) throw new SchemaError(`its $ref "${reference}" does not point to a schema`);
        return this.#inner(target);
      },
      pattern: (source: string) => this.#pattern(source),
      refuse: (message: string): never => {
        throw new SchemaError(message);
      },
    };
    for (const [keyword, make] of keywords) {
      if (!Object.hasOwn(schema, keyword)) continue;
      try {
        const check = make(schema[keyword] ?? null, context, keyword);
        if (check !== undefined) checks.push(check);
      } catch (error) {
        if (!(error instanceof SchemaError)) throw error;
        this.#invalid.push({ message: error.message, schema, keyword });
      }
    }
  }

  #pattern(source: string): TextPattern {
    let pattern = this.#patterns.get(source);
    if (pattern === undefined) {
      pattern = this.#makePattern(source);
      this.#patterns.set(source, pattern);
    }
    return pattern;
  }
}

/** Compiles a schema that is complete in itself. Throws SchemaError. */
export function compileSchema(schema: JsonObject): CompiledSchema {
  return SchemaCompiler.of(schema).compile(schema);
}

const refuse: SchemaCheck = (_, walk) => walk.fail({}, "false");
