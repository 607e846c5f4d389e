import type { JsonObject, JsonValue } from "../json.ts";
import type { StepBudget } from "./step-budget.ts";

/** What is wrong with a part of a value, told as Ajv does. */
export interface SchemaProblem {
  /** The rule of the schema that refused it. */
  readonly keyword: string;
  /** The part, as the members and indexes that lead to it. */
  readonly path: readonly (string | number)[];
  /** What the rule asks for. */
  readonly params: { readonly [name: string]: JsonValue };
  /** The end of a sentence about the part. */
  readonly message: string;
  /** The schema in which the rule stands. */
  readonly parentSchema: JsonObject;
  /** The name of a member, if that is what was refused. */
  readonly propertyName?: string;
}

export interface TextPattern {
  /** Throws OutOfStepsError. */
  test(text: string, budget: StepBudget): boolean;
}

/** Whether a value keeps a rule. `seen`: what the rules around it have checked, if somebody asks for that. */
export type SchemaCheck = (value: JsonValue, walk: SchemaWalk, seen: Seen | undefined) => boolean;

export interface CheckedSchema {
  readonly checks: readonly SchemaCheck[];
  /** It has rules for what no other rule has checked. */
  readonly isCollecting: boolean;
}

/** The members and items of a value that rules have checked. */
export class Seen {
  readonly members = new Set<string>();
  readonly items = new Set<number>();

  add(other: Seen, budget: StepBudget): void {
    budget.take(other.members.size + other.items.size);
    for (const name of other.members) this.members.add(name);
    for (const index of other.items) this.items.add(index);
  }
}

/** One check of one value. */
export class SchemaWalk {
  readonly budget: StepBudget;
  readonly #most: number;
  readonly #path: (string | number)[] = [];
  readonly #problems: SchemaProblem[] = [];
  #propertyName: string | undefined;
  /** Inside of what may be refused. */
  #muted = 0;

  constructor(budget: StepBudget, most: number) {
    this.budget = budget;
    this.#most = most;
  }

  get problems(): readonly SchemaProblem[] {
    return this.#problems;
  }

  /** Whether nothing more is asked for once something is wrong. */
  get endsAtFirst(): boolean {
    return this.#most === 1 || this.#muted > 0 || this.#problems.length >= this.#most;
  }

  /** Whether a value keeps all rules of a schema. */
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

  /** As `visit`, of a member or an item. */
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

  /** Whether it is so; nothing is told of it. */
  isSo(visit: () => boolean): boolean {
    this.#muted += 1;
    const good = visit();
    this.#muted -= 1;
    return good;
  }

  /** Runs what may tell of several problems, of which none counts if it says so in the end. */
  choose(run: () => boolean): boolean {
    const before = this.#problems.length;
    const good = run();
    if (good) this.#problems.length = before;
    return good;
  }

  /** Tells of a problem. */
  fail(parentSchema: JsonObject, keyword: string, params: SchemaProblem["params"], message: string): false {
    if (this.#muted > 0 || this.#problems.length >= this.#most) return false;
    const name = this.#propertyName;
    const path = [...this.#path];
    this.#problems.push({
      keyword,
      path,
      params,
      message,
      parentSchema,
      ...(name !== undefined && { propertyName: name }),
    });
    return false;
  }
}
