import { isJsonObject } from "../../shared/json.ts";
import { formats } from "../../shared/schema/formats.ts";
import type { ScopeSchema, ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { numberLabels } from "../../shared/scopes/value-text.ts";
import { showJson } from "../parts/show-json.ts";
import { choicesOf, nullableOf } from "./alternatives.ts";
import { variantsOf } from "./variants.ts";

/** A short text of a number's bounds; undefined: it has none. */
export function boundsText(schema: ValueSchema): string | undefined {
  const text = (bound: unknown) => (typeof bound === "number" ? bound.toLocaleString("en") : undefined);
  const [least, most] = [text(schema["minimum"]), text(schema["maximum"])];
  const [above, below] = [text(schema["exclusiveMinimum"]), text(schema["exclusiveMaximum"])];
  if (least !== undefined && most !== undefined && above === undefined && below === undefined)
    return `${least} to ${most}`;
  const bounds = [
    above === undefined ? least && `${least} or more` : `more than ${above}`,
    below === undefined ? most && `${most} or less` : `less than ${below}`,
  ];
  return bounds.filter(Boolean).join(", ") || undefined;
}

/** The constraints of a value in one line; undefined: the schema has none that fit in a line. `schema` is resolved. */
export function limitsText(schema: ValueSchema, root: ScopeSchema | undefined): string | undefined {
  const unit = schema["x-unit"] === undefined ? "" : ` ${schema["x-unit"]}`;
  const labels = numberLabels(schema);
  if (labels !== undefined) return `One of ${[...labels.values()].join(", ")}`;
  const choices = choicesOf(schema, root);
  if (choices !== undefined)
    return `One of ${choices.map(one => one.title ?? showJson(one.value, { ...schema, "x-masked": false })).join(", ")}`;
  const inner = nullableOf(schema, root);
  if (inner !== undefined) {
    const limits = limitsText(inner, root);
    return limits === undefined ? undefined : `${limits}, or none`;
  }
  const variants = variantsOf(schema, root);
  if (variants.length > 0) return `One of these forms: ${variants.map(({ title }) => title).join(", ")}`;
  switch (schema["type"]) {
    case "integer":
    case "number": {
      const kind = schema["type"] === "integer" ? "A whole number" : "A number";
      const bounds = boundsText(schema);
      const steps = typeof schema["multipleOf"] === "number" ? `, in steps of ${schema["multipleOf"]}` : "";
      return `${kind}${bounds === undefined ? "" : `, ${bounds}`}${unit}${steps}`;
    }
    case "string": {
      const format = typeof schema["format"] === "string" ? formats.get(schema["format"]) : undefined;
      if (format !== undefined) return `A text: ${format.example}`;
      return typeof schema["maxLength"] === "number"
        ? `Text of at most ${schema["maxLength"].toLocaleString("en")} characters`
        : "A text";
    }
    case "boolean":
      return "On or off";
    case "array":
      return `A list${maxText(schema["maxItems"])}`;
    case "object":
      return isJsonObject(schema["properties"]) ? undefined : `Named entries${maxText(schema["maxProperties"])}`;
    default:
      return undefined;
  }
}

function maxText(most: unknown): string {
  return typeof most === "number" ? ` of at most ${most.toLocaleString("en")} entries` : "";
}
