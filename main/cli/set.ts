import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import type { JsonValue } from "../../shared/json.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { addChangeOptions, type ChangeCommandOptions, changeArguments, reportChange } from "./change.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { listFields, readValue, unknownField } from "./fields.ts";
import { chooseRepository } from "./repositories.ts";

/** `repoconf set FIELD=VALUE...`: all of them in one revision. */
export function addSetCommand(program: Command): void {
  addChangeOptions(program.command("set"))
    .argument(
      "<field=value...>",
      "the value as the field's type has it; @FILE reads a file, - standard input, @@ is an @",
    )
    .description(
      "set fields of a repository\n\nWhat is refused is left out, and the rest is set, unless with --atomic. With --json it is one object: repo, revision and config if anything was set, and errors, each with its code, if anything was refused.",
    )
    .summary("set fields of a repository")
    .action(set);
}

async function set(assignments: readonly string[], options: ChangeCommandOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  const texts = await readAssignments(assignments);
  await withSession(options, async ({ client }) => {
    const { id } = await chooseRepository(client, options.repo);
    const fields = await listFields(client);
    const values: { [field: string]: JsonValue } = {};
    for (const [field, value] of texts) {
      // Without a dot it would be taken for an option of the operation.
      if (!field.includes(".")) throw unknownField(field, fields);
      values[field] = readTyped(field, value, fields.get(field));
    }
    const reply = await client.request("config/set", { ...values, ...changeArguments(options), repo: id });
    await reportChange(client, reply, options, "Set");
  });
}

/** As `readValue`; what is meant as JSON and is none is said to be just that. */
function readTyped(field: string, value: string, schema: FieldSchema | undefined): JsonValue {
  const read = readValue(value, schema);
  if (schema === undefined || read !== value || !/^\s*[[{"]/.test(value)) return read;
  if ([schema["type"]].flat().includes("string")) return read;
  try {
    JSON.parse(value);
    return read;
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new CommandError(`The value of ${field} is no JSON: ${cause}`, exitCodes.usage);
  }
}

async function readAssignments(assignments: readonly string[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const assignment of assignments) {
    const end = assignment.indexOf("=");
    if (end < 1) throw notAssigned(assignment, assignments);
    const field = assignment.slice(0, end);
    if (texts.has(field)) throw new CommandError(`${field} is given twice.`, exitCodes.usage);
    const given = assignment.slice(end + 1);
    if (given === "-" && assignments.filter(other => other.endsWith("=-")).length > 1) {
      throw new CommandError("Standard input can be read for one field only.", exitCodes.usage);
    }
    texts.set(field, await readText(given));
  }
  return texts;
}

/** `set svc.timeout 30` and `set svc.timeout = 30` are what other tools take. */
function notAssigned(assignment: string, assignments: readonly string[]): CommandError {
  const [field = "", ...rest] = assignments;
  const value = rest[0] === "=" ? rest.slice(1) : rest;
  const meant = /^[A-Za-z][\w.-]*$/.test(field) && value.length === 1 ? `${field}=${value[0]}` : undefined;
  const hint =
    meant === undefined ? "" : ` Did you mean ${/^[\w.,:/@=-]+$/.test(meant) ? `"${meant}"` : `'${meant}'`}?`;
  return new CommandError(`"${assignment}" is not of the form FIELD=VALUE.${hint}`, exitCodes.usage);
}

async function readText(given: string): Promise<string> {
  if (given === "-") return withoutLineEnd(await text(process.stdin));
  if (given.startsWith("@@")) return given.slice(1);
  if (!given.startsWith("@")) return given;
  try {
    return withoutLineEnd(await readFile(given.slice(1), "utf8"));
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new CommandError(`${given.slice(1)} cannot be read: ${cause}`, exitCodes.usage);
  }
}

/** The line end that editors and echo put at the end is no part of the value. */
function withoutLineEnd(content: string): string {
  return content.replace(/\r?\n$/, "");
}
