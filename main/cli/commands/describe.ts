import type { Command } from "commander";
import { splitConfigPath } from "../../../shared/config-path.ts";
import type { OperationResults } from "../../../shared/protocol.ts";
import type { FieldSchema, ValueSchema } from "../../../shared/scopes/scope-schema.ts";
import { addOptions, type OutputOptions, type SessionOptions } from "../command-options.ts";
import { fieldsIn, unknownField } from "../connect/fields.ts";
import { describeRows } from "../options.ts";
import { describeShape, describeType, resolvedSchema } from "../output/describe-schema.ts";
import { print, printJson, printTable, style } from "../output/terminal.ts";

export interface DescribeOptions extends SessionOptions, OutputOptions {}

/** `repoconf describe [FIELD]`: lists the fields and the values that they accept. */
export function addDescribeCommand(program: Command): void {
  addOptions(program.command("describe"), describeRows)
    .argument("[field|scope]", "only this field (svc.timeout) or scope (svc)")
    .description("show what a field is for, which values it takes, and its default")
    .action(describe);
}

async function describe(wanted: string | undefined, options: DescribeOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  await withSession(options, async ({ client }) => printFields(await client.run("scope/list", {}), wanted, options));
}

/** Throws CommandError. */
export function printFields(
  scopes: OperationResults["scope/list"],
  wanted: string | undefined,
  { json }: OutputOptions,
): void {
  const fields = fieldsIn(scopes);
  const resolved = (path: string, schema: FieldSchema) => {
    const scope = splitConfigPath(path)?.scope;
    return resolvedSchema(schema, scopes.find(one => one.scope === scope)?.schema);
  };
  const one = wanted === undefined ? undefined : fields.get(wanted);
  if (wanted !== undefined && one !== undefined) {
    if (json) printJson(one);
    else printField(wanted, one, resolved(wanted, one));
    return;
  }
  const part = [...fields].filter(([path]) => wanted === undefined || path.startsWith(`${wanted}.`));
  if (wanted !== undefined && part.length === 0) throw unknownField(wanted, fields);
  if (json) printJson(Object.fromEntries(part));
  else
    printTable(
      ["FIELD", "TAKES", "DEFAULT", "DESCRIPTION"],
      part.map(([path, schema]) => [
        path,
        describeType(resolved(path, schema)),
        JSON.stringify(schema.default),
        schema.title ?? "",
      ]),
    );
}

function printField(path: string, field: FieldSchema, resolved: ValueSchema): void {
  print(`${style("bold", path)}${field.title === undefined ? "" : `  ${field.title}`}`);
  if (field.description !== undefined) print(`  ${field.description}`);
  print(`  takes    ${describeType(resolved)}`);
  const shape = describeShape(resolved);
  if (shape !== undefined) print(`  shape    ${shape}`);
  print(`  default  ${JSON.stringify(field.default)}`);
  const step = field["x-step"];
  if (step !== undefined) print(`  step     ${step} higher in each linked worktree that has no value of its own`);
  if (field["deprecated"] === true) print("  deprecated: do not use this field any more");
}
