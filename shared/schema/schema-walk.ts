import type { JsonObject, JsonValue } from "../json.ts";
import type { StepBudget } from "./step-budget.ts";

/** A rule of a schema that a value breaks. describe-problem.ts words it. */
export interface SchemaProblem {
  /** The keyword that failed. */
  readonly keyword: string;
  /** The property names and indexes that lead to the part of the value that is wrong. */
  readonly path: readonly (string | number)[];
  /** What the keyword requires, under the names that Ajv uses. */
  readonly params: { readonly [name: string]: JsonValue };
  /** The schema that contains the keyword. */
  readonly parentSchema: JsonObject;
  /** The property name, if the name itself is invalid. */
  readonly propertyName?: string;
}

export interface TextPattern {
  /** Throws OutOfStepsError. */
  test(text: string, budget: StepBudget): boolean;
}

/**
 * Whether a value satisfies a keyword. `seen` collects which members and items were checked, if an `unevaluated` keyword needs
 * that.
 */
export type SchemaCheck = (value: JsonValue, walk: SchemaWalk, seen: Seen | undefined) => boolean;

export interface CheckedSchema {
  readonly checks: readonly SchemaCheck[];
  /** It has `unevaluatedProperties` or `unevaluatedItems`. */
  readonly isCollecting: boolean;
}

/** The members and items of a value that keywords have checked. */
export class Seen {
  readonly members = new Set<string>();
  readonly items = new Set<number>();

  add(other: Seen, budget: StepBudget): void {
    budget.take(other.members.size + other.items.size);
    for (const name of other.members) this.members.add(name);
    for (const index of other.items) this.items.add(index);
  }
}

/** Broken rules of one alternative that are counted. */
const mostCounted = 50;

/** How a value differs from a schema that it does not fit. */
export interface Misfit {
  /** The types that it would have to have; empty if it has one of them. */
  readonly types: readonly JsonValue[];
  /** The values that it would have to be one of, if it is none of them. */
  readonly values: readonly JsonValue[] | undefined;
  /** No value fits. */
  readonly isNever: boolean;
  /** How many of its members are not the value that they would have to be, and how many are. */
  readonly unequal: number;
  readonly equal: number;
  /** How many rules it breaks in all. */
  readonly rules: number;
}

/** One check of one value, with its path and problems. */
export class SchemaWalk {
  readonly budget: StepBudget;
  readonly checksFormats: boolean;
  readonly #most: number;
  readonly #path: (string | number)[] = [];
  readonly #problems: SchemaProblem[] = [];
  #propertyName: string | undefined;
  /** Above 0 inside a schema that may fail without a problem, such as `not` or `if`. */
  #muted = 0;
  /** Instead of being reported, broken rules are counted: those of a value at this depth. */
  #counting: { readonly depth: number; readonly broken: SchemaProblem[]; equal: number } | undefined;

  constructor(budget: StepBudget, most: number, checksFormats: boolean) {
    this.budget = budget;
    this.checksFormats = checksFormats;
    this.#most = most;
  }

  get problems(): readonly SchemaProblem[] {
    return this.#problems;
  }

  /** Whether the check can stop at the next failure, because no further problems are wanted. */
  get endsAtFirst(): boolean {
    if (this.#counting !== undefined) return this.#counting.broken.length >= mostCounted;
    return this.#most === 1 || this.#muted > 0 || this.#problems.length >= this.#most;
  }

  /** Whether a value satisfies all keywords of a schema. */
  visit(checked: CheckedSchema, value: JsonValue, seen?: Seen): boolean {
    this.budget.enter();
    this.budget.take(1 + checked.checks.length);
    const own = checked.isCollecting ? new Seen() : seen;
    let good = true;
    for (const check of checked.checks) {
      if (check(value, this, own)) continue;
      good = false;
      if (this.endsAtFirst) break;
    }
    if (own !== undefined && seen !== undefined && own !== seen) seen.add(own, this.budget);
    this.budget.leave();
    return good;
  }

  /** Like `visit`, for a member or an item. */
  visitPart(part: string | number, checked: CheckedSchema, value: JsonValue): boolean {
    this.#path.push(part);
    const good = this.visit(checked, value);
    this.#path.pop();
    return good;
  }

  visitName(name: string, checked: CheckedSchema): boolean {
    const before = this.#propertyName;
    this.#propertyName = name;
    const good = this.visit(checked, name);
    this.#propertyName = before;
    return good;
  }

  /** Returns the result of `visit` without reporting its problems. */
  isSo(visit: () => boolean): boolean {
    const counting = this.#counting;
    this.#counting = undefined;
    this.#muted += 1;
    const good = visit();
    this.#muted -= 1;
    this.#counting = counting;
    return good;
  }

  /** Whether a problem would be reported now. */
  get isTelling(): boolean {
    return this.#counting === undefined && this.#muted === 0 && this.#problems.length < this.#most;
  }

  /** How the value that is visited here differs from the schema that `visit` checks. Reports nothing. */
  misfit(visit: () => boolean): Misfit {
    const depth = this.#path.length;
    const broken: SchemaProblem[] = [];
    const counting = { depth, broken, equal: 0 };
    this.#counting = counting;
    visit();
    this.#counting = undefined;
    const own = broken.filter(({ path }) => path.length === depth);
    const listed = own.filter(({ keyword }) => isList(keyword)).map(valuesOf);
    return {
      types: own.filter(({ keyword }) => keyword === "type").flatMap(({ params }) => params["type"] ?? []),
      values: own.some(({ propertyName }) => propertyName !== undefined) ? undefined : listed[0],
      isNever: own.some(({ keyword }) => keyword === "false"),
      unequal: broken.filter(({ keyword, path }) => isList(keyword) && path.length === depth + 1).length,
      equal: counting.equal,
      rules: broken.length,
    };
  }

  /** Call when a value is the one that it has to be: of alternatives, that one is meant. */
  equals(): true {
    if (this.#counting !== undefined && this.#path.length === this.#counting.depth + 1) this.#counting.equal += 1;
    return true;
  }

  /** Reports a problem. */
  fail(parentSchema: JsonObject, keyword: string, params: SchemaProblem["params"] = {}): false {
    const into = this.#counting?.broken ?? this.#problems;
    if (this.#muted > 0 || (this.#counting === undefined && this.#problems.length >= this.#most)) return false;
    const name = this.#propertyName;
    const path = [...this.#path];
    into.push({
      keyword,
      path,
      params,
      parentSchema,
      ...(name !== undefined && { propertyName: name }),
    });
    return false;
  }
}

function isList(keyword: string): boolean {
  return keyword === "const" || keyword === "enum";
}

function valuesOf({ params }: SchemaProblem): readonly JsonValue[] {
  const { allowedValue, allowedValues } = params;
  return Array.isArray(allowedValues) ? allowedValues : [allowedValue ?? null];
}
