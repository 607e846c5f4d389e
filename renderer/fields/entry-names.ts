import { isJsonObject } from "../../shared/json.ts";
import { patternOrUnchecked } from "../../shared/schema/linear-pattern.ts";
import type { TextPattern } from "../../shared/schema/schema-walk.ts";
import { OutOfStepsError, partsOf, SpareSteps, StepBudget } from "../../shared/schema/step-budget.ts";
import { schemaOfMember } from "../../shared/scopes/masks.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";

/** Whether a schema describes members whose names people choose. */
export function hasNamedEntries({ additionalProperties, patternProperties }: ValueSchema): boolean {
  return isJsonObject(additionalProperties) || isJsonObject(patternProperties);
}

/** The schema of a member: its own, or that of the first pattern that its name matches, or that of all others. */
export function schemaOfEntry(schema: ValueSchema, name: string): unknown {
  const { properties, patternProperties: named } = schema;
  const isOwn = isJsonObject(properties) && Object.hasOwn(properties, name);
  const found = isOwn || !isJsonObject(named) ? undefined : Object.entries(named).find(([one]) => matches(one, name));
  return found?.[1] ?? schemaOfMember(schema, name);
}

/** Why a new entry cannot have this name; undefined: it can. */
export function nameProblem(schema: ValueSchema, name: string): string | undefined {
  if (name === "__proto__") return "No entry can be called __proto__.";
  const { patternProperties: named, additionalProperties, propertyNames } = schema;
  const own = isJsonObject(propertyNames) ? propertyNames["pattern"] : undefined;
  if (typeof own === "string" && !matches(own, name)) return `A name must match ${own}.`;
  if (additionalProperties !== false || !isJsonObject(named)) return undefined;
  const wanted = Object.keys(named);
  return wanted.some(one => matches(one, name)) ? undefined : `A name must match ${wanted.join(" or ")}.`;
}

const patterns = new Map<string, TextPattern>();

/** One that takes too many steps is left to the check of the value. */
function matches(source: string, name: string): boolean {
  const pattern = patterns.get(source) ?? patternOrUnchecked(source);
  patterns.set(source, pattern);
  try {
    return pattern.test(name, new StepBudget(partsOf(name), new SpareSteps()));
  } catch (error) {
    if (error instanceof OutOfStepsError) return true;
    throw error;
  }
}
