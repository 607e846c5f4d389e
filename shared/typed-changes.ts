import { type Config, configValue } from "./config.ts";
import { splitConfigPath } from "./config-path.ts";
import { RepoconfError } from "./errors.ts";
import { InexactNumberError, parseExactJson } from "./exact-number.ts";
import { type JsonValue, sameJson } from "./json.ts";
import type { FieldSchema } from "./scopes/scope-schema.ts";
import { fieldIn, notAPlace, schemaAt, showPlace, type ValuePlace, valueOfItem } from "./typed-place.ts";
import { readTypedValue, UnclearNullError } from "./typed-value.ts";
import { applyValueEdits, type ValueEdit } from "./value-edit.ts";
import { pointerInside } from "./value-place.ts";

/** A change as a person types it, such as `svc.envvars.PORT=8080`. */
export interface TypedChange {
  /** What is before the `=`. */
  readonly place: string;
  readonly op: ValueEdit["op"];
  /** Required by all but `unset`. */
  readonly text?: string;
  /** The text is JSON, whatever the field accepts. */
  readonly json?: boolean | null;
}

/** A typed change as it was read; `path` is absent if a whole field is set or unset. */
export interface ToldChange extends ValueEdit {
  /** There was nothing to take away. */
  readonly absent?: true;
}

/** The changes to fields, and to places inside their values. */
export interface ValueChanges {
  readonly values: { readonly [field: string]: JsonValue };
  readonly unset: readonly string[];
  readonly edits: readonly ValueEdit[];
}

/** Reads `FIELD=VALUE`, `FIELD+=VALUE`, `FIELD-=VALUE`, or one of them with `:=`; undefined if the argument is none. */
export function readAssignment(argument: string): (TypedChange & { readonly text: string }) | undefined {
  const [, place, sign = "", colon = "", text] =
    /^((?:"(?:[^"\\]|\\.)*"|[^"=])+?)([+-]?)(:?)=(.*)$/s.exec(argument) ?? [];
  if (place === undefined || text === undefined) return undefined;
  const op = sign === "" ? "set" : sign === "+" ? "add" : "remove";
  return { place, op, text, ...(colon !== "" && { json: true }) };
}

type Fields = ReadonlyMap<string, FieldSchema>;

/**
 * Reads typed changes by the schemas of the fields. `isFromFile`: the text is the content of a file. An unknown field is left to the set,
 * which reports it. Throws RepoconfError 1101, and 1011 with `field` for a place in an unknown one.
 */
export function readTypedChanges(
  typed: readonly (TypedChange & { readonly isFromFile?: boolean })[],
  fields: Fields,
): ValueChanges {
  const values: { [field: string]: JsonValue } = {};
  const unset: string[] = [];
  const edits: ValueEdit[] = [];
  const seen = new Set<string>();
  for (const given of typed) {
    const { op, place: name, text = "", json, isFromFile } = withTrailingMinus(given, fields);
    const place = readPlace(name, op, fields);
    const schema = fields.get(place.field);
    if (op === "unset") {
      if (place.path === "") unset.push(place.field);
      else edits.push({ ...place, op });
      continue;
    }
    const shown = showPlace(place, schema);
    if (op === "set" && seen.has(shown)) throw givenTwice(shown);
    seen.add(shown);
    const at = schemaAt(schema, op === "set" ? place.path : `${place.path}/0`);
    const value = readText(text, shown, op, () =>
      json ? parseExactJson(text) : readTypedValue(text, at, isFromFile !== true),
    );
    if (op === "set" && place.path === "") values[place.field] = value;
    else edits.push({ ...place, op, value });
  }
  const both = edits.find(({ field }) => Object.hasOwn(values, field))?.field;
  if (both !== undefined) throw malformed(`${both} and a place inside it cannot be set in the same command.`);
  return { values, unset, edits };
}

/**
 * The fields and edits that have nothing to take away, before the changes: `active` are the values that the key may read, `stored` those of
 * them that are stored.
 */
