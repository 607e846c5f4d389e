import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { runToEnd } from "../run-to-end.ts";
import { fieldKeywords } from "../scopes/scope-schema.ts";
import { keywords } from "./keywords.ts";
import { SchemaResources, schemasAtOnce } from "./schema-resources.ts";
import type { CheckedSchema, SchemaCheck, SchemaProblem, TextPattern } from "./schema-walk.ts";
import { SchemaWalk } from "./schema-walk.ts";
import { partsOf, type SpareSteps, StepBudget } from "./step-budget.ts";

/** A schema that cannot be used; `message` says why. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
}

/** Makes a pattern of its source. Throws SchemaError if that cannot be done. */
export type PatternMaker = (source: string) => TextPattern;

/** Checks values by one schema. */
export interface CompiledSchema {
  /**
   * What is wrong with a value, `most` problems at most; with one the check ends there. Throws OutOfStepsError if the check
   * takes more steps than the value's size explains and `spare` has left.
   */
  check(
    value: JsonValue,
    spare: SpareSteps,
    most?: number,
  ): { readonly problems: readonly SchemaProblem[]; readonly steps: number };
}

/**
 * Makes checks of the JSON Schemas (2020-12) in one file. It is walked, not made into code: so no schema is slow to be read, each step
 * can be counted, and a page may do it. `format` and what is not known count for nothing, and a `$ref` may not leave the file.
 */
export class SchemaCompiler {
  readonly #resources: SchemaResources;
  readonly #patterns = new Map<string, TextPattern>();
  readonly #makePattern: PatternMaker;
  readonly #made = new Map<object, CheckedSchema>();
  /** Made, and without its checks yet: schemas that lead to each other are filled one after the other. */
  readonly #unfilled: (() => void)[] = [];

  constructor(resources: SchemaResources, makePattern: PatternMaker) {
    this.#resources = resources;
    this.#makePattern = makePattern;
  }

  /** Of the file whose whole is `root`. */
  static of(root: JsonObject, makePattern: PatternMaker): SchemaCompiler {
    return new SchemaCompiler(runToEnd(SchemaResources.reading(root)), makePattern);
  }

  /** Throws SchemaError if the schema, or one that it leads to, cannot be used. */
  compile(schema: JsonValue): CompiledSchema {
    return runToEnd(this.compiling(schema));
  }

  /** As `compile`; yields now and then, and nothing else may be compiled until it is done. */
  *compiling(schema: JsonValue): Generator<void, CompiledSchema> {
    const checked = yield* this.#filling(schema);
    return {
      check: (value, spare, most = 1) => {
        const budget = new StepBudget(partsOf(value), spare);
        const walk = new SchemaWalk(budget, most);
        walk.visit(checked, value);
        return { problems: walk.problems, steps: budget.taken };
      },
    };
  }

  *#filling(schema: JsonValue): Generator<void, CheckedSchema> {
    try {
      const checked = this.#schema(schema);
      for (let count = 1; this.#unfilled.length > 0; count++) {
        this.#unfilled.pop()?.();
        if (count % schemasAtOnce === 0) yield;
      }
      return checked;
    } catch (error) {
      // What is half made must not do for another field's.
      this.#unfilled.length = 0;
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

  /** One that stands in another, or that another refers to: what is said of a whole field there would count for nothing. */
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
      const check = make(schema[keyword] ?? null, context, keyword);
      if (check !== undefined) checks.push(check);
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

const refuse: SchemaCheck = (_, walk) => walk.fail({}, "false", {}, "must not be there");
