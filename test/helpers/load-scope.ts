import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Adds a scope `load` with these text fields to a home, before its daemon starts. */
export async function addLoadScope(home: string, fields: readonly string[]): Promise<void> {
  const property = { type: "string", title: "A field", description: "A field.", default: "" };
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    title: "Load",
    description: "Fields for tests.",
    properties: Object.fromEntries(fields.map(name => [name, property])),
  };
  await mkdir(join(home, "scopes"), { recursive: true });
  await writeFile(join(home, "scopes/load.schema.json"), JSON.stringify(schema));
}
