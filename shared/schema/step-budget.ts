import { isJsonObject, type JsonValue } from "../json.ts";

/** Checking the value took too many steps and was stopped. */
export class OutOfStepsError extends Error {
  override readonly name = "OutOfStepsError";
}

/** Steps allowed for each part of a value. */
const stepsOfPart = 10;
/**
 * Steps that one check may take in all, spare ones included: as many as the largest value that can be set needs. Nothing else
 * is answered during a check. A million steps take 40 ms, so this stays below a tenth of a second on a slow machine too.
 */
const stepsOfCheck = 1_500_000;
/** Steps allowed for every value, however small. */
const stepsOfValue = 200;
/** Characters of a text that count as one part. */
export const charactersOfPart = 64;
/** Steps that all values of a file or a request share once their own are used up. */
const spareSteps = 1_000_000;
/** How deep a check may nest, through `$ref` or the value's own levels. The call stack allows many more. */
const deepestWalk = 1_000;

/** The steps that the checks of one file or one request may take beyond what the size of their values allows. */
export class SpareSteps {
  left: number;
  /** Steps taken in total, including those that the values' own sizes allowed. */
  taken = 0;

  constructor(left = spareSteps) {
    this.left = left;
  }
}

/** Counts the steps of one check. */
export class StepBudget {
  readonly #spare: SpareSteps;
  /** How often something could not be checked, and was taken as right. What is concluded from its being right is not sure. */
  doubts = 0;
  #left: number;
  #depth = 0;
  #taken = 0;

  /** `parts`: the size of the value, from `partsOf`. */
  constructor(parts: number, spare: SpareSteps) {
    this.#left = stepsOfValue + stepsOfPart * parts;
    this.#spare = spare;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Call it before doing the work. Throws OutOfStepsError. */
  take(steps: number): void {
    this.#taken += steps;
    if (this.#taken > stepsOfCheck) throw new OutOfStepsError();
    this.#left -= steps;
    if (this.#left >= 0) return;
    this.#spare.left += this.#left;
    this.#left = 0;
    if (this.#spare.left < 0) {
      this.#spare.left = 0;
      throw new OutOfStepsError();
    }
  }

  /** Goes one level deeper; call `leave` on the way back. Throws OutOfStepsError. */
  enter(): void {
    this.#depth += 1;
    if (this.#depth > deepestWalk) throw new OutOfStepsError();
  }

  leave(): void {
    this.#depth -= 1;
  }
}

/** The number of values and pieces of text in a value. */
export function partsOf(value: JsonValue): number {
  if (typeof value === "string") return 1 + Math.floor(value.length / charactersOfPart);
  if (typeof value !== "object" || value === null) return 1;
  let parts = 1;
  if (isJsonObject(value)) for (const name of Object.keys(value)) parts += partsOf(name) + partsOf(value[name] ?? null);
  else for (const item of value) parts += partsOf(item);
  return parts;
}
