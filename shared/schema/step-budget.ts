import { isJsonObject, type JsonValue } from "../json.ts";

/** The work of checking a value is too much: it was ended. */
export class OutOfStepsError extends Error {
  override readonly name = "OutOfStepsError";
}

/** Steps that each part of a value brings with it. A million take 40 ms, so all that one check can take stays below a tenth of a second. */
const stepsOfPart = 10;
/** Steps that all parts of a value bring at most: as many as the largest that can be set has. Files may hold larger ones. */
const stepsOfParts = 1_500_000;
/** Steps that each value brings with it, however small. */
const stepsOfValue = 200;
/** Characters of a text that are one part. */
export const charactersOfPart = 64;
/** Steps that all values of a file or a request have together, where those of their own do not suffice. */
const spareSteps = 1_000_000;
/** Schemas in schemas, by `$ref` alone or with a value's own levels. A stack takes many more. */
const deepestWalk = 1_000;

/** What the checks of one file, or of one request, may cost beyond what the size of their values explains. */
export class SpareSteps {
  left: number;

  constructor(left = spareSteps) {
    this.left = left;
  }
}

/** The steps of one check. */
export class StepBudget {
  readonly #spare: SpareSteps;
  #left: number;
  #depth = 0;
  #taken = 0;

  /** `parts`: the size of the value, as `partsOf` has it. */
  constructor(parts: number, spare: SpareSteps) {
    this.#left = stepsOfValue + Math.min(stepsOfPart * parts, stepsOfParts);
    this.#spare = spare;
  }

  /** Steps taken so far. */
  get taken(): number {
    return this.#taken;
  }

  /** Before the work is done. Throws OutOfStepsError. */
  take(steps: number): void {
    this.#taken += steps;
    this.#left -= steps;
    if (this.#left >= 0) return;
    this.#spare.left += this.#left;
    this.#left = 0;
    if (this.#spare.left < 0) {
      this.#spare.left = 0;
      throw new OutOfStepsError("checking it would take too long");
    }
  }

  /** One level deeper; `leave` when it is done. Throws OutOfStepsError. */
  enter(): void {
    this.#depth += 1;
    if (this.#depth > deepestWalk) throw new OutOfStepsError("checking it would nest too deeply");
  }

  leave(): void {
    this.#depth -= 1;
  }
}

/** How many values and pieces of text a value is made of. */
export function partsOf(value: JsonValue): number {
  if (typeof value === "string") return 1 + Math.floor(value.length / charactersOfPart);
  if (typeof value !== "object" || value === null) return 1;
  let parts = 1;
  if (isJsonObject(value)) for (const name of Object.keys(value)) parts += partsOf(name) + partsOf(value[name] ?? null);
  else for (const item of value) parts += partsOf(item);
  return parts;
}
