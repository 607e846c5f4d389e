import type { Command } from "commander";
import { describeCause } from "../../files/describe-cause.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { print, printFailure, printNote, printValue } from "../output/terminal.ts";

interface SchemaOptions {
  readonly write?: boolean;
}

/** `repoconf schema`: the JSON Schema with which editors complete and check a work tree's file. Needs no daemon, home or key. */
export function addSchemaCommand(program: Command): void {
  program
    .command("schema")
    .summary("print the JSON Schema for a work tree's .repoconf.json, or write it there for editors")
    .description(
      "print the JSON Schema for a work tree's .repoconf.json, or write it there for editors\n\nIt covers the svc scope and the scopes in .repoconf/scopes. With --write it goes into .repoconf/schema.json, and .repoconf.json gets a $schema that points there: commit both, and every clone has completion and checks in any editor that supports JSON Schema. Write it again when a scope changes. Needs no daemon.",
    )
    .option("--write", "write .repoconf/schema.json and reference it in .repoconf.json")
    .action(schema);
}

async function schema(options: SchemaOptions): Promise<void> {
  const { makeEditorSchema, writeEditorSchema } = await import("../../check/editor-schema.ts");
  const { findInTreeFile } = await import("../../check/work-tree-file.ts");
  const file = await findInTreeFile(process.cwd());
  const { text, problems } = await makeEditorSchema(file);
  for (const { file: path, problem } of problems)
    printFailure(`${path}:${problem.line ?? 1}:${problem.column ?? 1}: ${problem.message}`);
  if (problems.length > 0) process.exitCode = exitCodes.refused;
  if (!options.write) return printValue(text);
  // A schema without the invalid scopes would be worse than the existing file.
  if (problems.length > 0) return;
  const { path, reference } = await writeEditorSchema(file, text).catch(error => {
    throw new CommandError(describeCause(error));
  });
  print(`Wrote ${path}`);
  if (reference === "added") print(`Referenced it in ${file.path}`);
  if (reference === "different") printNote(`${file.path} references another schema, which was kept.`);
}
