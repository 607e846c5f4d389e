import type { Command } from "commander";
import { InexactNumberError, parseExactJson } from "../../../shared/exact-number.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { ValueEdit } from "../../../shared/value-edit.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { addChangeValuesOptions, type ChangeValuesOptions } from "../change/change-values.ts";
import { findPlace, readPlace, schemaAt, showPlace } from "../change/value-place.ts";
import { accepts, type Fields, isUnclearNull, type PlainSchema, readValue } from "../connect/fields.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { readNamedFile } from "../system/named-file.ts";

/** `repoconf set FIELD=VALUE...`: sets all fields in one revision. */
export function addSetCommand(program: Command): void {
  addChangeValuesOptions(program.command("set"))
    .argument(
      "<field=value...>",
      "the new value, in the form of the field's type; @FILE reads a file, - standard input, @@ is a literal @; += adds to a list, -= removes from it; := takes JSON",
    )
    .description(
      'set fields of a repository, or places inside their values\n\nsvc.services.web.image=node:25 changes one member, svc.proxy_aliases+=www.shop.test adds an item unless the list has it, and -= removes it. Where a property of the items is unique, its value names an item: svc.envvars.PORT=8080 sets the value of PORT, += replaces an item, and svc.envvars-=PORT removes it. Such changes apply to the current value, so two of them at the same time both take effect. [2] is the item of a list with this index; where names are numbers, .2 is the item with this name. A name with a dot, a bracket or a quote is written as JSON text: svc.services."a.b".image.\n\nIf a field accepts text and something else, = means text and := means JSON: app.note:=null stores null, app.note:=\'"null"\' the text null. +:= and -:= do the same for items.\n\nInvalid values are skipped and the rest is set, unless you pass --atomic. With --json the output is one object: repo, revision and config if anything was set, and errors with their codes if anything was refused; for several repositories, repositories and errors.',
    )
    .summary("set fields of a repository, or places inside their values")
    .action(set);
}

/** A parsed argument `FIELD=VALUE`, `FIELD+=VALUE` or `FIELD-=VALUE`. */
interface Assignment {
  readonly name: string;
  readonly op: "set" | "add" | "remove";
  /** Written with `:=`. */
  readonly isJson: boolean;
  readonly text: string;
  /** The text was an argument itself, not the contents of a file or of standard input. */
  readonly isTyped: boolean;
}

