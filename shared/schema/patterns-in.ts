import { isJsonObject, type JsonObject } from "../json.ts";
import { runToEnd } from "../run-to-end.ts";
import { SchemaResources } from "./schema-resources.ts";

/** The patterns of a schema, which is made of JSON, and of all that are in it. */
export function patternsIn(schema: object): readonly string[] {
  const { schemas } = runToEnd(SchemaResources.reading(schema as JsonObject));
  return [...schemas].flatMap(patternsOf);
}

/** The patterns right in a schema. */
export function patternsOf({ pattern, patternProperties = null }: JsonObject): readonly string[] {
  const names = isJsonObject(patternProperties) ? Object.keys(patternProperties) : [];
  return typeof pattern === "string" ? [pattern, ...names] : names;
}
