import type { Command } from "commander";
import { readAssignment, type TypedChange } from "../../../shared/typed-changes.ts";
import { addChangeValuesOptions, type ChangeValuesOptions } from "../change/change-values.ts";
import { readTyped } from "../change/value-place.ts";
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

/** `isFromFile`: the text is the content of a file or of standard input. */
type Assignment = TypedChange & { readonly isFromFile: boolean };

async function set(typed: readonly string[], options: ChangeValuesOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { changeValues } = await import("../change/change-values.ts");
  const { listFields } = await import("../connect/fields.ts");
  const assignments = await readAssignments(typed);
  await withSession(options, async ({ client }) => {
    const fields = await listFields(client);
    await changeValues(client, fields, readTyped(assignments, fields), options);
  });
}

async function readAssignments(typed: readonly string[]): Promise<readonly Assignment[]> {
  const assignments: Assignment[] = [];
  for (const one of typed) {
    const assigned = readAssignment(one);
    if (assigned === undefined) throw notAnAssignment(one, typed);
    const { text: given } = assigned;
    if (given === "-" && typed.filter(other => other.endsWith("=-")).length > 1)
      throw new CommandError("Standard input can be used for one field only.", exitCodes.usage);
    const isFromFile = given === "-" || (given.startsWith("@") && !given.startsWith("@@"));
    assignments.push({ ...assigned, text: await readText(given), isFromFile });
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
