import { jsonType } from "../json.ts";
import { shortened } from "../shortened.ts";
import { formats } from "./formats.ts";

/** The maximum number of choices that are listed; further ones are only counted. */
const maxChoices = 20;

/** The maximum number of characters of a member's name in a message. */
const maxNameLength = 40;

/** A rule that a value breaks: a SchemaProblem, or an error of Ajv. */
interface BrokenRule {
  readonly keyword: string;
  /** What the keyword requires, under the names that Ajv uses. */
  readonly params: { readonly [name: string]: unknown };
  /** The schema that contains the keyword. */
  readonly parentSchema?: { readonly [keyword: string]: unknown };
  /** The member's name, if the name itself breaks the rule. */
  readonly propertyName?: string;
}

/** Completes a sentence about the part of a value that breaks a rule: it says what is expected there. `given`: that part. */
export function describeSchemaProblem(problem: BrokenRule, given: unknown): string {
  const { propertyName: name } = problem;
  if (name === undefined) return describe(problem, given);
  return `has a member called ${quoted(name)}, a name that ${describe(problem, name)}`;
}

function quoted(name: string): string {
  return JSON.stringify(shortened(name, maxNameLength));
}

function describe(problem: BrokenRule, given: unknown): string {
  const { keyword, params } = problem;
  const limit = String(params["limit"]);
  switch (keyword) {
    case "steps":
      return "takes too many steps to check; make the value smaller or the schema simpler";
    case "type":
      if (Number.isInteger(given) && [params["type"]].flat().includes("integer"))
        return `must be a whole number from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, because larger ones are rounded; store it as text, in a field that accepts text`;
      return `must be ${[params["type"]].flat().map(withArticle).join(" or ")}, not ${withArticle(jsonType(given))}`;
    case "additionalProperties":
      return `must not have the member ${quoted(String(params["additionalProperty"]))}`;
    case "required":
    case "dependentRequired":
      return `lacks the member "${params["missingProperty"]}"`;
    case "uniqueItemProperties":
      return "must not contain two items with the same name";
    case "uniqueItems":
      return "must not contain the same item twice";
    case "enum":
      return `must be ${choices(params["allowedValues"])}`;
    case "const":
      return `must be ${JSON.stringify(params["allowedValue"])}`;
    case "pattern":
      return describePattern(problem);
    case "format":
      return `must be ${formats.get(String(params["format"]))?.example ?? String(params["format"])}`;
    case "minLength":
    case "minItems":
    case "minProperties":
      return limit === "1" ? "must not be empty" : `must have at least ${limit} ${parts(keyword)}`;
    case "maxLength":
    case "maxItems":
    case "maxProperties":
      return `must have at most ${limit} ${parts(keyword)}`;
    case "minimum":
      return `must be at least ${limit}`;
    case "maximum":
      return `must be at most ${limit}`;
    case "exclusiveMinimum":
      return `must be more than ${limit}`;
    case "exclusiveMaximum":
      return `must be less than ${limit}`;
    case "multipleOf":
      return `must be a multiple of ${String(params["multipleOf"])}`;
    case "anyOf":
      return "must match a schema in anyOf";
    case "oneOf":
      return "must match exactly one schema in oneOf";
    case "not":
      return "must not match the schema in not";
    case "if":
      return `must match the schema in ${String(params["failingKeyword"])}`;
    case "contains":
      return describeContains(params);
    case "items":
      return `must not have more than ${limit} items`;
    case "unevaluatedItems":
      return "must not have items that no other rule is about";
    case "unevaluatedProperties":
      return `must not have the member ${quoted(String(params["unevaluatedProperty"]))}`;
    // Ajv's name for the schema false.
    case "false schema":
    case "false":
      return "must not be there";
    default:
      return `breaks the rule ${keyword}`;
  }
}

/** Quotes the description, if there is one, because it is easier to understand than a pattern. */
function describePattern({ params, parentSchema }: BrokenRule): string {
  const description: unknown = parentSchema?.["description"];
  if (typeof description === "string" && description !== "")
    return `does not have the right form: ${description.replace(/\.$/, "")}`;
  return `must match the pattern ${String(params["pattern"])}`;
}

function describeContains({ minContains: least, maxContains: most }: BrokenRule["params"]): string {
  const end = most === undefined ? "" : ` and at most ${String(most)}`;
  return `must contain at least ${String(least)}${end} items that match the schema in contains`;
}

function choices(allowed: unknown): string {
  const all: readonly unknown[] = Array.isArray(allowed) ? allowed : [];
  const named = all.slice(0, maxChoices).map(choice => JSON.stringify(choice));
  if (all.length > maxChoices) return `one of ${named.join(", ")} and ${all.length - maxChoices} more`;
  const last = named.pop() ?? "";
  return named.length === 0 ? last : `${named.join(", ")} or ${last}`;
}

function parts(keyword: string): string {
  if (keyword.endsWith("Length")) return "characters";
  return keyword.endsWith("Items") ? "items" : "members";
}

function withArticle(type: unknown): string {
  if (type === "null") return type;
  return `${/^[aeiou]/.test(String(type)) ? "an" : "a"} ${String(type)}`;
}