async function set(typed: readonly string[], options: ChangeValuesOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { changeValues } = await import("../change/change-values.ts");
  const { listFields } = await import("../connect/fields.ts");
  const assignments = await readAssignments(typed);
  await withSession(options, async ({ client }) => {
    const fields = await listFields(client);
    const values: { [field: string]: JsonValue } = {};
    const edits: ValueEdit[] = [];
    const seen = new Set<string>();
    for (const assignment of assignments) {
      const { name, op, ...given } = withTrailingMinus(assignment, fields);
      const isWhole = op === "set" && /^[^."[]+\.[^."[]+$/.test(name);
      // Unknown fields are left to the daemon, which reports them and sets the others.
      const place = (isWhole ? findPlace : readPlace)(name, fields);
      const shown = showPlace(place, fields.get(place.field));
      if (op === "set" && seen.has(shown)) throw givenTwice(shown);
      seen.add(shown);
      const schema = schemaAt(fields.get(place.field), place.path);
      const value = parseValue(shown, { ...given, op }, op === "set" ? schema : schemaAt(schema, "/0"));
      if (op === "set" && place.path === "") values[place.field] = value;
      else edits.push({ ...place, op, value });
    }
    const both = edits.find(({ field }) => Object.hasOwn(values, field))?.field;
    if (both !== undefined)
      throw new CommandError(`${both} and a place inside it cannot be set in the same command.`, exitCodes.usage);
    await changeValues(client, fields, { values, unset: [], edits }, options);
  });
}

/** Shells make two arguments of `FIELD={"a":1,"b":2}`. */
function givenTwice(place: string): CommandError {
  const message = `${place} is given twice. If its value is one in braces, quote it for the shell: ${place}='{...}'`;
  return new CommandError(message, exitCodes.usage);
}

/** A field name may end with a minus, so `FIELD-=VALUE` may set the field `FIELD-`. */
function withTrailingMinus(assignment: Assignment, fields: Fields): Assignment {
  const name = `${assignment.name}-`;
  return assignment.op === "remove" && fields.has(name) ? { ...assignment, name, op: "set" } : assignment;
}

/**
 * Like `readValue`, but throws CommandError for a number that would be rounded, for invalid JSON after `:=` or that starts like an object,
 * array or string, and for `null` typed for a field that accepts both the text and null.
 */
function parseValue(
  place: string,
  { text, op, isJson, isTyped }: Pick<Assignment, "text" | "op" | "isJson" | "isTyped">,
  schema: PlainSchema | undefined,
): JsonValue {
  try {
    if (isJson) return parseExactJson(text);
    if (isTyped && isUnclearNull(text, schema)) {
      const assigned = `${place}${{ set: "", add: "+", remove: "-" }[op]}:=`;
      throw new CommandError(
        `${place} accepts both null and the text null. Write ${assigned}null, or '${assigned}"null"' for the text.`,
        exitCodes.usage,
      );
    }
    const read = readValue(text, schema);
    const looksLikeJson = read === text && schema !== undefined && !accepts(schema, "string") && /^\s*[[{"]/.test(text);
    return looksLikeJson ? parseExactJson(text) : read;
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (error instanceof InexactNumberError)
      throw new CommandError(`The value of ${place} cannot be stored: ${error.message}.`, exitCodes.usage);
    const cause = describeCause(error);
    throw new CommandError(`The value of ${place} is not valid JSON: ${cause}`, exitCodes.usage);
  }
}

async function readAssignments(typed: readonly string[]): Promise<readonly Assignment[]> {
  const assignments: Assignment[] = [];
  for (const one of typed) {
    const [, name, sign = "", colon = "", given] = /^((?:"(?:[^"\\]|\\.)*"|[^"=])+?)([+-]?)(:?)=(.*)$/s.exec(one) ?? [];
    if (name === undefined || given === undefined) throw notAnAssignment(one, typed);
    if (given === "-" && typed.filter(other => other.endsWith("=-")).length > 1)
      throw new CommandError("Standard input can be used for one field only.", exitCodes.usage);
    const op = sign === "" ? "set" : sign === "+" ? "add" : "remove";
    const isTyped = given !== "-" && (!given.startsWith("@") || given.startsWith("@@"));
    assignments.push({ name, op, isJson: colon !== "", text: await readText(given), isTyped });
  }
  return assignments;
}

/** The error for an argument without `=`. Suggests the right form for `set svc.timeout 30` and `set svc.timeout = 30`. */
function notAnAssignment(assignment: string, assignments: readonly string[]): CommandError {
  const [field = "", ...rest] = assignments;
  const value = rest[0] === "=" ? rest.slice(1) : rest;
  const meant = /^[A-Za-z][\w.-]*$/.test(field) && value.length === 1 ? `${field}=${value[0]}` : undefined;
  const hint =
    meant === undefined ? "" : ` Did you mean ${/^[\w.,:/@=-]+$/.test(meant) ? `"${meant}"` : `'${meant}'`}?`;
  return new CommandError(`"${assignment}" is not in the form FIELD=VALUE.${hint}`, exitCodes.usage);
}

async function readText(given: string): Promise<string> {
  if (given.startsWith("@@")) return given.slice(1);
  if (given !== "-" && !given.startsWith("@")) return given;
  return withoutLineEnd(await readNamedFile(given === "-" ? given : given.slice(1)));
}

/** Removes one final line end, which editors and echo add. */
function withoutLineEnd(content: string): string {
  return content.replace(/\r?\n$/, "");
}
