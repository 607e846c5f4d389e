import { isJsonObject, type JsonObject } from "../json.ts";
import { runToEnd } from "../run-to-end.ts";
import { SchemaResources } from "./schema-resources.ts";

/** All patterns in a JSON schema and in the schemas inside it. */
export function patternsIn(schema: object): readonly string[] {
  const { schemas } = runToEnd(SchemaResources.reading(schema as JsonObject));
  return [...schemas].flatMap(patternsOf);
}

/** The patterns of one schema, without those of the schemas inside it. */
export function patternsOf({ pattern, patternProperties = null }: JsonObject): readonly string[] {
  const names = isJsonObject(patternProperties) ? Object.keys(patternProperties) : [];
  return typeof pattern === "string" ? [pattern, ...names] : names;
}
