import type { Command } from "commander";
import { isJsonObject, type JsonObject } from "../../../shared/json.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { addOptions, type OutputOptions, type SessionOptions } from "../command-options.ts";
import { type Fields, listFields, unknownField } from "../connect/fields.ts";
import { describeRows } from "../options.ts";
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
  await withSession(options, async ({ client }) => printFields(await listFields(client), wanted, options));
}

/** Throws CommandError. */
export function printFields(fields: Fields, wanted: string | undefined, { json }: OutputOptions): void {
  const one = wanted === undefined ? undefined : fields.get(wanted);
  if (wanted !== undefined && one !== undefined) {
    if (json) printJson(one);
    else printField(wanted, one);
    return;
  }
  const part = [...fields].filter(([path]) => wanted === undefined || path.startsWith(`${wanted}.`));
  if (wanted !== undefined && part.length === 0) throw unknownField(wanted, fields);
  if (json) printJson(Object.fromEntries(part));
  else
    printTable(
      ["FIELD", "TAKES", "DEFAULT", "DESCRIPTION"],
      part.map(([path, schema]) => [path, describeType(schema), JSON.stringify(schema.default), schema.title ?? ""]),
    );
}

function printField(path: string, field: FieldSchema): void {
  print(`${style("bold", path)}${field.title === undefined ? "" : `  ${field.title}`}`);
  if (field.description !== undefined) print(`  ${field.description}`);
  print(`  takes    ${describeType(field)}`);
  const shape = describeShape(field);
  if (shape !== undefined) print(`  shape    ${shape}`);
  print(`  default  ${JSON.stringify(field.default)}`);
  if (field["deprecated"] === true) print("  deprecated: do not use this field any more");
}

/** Describes in words which values a schema accepts. */
function describeType(schema: FieldSchema): string {
  const { type, enum: choices, minimum, maximum, pattern, description } = schema;
  if (Array.isArray(choices)) return `one of ${choices.map(choice => JSON.stringify(choice)).join(", ")}`;
  if (schema["x-keyOf"] !== undefined) return `"" or a key of ${schema["x-keyOf"]}`;
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"]);
  const types = type === undefined ? "anything" : [type].flat().join(" or ");
  const limits = [
    minimum === undefined ? "" : `from ${String(minimum)}`,
    maximum === undefined ? "" : `to ${String(maximum)}`,
    // A description in words is clearer than a pattern.
    pattern === undefined || description !== undefined ? "" : `matching ${String(pattern)}`,
  ].filter(limit => limit !== "");
  return limits.length === 0 ? types : `${types} ${limits.join(" ")}`;
}

/** Deeper nested values are shown as "...". */
const maximumDepth = 4;

/** The shape of an object or array, written like JSON with types as values; undefined for simple types. */
function describeShape(schema: object): string | undefined {
  const shape = shapeOf({ ...schema }, 0);
  return /[{[]/.test(shape) ? shape : undefined;
}

function shapeOf(schema: unknown, depth: number): string {
  if (!isJsonObject(schema)) return "any value";
  const { type, enum: choices, items } = schema;
  if (Array.isArray(choices)) return choices.map(choice => JSON.stringify(choice)).join(" | ");
  if (isJsonObject(items)) return depth === maximumDepth ? "[...]" : `[${shapeOf(items, depth + 1)}, ...]`;
  const members = membersOf(schema, depth);
  if (members.length > 0) return depth === maximumDepth ? "{...}" : `{ ${members.join(", ")} }`;
  return type === undefined ? "any value" : [type].flat().join(" | ");
}

function membersOf({ properties, additionalProperties, required }: JsonObject, depth: number): string[] {
  const needed = new Set(Array.isArray(required) ? required : []);
  const named = Object.entries(isJsonObject(properties) ? properties : {}).map(
    ([name, member]) => `${JSON.stringify(name)}${needed.has(name) ? "" : "?"}: ${shapeOf(member, depth + 1)}`,
  );
  return isJsonObject(additionalProperties)
    ? [...named, `NAME: ${shapeOf(additionalProperties, depth + 1)}, ...`]
    : named;
}
