import type { Command } from "commander";
import { addJsonOption, addSessionOptions, type OutputOptions, type SessionOptions } from "../command-options.ts";
import type { AddScopeOptions } from "../scopes/add-scope.ts";

/** `repoconf scope list` and `add`: lists the scopes, and adds one from a schema. */
export function addScopeCommand(program: Command): void {
  const scope = program.command("scope").description("manage scopes, the groups of fields");
  addJsonOption(addSessionOptions(scope.command("list")))
    .description("list the scopes")
    .action(list);
  addJsonOption(addSessionOptions(scope.command("add")))
    .argument("<file>", "a JSON Schema: draft-04, 06, 07, 2019-09 or 2020-12")
    .summary("make a scope of a JSON Schema, after showing its fields")
    .description(
      "make a scope of a JSON Schema, after showing its fields\n\nThe properties of the schema become fields. It is copied into the home, with the files that its references name below its folder, and can be of any draft from draft-04 on. A field without a default is null, which means that it is not set.",
    )
    .option("--name <scope>", "the scope's name (default: the file's name up to its first period)")
    .option("--dry-run", "only show what it would add")
    .option("--yes", "do not ask for confirmation")
    .action(add);
}

async function add(path: string, options: AddScopeOptions): Promise<void> {
  const { addScope } = await import("../scopes/add-scope.ts");
  await addScope(path, options);
}

async function list(options: SessionOptions & OutputOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { printJson, printTable } = await import("../output/terminal.ts");
  await withSession(options, async ({ client }) => {
    const scopes = await client.run("scope/list", {});
    if (options.json) return printJson(scopes);
    const rows = scopes.map(({ scope, schema }) => {
      const count = Object.keys(schema.properties).length;
      return [scope, `${count}`, schema.title ?? "", schema.description ?? ""];
    });
    printTable(["SCOPE", "FIELDS", "TITLE", "DESCRIPTION"], rows);
  });
}
