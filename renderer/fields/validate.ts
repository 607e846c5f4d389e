import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import { isJsonObject, type JsonValue, sameJson } from "../../shared/json.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";

const validators = new WeakMap<object, Validator>();

/** What is wrong with a part of a value. */
export interface ValueProblem {
  /** The part, as the members and indexes that lead to it. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Checks a value by its field's schema, as the daemon will. The page's policy lets no schema be compiled, so it is interpreted. */
export function checkValue(value: JsonValue, schema: FieldSchema): readonly ValueProblem[] {
  let validator = validators.get(schema);
  if (validator === undefined) {
    // A schema that the daemon serves is one.
    validator = new Validator(schema as unknown as Schema, "2020-12", false);
    validators.set(schema, validator);
  }
  const { errors } = validator.validate(value);
  const problems = deepest(errors).map(error => ({
    path: pathOf(error.instanceLocation),
    message: describe(error, valueAt(schema, error.keywordLocation), schemaOf(schema, error)),
  }));
  return [...problems, ...repeatedNames(value, schema)];
}

/** Of the errors along the way to what is wrong, the ones at the end say what. */
function deepest(errors: readonly OutputUnit[]): OutputUnit[] {
  const wrappers = new Set([
    "properties",
    "items",
    "prefixItems",
    "additionalProperties",
    "$ref",
    "allOf",
    "propertyNames",
  ]);
  const leaves = errors.filter(({ keyword }) => !wrappers.has(keyword));
  return leaves.length > 0 ? leaves : [...errors];
}

function pathOf(pointer: string): string[] {
  const parts = pointer.replace(/^#/, "").split("/").slice(1);
  return parts.map(part => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** What a keyword of the schema says. */
function valueAt(schema: unknown, pointer: string): unknown {
  let at: unknown = schema;
  for (const part of pathOf(pointer))
    at = Array.isArray(at) ? at[Number(part)] : isJsonObject(at) ? at[part] : undefined;
  return at;
}

/** The schema that the keyword stands in. */
function schemaOf(schema: unknown, { keywordLocation }: OutputUnit): unknown {
  return valueAt(schema, keywordLocation.replace(/\/[^/]*$/, ""));
}

function describe({ keyword, error }: OutputUnit, expected: unknown, within: unknown): string {
  switch (keyword) {
    case "minimum":
      return `At least ${String(expected)}.`;
    case "maximum":
      return `At most ${String(expected)}.`;
    case "minLength":
      return expected === 1 ? "Must not be empty." : `At least ${String(expected)} characters.`;
    case "maxLength":
      return `At most ${String(expected)} characters.`;
    case "type":
      return expected === "integer" ? "Must be a whole number." : `Must be of type ${[expected].flat().join(" or ")}.`;
    case "enum":
      return `Must be one of ${Array.isArray(expected) ? expected.map(one => JSON.stringify(one)).join(", ") : "those there are"}.`;
    case "pattern":
      return isJsonObject(within) && typeof within["description"] === "string"
        ? `Is not of the right form: ${within["description"]}`
        : `Must match the pattern ${String(expected)}.`;
    case "required":
      return "Something is missing.";
    case "uniqueItems":
      return "Is there twice.";
    default:
      return error;
  }
}

/** `uniqueItemProperties`, a keyword of ours that the library does not know. */
function repeatedNames(value: JsonValue, schema: FieldSchema): ValueProblem[] {
  const names = schema["uniqueItemProperties"];
  if (!Array.isArray(names) || !Array.isArray(value)) return [];
  const items: readonly JsonValue[] = value;
  return names.flatMap((name: string) =>
    items.flatMap((item, index) => {
      if (!isJsonObject(item)) return [];
      const first = items.findIndex(other => isJsonObject(other) && sameJson(other[name], item[name]));
      return first < index ? [{ path: [String(index), name], message: "Is there twice." }] : [];
    }),
  );
}
