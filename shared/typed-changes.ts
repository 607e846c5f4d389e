import { type Config, configValue } from "./config.ts";
import { splitConfigPath } from "./config-path.ts";
import { RepoconfError } from "./errors.ts";
import { InexactNumberError, NestingError, parseExactJson } from "./exact-number.ts";
import { isJsonObject, type JsonValue, sameJson } from "./json.ts";
import type { FieldSchema } from "./scopes/scope-schema.ts";
import { fieldIn, notAPlace, schemaAt, showPlace, type ValuePlace, valueOfItem } from "./typed-place.ts";
import { type PlainSchema, readTypedValue, UnclearNullError } from "./typed-value.ts";
import { applyValueEdits, type ValueEdit, valueAt } from "./value-edit.ts";
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
  /** It changes nothing: there is nothing to take away, or the list has the item that was to be added. */
  readonly absent?: true;
  /** The list had another item of that name, whose place the new one takes. */
  readonly replaced?: true;
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
 * Reads typed changes by the schemas of the fields. `isFromFile`: the text is the content of a file. `describe` says what is wrong with a
 * text that is no JSON. An unknown field is left to the set, which reports it. Throws RepoconfError 1101, and 1011 with `field` for a place
 * in an unknown one.
 */
export function readTypedChanges(
  typed: readonly (TypedChange & { readonly isFromFile?: boolean })[],
  fields: Fields,
  describe: (text: string) => string,
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
    const read = () => (json ? parseExactJson(text) : readTypedValue(text, at, isFromFile !== true));
    const value = readText(text, shown, op, read, describe);
    if (op === "add" && typeof value === "string") assertNoPair(text, shown, at);
    if (op === "set" && place.path === "") values[place.field] = value;
    else edits.push({ ...place, op, value });
  }
  const both = edits.find(({ field }) => Object.hasOwn(values, field))?.field;
  if (both !== undefined) throw malformed(`${both} and a place inside it cannot be set in the same command.`);
  return { values, unset, edits };
}

/** What people should be told of fields and edits besides what they ask for. */
export type ToldEffects = ReadonlyMap<string | ValueEdit, "absent" | "replaced">;

/**
 * The fields and edits that change nothing, and those that replace an item. As of before the changes: `active` are the values that the key
 * may read, `stored` those of them that are stored.
 */
export function effectsOf(
  { unset, edits }: Pick<ValueChanges, "unset" | "edits">,
  active: Config,
  stored: Config,
  fields: Fields,
): ToldEffects {
  const at = (config: Config, path: string) => {
    const { scope = "", field = "" } = splitConfigPath(path) ?? {};
    return configValue(config, scope, field);
  };
  // A field that the key may not read is not known to lack anything.
  const isKnown = (path: string) => at(active, path) !== undefined;
  const effects = new Map<string | ValueEdit, "absent" | "replaced">();
  for (const path of unset) if (isKnown(path) && at(stored, path) === undefined) effects.set(path, "absent");
  // Each edit applies to the outcome of those before it.
  const values = new Map(edits.map(({ field }) => [field, at(active, field)]));
  for (const edit of edits) {
    const before = values.get(edit.field);
    const schema = fields.get(edit.field);
    const outcome = applyValueEdits(before, [edit], schema);
    if (!("value" in outcome)) continue;
    values.set(edit.field, outcome.value);
    if (!isKnown(edit.field) || edit.op === "set") continue;
    const lengthOf = (value: JsonValue | undefined) => {
      const list = valueAt(value, edit.path ?? "", schema);
      return Array.isArray(list) ? list.length : undefined;
    };
    if (sameJson(outcome.value, before)) effects.set(edit, "absent");
    else if (edit.op === "add" && lengthOf(outcome.value) === lengthOf(before)) effects.set(edit, "replaced");
  }
  return effects;
}

/** The changes as people are told of them. */
export function toldChanges({ values, unset, edits }: ValueChanges, effects: ToldEffects): readonly ToldChange[] {
  const effectOf = (change: string | ValueEdit) => {
    const effect = effects.get(change);
    return effect === undefined
      ? {}
      : effect === "absent"
        ? ({ absent: true } as const)
        : ({ replaced: true } as const);
  };
  return [
    ...Object.entries(values).map(([field, value]) => ({ field, op: "set" as const, value })),
    ...unset.map(field => ({ field, op: "unset" as const, ...effectOf(field) })),
    ...edits.map(edit => ({ ...edit, ...effectOf(edit) })),
  ];
}

/** Whether people are told more of one of the changes than what they asked for, by `effectsOf`. */
export function needsEffects({ unset, edits }: Pick<ValueChanges, "unset" | "edits">): boolean {
  return unset.length > 0 || edits.some(({ op }) => op !== "set");
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

/** `svc.envvars+=PORT=1` means the item PORT, where items have names and values. Throws RepoconfError 1101. */
function assertNoPair(text: string, place: string, item: PlainSchema | undefined): void {
  const { properties, type } = item ?? {};
  if (type !== "object" || !isJsonObject(properties)) return;
  const [name, value, ...others] = Object.keys(properties);
  const [, key, rest] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  const whole = name === undefined || value === undefined ? "{...}" : `{"${name}":"...","${value}":"..."}`;
  const isPair = key !== undefined && value !== undefined && others.length === 0;
  const meant = isPair ? ` To set ${key}: ${place}.${key}=${rest}` : "";
  throw malformed(`An item of ${place} is an object, not a text.${meant || ` Type it as JSON: ${place}+='${whole}'`}`);
}

function readText(
  text: string,
  place: string,
  op: TypedChange["op"],
  read: () => JsonValue,
  describe: (text: string) => string,
): JsonValue {
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
    const cause = isTooDeep
      ? "it is too large, or nested too deeply"
      : error instanceof NestingError
        ? error.message
        : describe(text);
    throw malformed(`The value of ${place} is not valid JSON: ${cause}.`);
  }
}

/** Shells make two arguments of `FIELD={"a":1,"b":2}`. */
function givenTwice(place: string): RepoconfError {
  return malformed(`${place} is given twice. If its value is one in braces, quote it for the shell: ${place}='{...}'`);
}

function malformed(message: string): RepoconfError {
  return new RepoconfError(1101, message);
}
