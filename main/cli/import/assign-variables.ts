import type { FoundVariable, FoundVariables } from "../../../shared/import/found-variables.ts";
import type { JsonValue } from "../../../shared/json.ts";
import { describeEffect } from "../../../shared/scopes/describe-effect.ts";
import { isSecretReference } from "../../../shared/scopes/hidden-values.ts";
import { valueAt } from "../../../shared/value-edit.ts";
import type { Fields } from "../connect/fields.ts";
import { fieldsByVariable } from "../environment/formats.ts";
import { isPlainSecret } from "../environment/secret-references.ts";
import { looksLikeSecret } from "./looks-like-secret.ts";
import { leftOut, nothingRead, type ReadValues, readInto, variablesField } from "./read-values.ts";

/** Sets the fields that variables are named after, `SVC_TIMEOUT` for `svc.timeout`. Others are problems, unless ignored. */
export function assignToFields(found: FoundVariables, fields: Fields, ignoreUnknown: boolean): ReadValues {
  const read = { ...nothingRead(), problems: [...found.problems], notes: [...found.notes] };
  const byVariable = fieldsByVariable(fields);
  const skipped: string[] = [];
  for (const { name, text } of found.variables) {
    const [path, ...namesakes] = byVariable.get(name) ?? [];
    if (namesakes.length > 0) read.problems.push(ambiguous(name, [path, ...namesakes]));
    else if (path !== undefined) readInto(read, path, text, fields);
    else if (ignoreUnknown) skipped.push(name);
    else read.problems.push(`There is no field for the variable ${name}.`);
  }
  read.notes.push(...leftOut("there is no such field", skipped));
  return read;
}

/** Sets the field whose `x-env` a variable is, and puts every other variable into `svc.envvars`. */
export function assignToEnvironment(found: FoundVariables, fields: Fields): ReadValues {
  const read = { ...nothingRead(), problems: [...found.problems], notes: [...found.notes] };
  const byVariable = Map.groupBy(fields.keys(), path => fields.get(path)?.["x-env"]);
  const byName = fieldsByVariable(fields);
  for (const variable of found.variables) {
    const { name, text, line } = variable;
    const [path, ...namesakes] = byVariable.get(name) ?? [];
    const place = line === undefined ? "" : `Line ${line}: `;
    if (namesakes.length > 0) read.problems.push(ambiguous(name, [path, ...namesakes]));
    else if (path !== undefined) readInto(read, path, text, fields);
    else if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      read.problems.push(`${place}${name} is no name of a variable: only letters, digits and _, and no digit first.`);
    else {
      read.variables.push(variable);
      const [field] = byName.get(name) ?? [];
      if (field !== undefined)
        read.notes.push(`${name} becomes a variable. If it is meant as the field ${field}: --format env`);
    }
  }
  return read;
}

function ambiguous(name: string, paths: readonly (string | undefined)[]): string {
  return `${name} is ambiguous: it may be any of ${paths.join(", ")}.`;
}

/** What a person should know before changes become active: secrets in clear text, and texts that run commands. Quotes no values. */
export function importNotes(
  changes: readonly { readonly field: string; readonly previous?: JsonValue; readonly value: JsonValue }[],
  variables: readonly FoundVariable[],
  fields: Fields,
): string[] {
  const notes: string[] = [];
  const texts: (readonly [name: string, value: JsonValue])[] = [];
  for (const { field: path, value } of changes) {
    if (path !== variablesField) texts.push([path, value]);
    const schema = fields.get(path);
    if (schema?.["x-secret"] === true && isPlainSecret(value))
      notes.push(`${path} holds a secret, which would be in clear text. ${inClear}`);
    if (schema?.["x-command"] === true && path !== variablesField)
      notes.push(`${path} ${describeEffect({ command: true }, path)}.`);
  }
  const change = changes.find(({ field }) => field === variablesField);
  for (const variable of change === undefined ? [] : variables) {
    const { name, text } = variable;
    if (valueAt(change?.previous ?? [], `/${name}/value`, fields.get(variablesField)) === text) continue;
    texts.push([name, text]);
    if (looksLikeSecret(variable)) notes.push(`${name} looks like a secret in clear text. ${inClear}`);
  }
  for (const [name, value] of texts) {
    if (isSecretReference(value)) {
      const [, command = ""] = /^cmd:\/\/([^/]*)/.exec(value) ?? [];
      notes.push(`${name} is a reference: programs get what the command ${command} of settings.json prints.`);
    } else if (typeof value === "string" && /\$\(|`/.test(value))
      notes.push(`${name} has a command in its text, as shells would run it; it is kept as text, and not run.`);
  }
  return notes;
}

const inClear =
  "The file, the history and backups would contain it; to keep it out of them, use a reference: cmd://NAME/ARGUMENT";
