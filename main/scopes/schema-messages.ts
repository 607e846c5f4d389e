import type { ErrorObject } from "ajv/dist/2020.js";
import { jsonType } from "../../shared/json.ts";
import { shortened } from "../../shared/shortened.ts";
import { valueAt } from "../../shared/value-edit.ts";

/** The maximum number of choices that are listed; further ones are only counted. */
const mostChoices = 20;

/** The maximum number of characters of a member's name in a message. */
const mostOfName = 40;

/** The problem that a rule of a schema reports, no matter which code checked it. */
type RuleError = Pick<ErrorObject, "instancePath" | "keyword" | "params" | "message" | "parentSchema" | "propertyName">;

/** The problem of a part of a value, as the end of a sentence about it: what is expected there, not the text of the rule. */
export function describeSchemaError(error: RuleError, value: unknown): string {
  const { propertyName: name } = error;
  const problem = describeProblem(error, value);
  if (name === undefined) return problem;
  return `has a member called ${quoted(name)}, a name that ${problem}`;
}

function quoted(name: string): string {
  return JSON.stringify(shortened(name, mostOfName));
}

function describeProblem(error: RuleError, value: unknown): string {
  const { keyword, params } = error;
  const limit: unknown = params["limit"];
  switch (keyword) {
    case "type":
      if (Number.isInteger(valueAt(value, error.instancePath)) && [params["type"]].flat().includes("integer"))
        return `must be a whole number from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, because larger ones are rounded; store it as text, in a field that accepts text`;
      return `must be ${[params["type"]].flat().map(withArticle).join(" or ")}, not ${withArticle(jsonType(valueAt(value, error.instancePath)))}`;
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
      return describePattern(error);
    case "minLength":
    case "minItems":
    case "minProperties":
      return limit === 1 ? "must not be empty" : `must have at least ${String(limit)} ${parts(keyword)}`;
    case "maxLength":
    case "maxItems":
    case "maxProperties":
      return `must have at most ${String(limit)} ${parts(keyword)}`;
    case "minimum":
      return `must be at least ${String(limit)}`;
    case "maximum":
      return `must be at most ${String(limit)}`;
    case "exclusiveMinimum":
      return `must be more than ${String(limit)}`;
    case "exclusiveMaximum":
      return `must be less than ${String(limit)}`;
    case "multipleOf":
      return `must be a multiple of ${String(params["multipleOf"])}`;
    default:
      return error.message ?? `breaks the rule ${keyword}`;
  }
}

/** Quotes the description, if there is one, because it is easier to understand than a pattern. */
function describePattern({ params, parentSchema }: RuleError): string {
  const description: unknown = parentSchema?.["description"];
  if (typeof description === "string" && description !== "")
    return `does not have the right form: ${description.replace(/\.$/, "")}`;
  return `must match the pattern ${String(params["pattern"])}`;
}

function choices(allowed: unknown): string {
  const all: readonly unknown[] = Array.isArray(allowed) ? allowed : [];
  const named = all.slice(0, mostChoices).map(choice => JSON.stringify(choice));
  if (all.length > mostChoices) return `one of ${named.join(", ")} and ${all.length - mostChoices} more`;
  const last = named.pop() ?? "";
  return named.length === 0 ? last : `${named.join(", ")} or ${last}`;
}

function parts(keyword: string): string {
  if (keyword.endsWith("Length")) return "characters";
  return keyword.endsWith("Items") ? "items" : "members";
}

function withArticle(type: string): string {
  if (type === "null") return type;
  return `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
}
