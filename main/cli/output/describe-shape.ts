import { isJsonObject, type JsonObject } from "../../../shared/json.ts";

/** Deeper nested values are shown as "...". */
const maximumDepth = 4;

/** The shape of an object or array, written like JSON with types as values; undefined for simple types. */
export function describeShape(schema: object): string | undefined {
  const shape = shapeOf({ ...schema }, 0);
  return /[{[]/.test(shape) ? shape : undefined;
}

function shapeOf(schema: unknown, depth: number): string {
  if (!isJsonObject(schema)) return "any value";
  const { type, enum: choices, items } = schema;
  if (Array.isArray(choices)) return choices.map(choice => JSON.stringify(choice)).join(" | ");
  if (isJsonObject(items)) return depth === maximumDepth ? "[...]" : `[${shapeOf(items, depth + 1)}, ...]`;
  const members = membersOf(schema, depth);
  if (members.length > 0) return depth === maximumDepth ? "{...}" : `{ ${members.join(", ")} }`;
  return type === undefined ? "any value" : [type].flat().join(" | ");
}

function membersOf({ properties, additionalProperties, required }: JsonObject, depth: number): string[] {
  const needed = new Set(Array.isArray(required) ? required : []);
  const named = Object.entries(isJsonObject(properties) ? properties : {}).map(
    ([name, member]) => `${JSON.stringify(name)}${needed.has(name) ? "" : "?"}: ${shapeOf(member, depth + 1)}`,
  );
  return isJsonObject(additionalProperties)
    ? [...named, `NAME: ${shapeOf(additionalProperties, depth + 1)}, ...`]
    : named;
}
