import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import { SchemaResources } from "../../shared/schema/schema-resources.ts";
import { nextTurn, runInParts } from "../turns.ts";
import type { Scope } from "./scopes.ts";

/** The JSON Schema (2020-12) that editors complete and check a repository's file by. A scope's may be of megabytes: made in parts. */
export async function repositorySchemaText(scopes: readonly Scope[]): Promise<string> {
  const properties: { [scope: string]: JsonValue } = {};
  for (const { name, schema } of scopes) {
    const { $schema: _, ...rest } = schema;
    // An object of JSON, as a scope's file has it.
    const whole = rest as JsonObject;
    const resources = await runInParts(SchemaResources.reading(whole));
    await nextTurn();
    const place = `#/properties/config/properties/${name}`;
    const isOfWhole = (one: JsonObject) => resources.schemas.has(one) && resources.partOf(one) === whole;
    properties[name] = moved(whole, one => (isOfWhole(one) ? place : undefined));
  }
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "A repository's configuration (Repoconf)",
    // Read by editors that know JSON with comments.
    allowComments: true,
    type: "object",
    properties: {
      $schema: { type: "string" },
      name: { type: "string", minLength: 1, description: "What people call the repository." },
      path: { type: "string", description: "The folder of its work tree, absolute." },
      inTree: { type: "boolean", description: "Whether the values stand in the work tree's .repoconf.json." },
      config: {
        type: "object",
        description: "Scope, field, value: what is not here has its default.",
        properties,
      },
    },
    additionalProperties: false,
  };
  await nextTurn();
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/**
 * With references that lead to where things stand now: those to a place in their own file, which is a part of this one. `placeOf` a
 * schema is where the whole that its references mean stands. Asked of JSON.stringify, as its replacer, it takes five times as long.
 */
function moved(value: JsonValue, placeOf: (schema: JsonObject) => string | undefined): JsonValue {
  if (!isJsonObject(value)) return Array.isArray(value) ? value.map((item: JsonValue) => moved(item, placeOf)) : value;
  const entries = Object.entries(value).map(([keyword, operand]): [string, JsonValue] => {
    const isReference = keyword === "$ref" || keyword === "$dynamicRef";
    const isPointer = typeof operand === "string" && (operand === "#" || operand.startsWith("#/"));
    const place = isReference && isPointer ? placeOf(value) : undefined;
    return [keyword, place === undefined ? moved(operand, placeOf) : place + String(operand).slice(1)];
  });
  return Object.fromEntries(entries);
}
