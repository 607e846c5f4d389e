import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { InexactNumberError } from "../../../shared/exact-number.ts";
import type { FoundVariable } from "../../../shared/import/found-variables.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../shared/json.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { shortenedList } from "../../../shared/shortened.ts";
import { accepts, rawValue, readValue } from "../../../shared/typed-value.ts";
import { escapedToken, valueAt } from "../../../shared/value-edit.ts";
import { type Fields, unknownField } from "../connect/fields.ts";

/** What a file would set. If there are `problems`, nothing of it may be set. */
export interface ReadValues {
  /** Values by `<scope>.<field>`. */
  readonly values: Map<string, JsonValue>;
  /** Variables for `svc.envvars`, whose other variables stay. */
  readonly variables: FoundVariable[];
  readonly problems: string[];
  readonly notes: string[];
}

/** The field whose items are variables. */
export const variablesField = "svc.envvars";

export function nothingRead(): ReadValues {
  return { values: new Map(), variables: [], problems: [], notes: [] };
}

/** Parses a text for a field by the field's schema. */
export function readInto({ values, problems }: ReadValues, path: string, text: string, fields: Fields): void {
  try {
    values.set(path, readValue(text, fields.get(path)));
  } catch (error) {
    if (!(error instanceof InexactNumberError)) throw error;
    problems.push(`${path}: ${error.message}.`);
  }
}

/** The members of a repository's file beside the values. */
const fileMembers: ReadonlySet<string> = new Set(["$schema", "name", "path", "inTree", "config"]);

/**
 * The values of an object like `{ "svc": { "timeout": 30 } }`, which is what `repoconf export` writes, or of a repository's file, which has
 * it as `config`. Unknown fields are problems, unless ignored.
 */
export function valuesIn(root: JsonObject, fields: Fields, ignoreUnknown: boolean): ReadValues {
  const read = nothingRead();
  const { config } = root;
  const isFile = isJsonObject(config) && Object.keys(root).every(name => fileMembers.has(name));
  const hasScope = [...fields.keys()].some(path => splitConfigPath(path)?.scope === "config");
  const skipped: string[] = [];
  for (const [scope, scopeValues] of Object.entries(isFile && !hasScope ? config : root)) {
    if (!isJsonObject(scopeValues)) {
      read.problems.push(`"${scope}" is not a scope with fields. The expected form is { "svc": { "timeout": 30 } }.`);
      continue;
    }
    for (const [field, value] of Object.entries(scopeValues)) {
      const path = joinConfigPath(scope, field);
      if (fields.has(path)) read.values.set(path, value);
      else if (ignoreUnknown) skipped.push(path);
      else read.problems.push(unknownField(path, fields).message);
    }
  }
  read.notes.push(...leftOut("there is no such field", skipped));
  const scopes = new Set([...fields.keys()].map(path => splitConfigPath(path)?.scope));
  if (read.problems.length > 0 && !Object.keys(isFile ? config : root).some(name => scopes.has(name)))
    read.problems.unshift("It has none of the scopes. To say where in it values are, and for which fields: --map FILE");
  return read;
}

/** A sentence about parts of a file that are not imported, if there are any. */
export function leftOut(why: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`Left out, because ${why}: ${shortenedList(names, 10)}.`];
}

/** The variables of an object like `{ "PORT": "8080" }`, which is what `repoconf env --format json` writes; undefined for any other. */
export function variablesIn(root: JsonObject): readonly FoundVariable[] | undefined {
  const entries = Object.entries(root);
  if (entries.length === 0) return undefined;
  const variables = entries.flatMap(([name, text]) => (typeof text === "string" ? [{ name, text }] : []));
  return variables.length === entries.length ? variables : undefined;
}

/**
 * The values at the places that a mapping names: JSON pointers (RFC 6901) into the file as its names, and fields or `svc.envvars.NAME` as
 * its values. What it does not name is left out, and noted.
 */
export function mappedValues(root: JsonObject, mapping: JsonObject, fields: Fields): ReadValues {
  const read = nothingRead();
  for (const [pointer, target] of Object.entries(mapping)) {
    if (typeof target !== "string" || !/^(?:\/|$)/.test(pointer)) {
      const example = `{ "/server/port": "svc.default_port", "/server/host": "svc.envvars.HOST" }`;
      read.problems.push(`The mapping has ${JSON.stringify(pointer)}. The expected form is ${example}.`);
      continue;
    }
    const value = valueAt(root, pointer);
    const [, variable] = /^svc\.envvars\.([A-Za-z_]\w*)$/.exec(target) ?? [];
    if (value === undefined) read.notes.push(`${pointer} of the mapping is not in the file.`);
    else if (variable !== undefined && !fields.has(target))
      read.variables.push({ name: variable, text: rawValue(value) });
    else if (fields.has(target)) addFitting(read, target, value, fields);
    else read.problems.push(unknownField(target, fields).message);
  }
  const left = [...leaves(root)].filter(place => !Object.keys(mapping).some(one => isWithin(place, one)));
  read.notes.push(...leftOut("the mapping does not name it", left));
  return read;
}

/** A text for a field without texts is read by its schema, and a number for a field of texts is written as text. */
function addFitting(read: ReadValues, path: string, value: JsonValue, fields: Fields): void {
  const schema: FieldSchema | undefined = fields.get(path);
  const isText = accepts(schema, "string");
  if (typeof value === "string" && !isText) readInto(read, path, value, fields);
  else if ((typeof value === "number" || typeof value === "boolean") && schema?.["type"] === "string")
    read.values.set(path, rawValue(value));
  else read.values.set(path, value);
}

function* leaves(value: JsonValue, place = ""): Generator<string> {
  if (!isJsonObject(value)) yield place;
  else for (const [name, member] of Object.entries(value)) yield* leaves(member, `${place}/${escapedToken(name)}`);
}

function isWithin(place: string, outer: string): boolean {
  return place === outer || place.startsWith(`${outer}/`) || outer.startsWith(`${place}/`);
}
