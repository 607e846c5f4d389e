import { type Config, configValue } from "../../../shared/config.ts";
import { splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { FieldChange, HealthProblem, HistoryEntry } from "../../../shared/protocol.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { readTypedChanges, type ToldChange, type ValueChanges } from "../../../shared/typed-changes.ts";
import { fieldIn, notAPlace, schemaAt, showPlace, type ValuePlace, valueOfItem } from "../../../shared/typed-place.ts";
import { rawValue } from "../../../shared/typed-value.ts";
import { type ValueEdit, valueAt } from "../../../shared/value-edit.ts";
import { pointerInside } from "../../../shared/value-place.ts";
import { describeJsonProblem } from "../../files/json-text-problems.ts";
import { type Fields, isMasked, showValue, unknownField } from "../connect/fields.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

/**
 * Parses a field, or a place inside its value: `svc.services.web.image`, `svc.proxy_aliases[0]`. A field's own name may contain dots too,
 * so the longest known field wins. An item of names and values, such as `svc.envvars.PORT`, stands for its value. Throws CommandError.
 */
export function readPlace(typed: string, fields: Fields): ValuePlace {
  const place = readItemPlace(typed, fields);
  return valueOfItem(place, fields.get(place.field));
}

/** Like `readPlace`, but an item of a list is always the item itself. */
export function readItemPlace(typed: string, fields: Fields): ValuePlace {
  const field = fieldIn(typed, fields);
  if (field === undefined) throw unknownField(/^[^."[]*\.?[^."[]*/.exec(typed)?.[0] ?? typed, fields);
  const path = pointerInside(typed, field, fields.get(field));
  if (path !== undefined) return { field, path };
  throw new CommandError(notAPlace(typed, field), exitCodes.usage);
}

/** Like `readTypedChanges`. Throws CommandError. */
export function readTyped(typed: Parameters<typeof readTypedChanges>[0], fields: Fields): ValueChanges {
  try {
    return readTypedChanges(typed, fields, describeJsonProblem);
  } catch (error) {
    if (!(error instanceof RepoconfError)) throw error;
    if (error.field !== undefined) throw unknownField(error.field, fields);
    throw new CommandError(error.message, exitCodes.usage);
  }
}

/** Leaves what begins with no known field to the daemon, which reports it or knows it from the history. Throws CommandError. */
export function findPlace(typed: string, fields: Fields, read = readPlace): ValuePlace {
  return fieldIn(typed, fields) === undefined ? { field: typed, path: "" } : read(typed, fields);
}

/** The fields, and the place under its own name, shown and masked as its field is. */
export function withPlace(fields: Fields, place: ValuePlace): Fields {
  const schema = fields.get(place.field);
  return schema === undefined ? fields : new Map([...fields, [showPlace(place, schema), schema]]);
}

/**
 * A change with only what it changed at a place, under the place's name; undefined if that is nothing. `value` or `previous` is absent if
 * the place did not exist.
 */
export function narrowChange<Change extends Pick<HistoryEntry, "changes">>(
  change: Change,
  place: ValuePlace,
  fields: Fields,
) {
  const { scope = "", field = "" } = splitConfigPath(place.field) ?? {};
  const whole = change.changes[scope]?.[field];
  if (whole === undefined) return undefined;
  const at = (value: JsonValue) => valueAt(value, place.path, fields.get(place.field));
  const [value, previous] = [at(whole.value), at(whole.previous)];
  if (place.path !== "" && whole.forgotten === undefined && (value === previous || sameJson(value, previous)))
    return undefined;
  const { value: _value, previous: _previous, ...more } = whole;
  const narrowed = { ...more, ...(value !== undefined && { value }), ...(previous !== undefined && { previous }) };
  const name = splitConfigPath(showPlace(place, fields.get(place.field)))?.field ?? field;
  // Printed as other changes are, in which every value is present.
  return { ...change, changes: { [scope]: { [name]: narrowed as FieldChange } } };
}

/** The value at a place. `name` is what the user typed, `health` the repository's. Throws CommandError if there is no value. */
export function readAt(
  config: Config,
  { field, path }: ValuePlace,
  name: string,
  fields: Fields,
  health: readonly HealthProblem[] = [],
): JsonValue {
  const split = splitConfigPath(field);
  const value = split && valueAt(configValue(config, split.scope, split.field), path, fields.get(field));
  if (value === undefined) throw noValueAt(name, field, health);
  return value;
}

export function noValueAt(typed: string, field: string, health: readonly HealthProblem[]): CommandError {
  const why = waitsForTrust(field, health)
    ? `: the file's value of ${field} waits for trust. Review it first (repoconf trust)`
    : "";
  return new CommandError(`There is no value at ${typed}${why}.`, exitCodes.refused);
}

/** Whether the file's value of a field is not active because nobody has trusted it. */
export function waitsForTrust(field: string, health: readonly HealthProblem[]): boolean {
  return health.some(problem => problem.code === 1114 && problem.field === field);
}

/** Describes an edit that changed nothing. `whole`: the field's value. */
export function describeAbsent(edit: ValueEdit, schema: FieldSchema | undefined, whole: JsonValue): string {
  const path = edit.path ?? "";
  const place = showPlace({ field: edit.field, path }, schema);
  if (edit.op === "unset") return `nothing to unset: there is no value at ${place}`;
  // The edit was parsed by this command, so its value is JSON.
  const value = (edit.value ?? null) as JsonValue;
  const shown = showValue(value, schema, false, schemaAt(schema, `${path}/0`));
  if (edit.op === "add") return `nothing to add: ${place} already contains ${shown}`;
  const list = valueAt(whole, path, schema);
  const isThere = (one: JsonValue) => typeof one !== "string" && rawValue(one) === value;
  const hint =
    Array.isArray(list) && list.some(isThere) && !isMasked(schema)
      ? `. It contains ${value}, which is no text; to remove that: ${place}-:=${value}`
      : "";
  return `nothing to remove: ${place} does not contain ${shown}${hint}`;
}

/** Describes an edit for the user. */
export function describeEdit(edit: ToldChange, schema: FieldSchema | undefined): string {
  const path = edit.path ?? "";
  const place = showPlace({ field: edit.field, path }, schema);
  const isItem = edit.op === "add" || edit.op === "remove";
  // The edit was parsed by this command, so its value is JSON.
  const value = showValue(
    (edit.value ?? null) as JsonValue,
    schema,
    false,
    schemaAt(schema, isItem ? `${path}/0` : path),
  );
  switch (edit.op) {
    case "set":
      return `set ${place} = ${value}`;
    case "unset":
      return `unset ${place}`;
    case "add":
      return edit.replaced ? `replaced the item of that name in ${place} with ${value}` : `added ${value} to ${place}`;
    case "remove":
      return `removed ${value} from ${place}`;
  }
}
