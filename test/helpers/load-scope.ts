import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Adds a scope `load` with these text fields to a home, before its daemon starts. */
export async function addLoadScope(home: string, fields: readonly string[]): Promise<void> {
  const properties = Object.fromEntries(fields.map(name => [name, { type: "string", default: "" }]));
  await mkdir(join(home, "scopes"), { recursive: true });
  await writeFile(join(home, "scopes/load.schema.json"), JSON.stringify({ type: "object", properties }));
}
