import { applyConfigEdits, type Config } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { ChangedRepository, DescribedValue, FieldChange, HistoryEntry } from "../../../shared/protocol.ts";
import { maskValue } from "../../../shared/scopes/value-text.ts";
import { type Fields, isMasked, mask } from "../connect/fields.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";

/*
 * Masks values that commands print, including JSON. The daemon returns real values, so the command line must keep masked ones out of
 * terminals, CI logs and shared screens, unless the user asks for them.
 */

/** A value as it may be printed: a mask if the field is masked or has no schema. */
export function printable(path: string, value: JsonValue, fields: Fields): JsonValue {
  return isMasked(fields.get(path)) ? maskValue(value, mask) : value;
}

/** Like `printable`, for each value of a configuration. */
export function printableConfig(config: Config, fields: Fields): Config {
  return mapFields(config, (path, value) => printable(path, value, fields));
}

/** Like `printable`, for an event or an entry of the history. */
export function printableChange<Entry extends Pick<HistoryEntry, "changes">>(entry: Entry, fields: Fields): Entry {
  const changes = mapFields(entry.changes, (path, change: FieldChange) => ({
    ...change,
    ...(change.masked && { value: mask, previous: mask }),
    // A place inside a value may not exist before or after a change.
    ...(change.value !== undefined && !change.masked && { value: printable(path, change.value, fields) }),
    ...(change.previous !== undefined && !change.masked && { previous: printable(path, change.previous, fields) }),
  }));
  return { ...entry, changes };
}

/** Like `printable`, for the result of a change. */
export function printableResult(changed: ChangedRepository, fields: Fields): ChangedRepository {
  const config = mapFields(changed.config, (path, { value, ...described }: DescribedValue) => ({
    ...described,
    value: described.masked ? mask : printable(path, value, fields),
  }));
  return { ...changed, config };
}

/** Throws CommandError if one of the fields is masked: a mask must not be used as a value. */
export function refuseMasked(paths: Iterable<string>, fields: Fields): void {
  const masked = [...paths].filter(path => isMasked(fields.get(path)));
  if (masked.length === 0) return;
  const what = masked.length === 1 ? `${masked[0]} is masked` : `${masked.join(", ")} are masked`;
  throw new CommandError(`${what}. To print masked values: --reveal`, exitCodes.refused);
}

/** Throws CommandError if the key may not see the values of fields that a command needs: it must not go on without them. */
export function refuseHidden(masked: readonly string[], fix = "Use the owner's key, or one made with --reveal."): void {
  if (masked.length === 0) return;
  const what = masked.length === 1 ? "the value of" : "the values of";
  throw new CommandError(`This key may not see ${what} ${masked.join(", ")}. ${fix}`, exitCodes.notAllowed);
}

/** A configuration with a mask for each value that the key may not see. */
export function withHidden(config: Config, masked: readonly string[]): Config {
  const edits = masked.flatMap(path => {
    const split = splitConfigPath(path);
    return split === undefined ? [] : [{ ...split, value: mask }];
  });
  return applyConfigEdits(config, edits);
}

function mapFields<Value, Result>(
  scopes: { readonly [scope: string]: { readonly [field: string]: Value } },
  map: (path: string, value: Value) => Result,
): { readonly [scope: string]: { readonly [field: string]: Result } } {
  return Object.fromEntries(
    Object.entries(scopes).map(([scope, fields]) => [
      scope,
      Object.fromEntries(
        Object.entries(fields).map(([field, value]) => [field, map(joinConfigPath(scope, field), value)]),
      ),
    ]),
  );
}