export function absentIn(
  { unset, edits }: Pick<ValueChanges, "unset" | "edits">,
  active: Config,
  stored: Config,
  fields: Fields,
): readonly (string | ValueEdit)[] {
  const at = (config: Config, path: string) => {
    const { scope = "", field = "" } = splitConfigPath(path) ?? {};
    return configValue(config, scope, field);
  };
  // A field that the key may not read is not known to lack anything.
  const isKnown = (path: string) => at(active, path) !== undefined;
  // Each edit applies to the outcome of those before it.
  const values = new Map(edits.map(({ field }) => [field, at(active, field)]));
  const lacks = (edit: ValueEdit) => {
    const before = values.get(edit.field);
    const outcome = applyValueEdits(before, [edit], fields.get(edit.field));
    if ("value" in outcome) values.set(edit.field, outcome.value);
    return takesAway(edit) && isKnown(edit.field) && "value" in outcome && sameJson(outcome.value, before);
  };
  return [...unset.filter(path => isKnown(path) && at(stored, path) === undefined), ...edits.filter(lacks)];
}

/** The changes as people are told of them; `absent` comes from `absentIn`. */
export function toldChanges(
  { values, unset, edits }: ValueChanges,
  absent: ReturnType<typeof absentIn>,
): readonly ToldChange[] {
  const isAbsent = (change: string | ValueEdit) => absent.includes(change) && ({ absent: true } as const);
  return [
    ...Object.entries(values).map(([field, value]) => ({ field, op: "set" as const, value })),
    ...unset.map(field => ({ field, op: "unset" as const, ...isAbsent(field) })),
    ...edits.map(edit => ({ ...edit, ...isAbsent(edit) })),
  ];
}

export function takesAway({ op }: Pick<ValueEdit, "op">): boolean {
  return op === "unset" || op === "remove";
}

function readPlace(typed: string, op: TypedChange["op"], fields: Fields): ValuePlace {
  const field = fieldIn(typed, fields);
  if (field === undefined) {
    if (op === "unset" || (op === "set" && /^[^."[]+\.[^."[]+$/.test(typed))) return { field: typed, path: "" };
    const begin = /^[^."[]*\.?[^."[]*/.exec(typed)?.[0] ?? typed;
    throw new RepoconfError(1011, `There is no field "${begin}".`, { field: begin });
  }
  const path = pointerInside(typed, field, fields.get(field));
  if (path === undefined) throw malformed(notAPlace(typed, field));
  return op === "unset" ? { field, path } : valueOfItem({ field, path }, fields.get(field));
}

/** A field name may end with a minus, so `FIELD-=VALUE` may set the field `FIELD-`. */
function withTrailingMinus<Change extends TypedChange>(change: Change, fields: Fields): Change {
  const place = `${change.place}-`;
  return change.op === "remove" && fields.has(place) ? { ...change, place, op: "set" } : change;
}

function readText(text: string, place: string, op: TypedChange["op"], read: () => JsonValue): JsonValue {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnclearNullError) {
      const assigned = `${place}${op === "set" ? "" : op === "add" ? "+" : "-"}:=`;
      const how = `Write ${assigned}${text}, or '${assigned}"${text}"' for the text.`;
      throw malformed(`${place} accepts both null and the text null. ${how}`);
    }
    if (error instanceof InexactNumberError)
      throw malformed(`The value of ${place} cannot be stored: ${error.message}.`);
    const isTooDeep = error instanceof RangeError || !(error instanceof Error);
    const cause = isTooDeep ? "it is too large, or nested too deeply" : error.message;
    throw malformed(`The value of ${place} is not valid JSON: ${cause}`);
  }
}

/** Shells make two arguments of `FIELD={"a":1,"b":2}`. */
function givenTwice(place: string): RepoconfError {
  return malformed(`${place} is given twice. If its value is one in braces, quote it for the shell: ${place}='{...}'`);
}

function malformed(message: string): RepoconfError {
  return new RepoconfError(1101, message);
}
