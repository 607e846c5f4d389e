import type { Command } from "commander";
import { addJsonOption, addSessionOptions, type OutputOptions, type SessionOptions } from "../command-options.ts";

/** `repoconf scope list`: lists the scopes. */
export function addScopeCommand(program: Command): void {
  const scope = program.command("scope").description("manage scopes, the groups of fields");
  addJsonOption(addSessionOptions(scope.command("list")))
    .description("list the scopes")
    .action(list);
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
