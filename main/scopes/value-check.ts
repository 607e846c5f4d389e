import { isJsonObject, type JsonValue, jsonType } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { CompiledSchema } from "../../shared/schema/compile-schema.ts";
import { describeSchemaProblem } from "../../shared/schema/describe-problem.ts";
import type { SchemaProblem } from "../../shared/schema/schema-walk.ts";
import { SpareSteps } from "../../shared/schema/step-budget.ts";
import { shortened } from "../../shared/shortened.ts";
import { joinPointer, valueAt } from "../../shared/value-edit.ts";

/** Why a value is refused: the place in the value, the rule of the schema, and what was given. */
export interface ValueProblem {
  /** Completes a sentence about the place. */
  readonly message: string;
  /** JSON pointer into the value; "" is the value itself. */
  readonly path: string;
  /** The schema's keyword that refused it, such as "maximum". */
  readonly rule: string;
  /** The JSON type of the value at that place. */
  readonly given: string;
}

/** `spare`: shared by all checks of one file or request. */
type ValueCheck = (value: JsonValue, spare: SpareSteps) => ValueProblem | undefined;

/** Caches results, because each set checks the other values of the file again. Values are immutable, so results remain valid. */
export function cachingResults(check: ValueCheck): (value: JsonValue, spare?: SpareSteps) => ValueProblem | undefined {
  const results = new WeakMap<object, { readonly problem: ValueProblem | undefined; readonly spare: number }>();
  return (value, spare = new SpareSteps()) => {
    if (typeof value !== "object" || value === null) return check(value, spare);
    const known = results.get(value);
    // With more steps left, the result may differ.
    if (known !== undefined && (known.problem?.rule !== "steps" || spare.left <= known.spare)) return known.problem;
    const before = spare.left;
    const problem = check(value, spare);
    results.set(value, { problem, spare: before });
    return problem;
  };
}

export function checkValue(
  schema: CompiledSchema,
  value: JsonValue,
  spare: SpareSteps,
  checksFormats = false,
): ValueProblem | undefined {
  const member = findPrototypeMember(value);
  if (member !== undefined) {
    return { message: "must not have a member called __proto__", path: member, rule: "__proto__", given: "object" };
  }
  const [problem] = schema.check(value, spare, 1, checksFormats).problems;
  return problem && refusalOf(value, problem);
}

/** JSON pointer of the first object with an own member `__proto__`; undefined if there is none. The caller limits the depth. */
export function findPrototypeMember(value: JsonValue): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.hasOwn(value, "__proto__")) return "";
  // Pointers are only made once one is found.
  if (!isJsonObject(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = findPrototypeMember(value[index] ?? null);
      if (found !== undefined) return `/${index}${found}`;
    }
    return undefined;
  }
  for (const member of Object.keys(value)) {
    const found = findPrototypeMember(value[member] ?? null);
    if (found !== undefined) return `/${member}${found}`;
  }
  return undefined;
}

/** The message is made when it is read: of thousands of refused values, only a hundred are reported. */
function refusalOf(value: JsonValue, problem: SchemaProblem): ValueProblem {
  const { path, keyword } = problem;
  const pointer = joinPointer(path.map(String));
  return {
    get message() {
      return shortened(describeSchemaProblem(problem, valueAt(value, pointer)), limits.shownMessage);
    },
    path: pointer,
    rule: keyword,
    get given() {
      return jsonType(valueAt(value, pointer));
    },
  };
}
