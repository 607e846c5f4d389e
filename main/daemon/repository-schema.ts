import type { JsonObject } from "../../shared/json.ts";
import { SchemaResources } from "../../shared/schema/schema-resources.ts";
import { runInParts } from "../turns.ts";
import type { Scope } from "./scopes.ts";

/** The JSON Schema (2020-12) that editors complete and check a repository's file by. */
export async function repositorySchemaText(scopes: readonly Scope[]): Promise<string> {
  const properties: { [scope: string]: unknown } = {};
  /** Where the whole of a scope's file stands now, by each schema in it whose references mean that. */
  const places = new Map<unknown, string>();
  for (const { name, schema } of scopes) {
    const { $schema: _, ...rest } = schema;
    properties[name] = rest;
    const resources = await runInParts(SchemaResources.reading(rest as JsonObject));
    for (const one of resources.schemas)
      if (resources.partOf(one) === rest) places.set(one, `#/properties/config/properties/${name}`);
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
  // A reference leads to a place in its own file, which is a part of this one.
  function moved(this: unknown, keyword: string, operand: unknown): unknown {
    const isReference = keyword === "$ref" || keyword === "$dynamicRef";
    const place = isReference ? places.get(this) : undefined;
    const isPointer = typeof operand === "string" && (operand === "#" || operand.startsWith("#/"));
    return place !== undefined && isPointer ? place + operand.slice(1) : operand;
  }
  return `${JSON.stringify(schema, moved, 2)}\n`;
}
