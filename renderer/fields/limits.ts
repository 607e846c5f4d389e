import { isJsonObject } from "../../shared/json.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { numberLabels } from "../../shared/scopes/value-text.ts";
import { showJson } from "../page/show-json.ts";

/** A short text of a number's bounds; undefined: it has none. */
export function boundsText({ minimum, maximum }: ValueSchema): string | undefined {
  const text = (bound: unknown) => (typeof bound === "number" ? bound.toLocaleString("en") : undefined);
  const [least, most] = [text(minimum), text(maximum)];
  if (least !== undefined && most !== undefined) return `${least} to ${most}`;
  if (least !== undefined) return `${least} or more`;
  return most === undefined ? undefined : `${most} or less`;
}

/** The constraints of a value in one line; undefined: the schema has none that fit in a line. */
export function limitsText(schema: ValueSchema): string | undefined {
  const unit = schema["x-unit"] === undefined ? "" : ` ${schema["x-unit"]}`;
  const labels = numberLabels(schema);
  if (labels !== undefined) return `One of ${[...labels.values()].join(", ")}`;
  if (Array.isArray(schema["enum"]))
    return `One of ${schema["enum"].map(one => showJson(one, { ...schema, "x-masked": false })).join(", ")}`;
  switch (schema["type"]) {
    case "integer":
    case "number": {
      const kind = schema["type"] === "integer" ? "A whole number" : "A number";
      const bounds = boundsText(schema);
      return bounds === undefined ? `${kind}${unit}` : `${kind}, ${bounds}${unit}`;
    }
    case "string":
      return typeof schema["maxLength"] === "number"
        ? `Text of at most ${schema["maxLength"].toLocaleString("en")} characters`
        : "A text";
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
