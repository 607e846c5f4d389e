import type { JsonObject, JsonValue } from "../json.ts";
import { type KeywordContext, schemasOf } from "./keyword.ts";
import { type CheckedSchema, type Misfit, type SchemaCheck, type SchemaWalk, Seen } from "./schema-walk.ts";

/** `anyOf` and `oneOf`. If a value fits none of the alternatives, the problems of the one that it is nearest to are reported. */

export function makeAnyOf(operand: JsonValue, context: KeywordContext, keyword: string): SchemaCheck {
  const branches = schemasOf(operand, context, keyword);
  return (value, walk, seen) => {
    let good = false;
    for (const branch of branches) {
      walk.budget.take(1);
      const own = seen && new Seen();
      if (!walk.isSo(() => walk.visit(branch, value, own))) continue;
      good = true;
      if (seen === undefined) break;
      if (own !== undefined) seen.add(own, walk.budget);
    }
    return good || failNearest(branches, value, walk, context.schema, keyword);
  };
}

export function makeOneOf(operand: JsonValue, context: KeywordContext, keyword: string): SchemaCheck {
  const branches = schemasOf(operand, context, keyword);
  return (value, walk, seen) => {
    let matching = 0;
    const { doubts } = walk.budget;
    for (const branch of branches) {
      walk.budget.take(1);
      const own = seen && new Seen();
      if (!walk.isSo(() => walk.visit(branch, value, own))) continue;
      matching += 1;
      if (matching > 1) break;
      if (own !== undefined) seen?.add(own, walk.budget);
    }
    if (matching === 0) return failNearest(branches, value, walk, context.schema, keyword);
    const isSurelyOne = matching === 1 || walk.budget.doubts > doubts;
    return isSurelyOne || walk.fail(context.schema, keyword);
  };
}

function failNearest(
  branches: readonly CheckedSchema[],
  value: JsonValue,
  walk: SchemaWalk,
  schema: JsonObject,
  keyword: string,
): false {
  if (!walk.isTelling) return walk.fail(schema, keyword);
  const misfits = branches.map(branch => ({ branch, ...walk.misfit(() => walk.visit(branch, value)) }));
  const ofType = misfits.filter(({ types, isNever }) => types.length === 0 && !isNever);
  // No alternative is for values of this type, or only for other ones: all that there are.
  const types = different(misfits.flatMap(one => one.types));
  if (ofType.length === 0 && types.length > 0) return walk.fail(schema, "type", { type: types });
  const listed = ofType.flatMap(({ values }) => values ?? []);
  if (listed.length > 0 && ofType.every(({ values }) => values !== undefined))
    return walk.fail(schema, "enum", { allowedValues: different(listed) });
  const [nearest] = ofType.toSorted(byDistance);
  const before = walk.problems.length;
  if (nearest !== undefined) walk.visit(nearest.branch, value);
  return walk.problems.length > before ? false : walk.fail(schema, keyword);
}

/** First what has the values that tell alternatives apart, then what breaks the fewest rules. */
function byDistance(one: Misfit, other: Misfit): number {
  return one.unequal - other.unequal || other.equal - one.equal || one.rules - other.rules;
}

function different(values: readonly JsonValue[]): JsonValue[] {
  return [...new Set(values)];
}
