import { type Config, configEntries, configValue } from "../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import { runsAsCommand } from "../../shared/scopes/scope-schema.ts";
import type { FieldChange } from "../diff/diff-lines.ts";
import { unknownSchema } from "../parts/show-json.ts";
import type { ComparedSide } from "../state/compared-side.ts";
import { schemaOfEdit } from "../state/edit-masks.ts";
import { findField, orDefault, type PendingEdit, type ScopeEntry } from "../state/store.ts";

/** The values of one of two compared sides. */
export interface SideValues {
  /** The stored values, edits included. */
  readonly config: Config;
  /** Unsaved edits, by `<scope>.<field>`. */
  readonly edits: ReadonlyMap<string, PendingEdit>;
}

/** One field on two sides. `before` is the left one, `after` the right one. */
export interface ComparedField extends FieldChange, ConfigPath {
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
  /** Whether the effective values differ; a stored value may equal the default. */
  readonly differs: boolean;
}

/** Every field in the order of the schemas, then stored fields that no schema describes. */
export function comparedFields(left: SideValues, right: SideValues, scopes: readonly ScopeEntry[]): ComparedField[] {
  const paths = new Map<string, ConfigPath>();
  const add = (scope: string, field: string) => paths.set(joinConfigPath(scope, field), { scope, field });
  for (const { scope, schema } of scopes) for (const field of Object.keys(schema.properties)) add(scope, field);
  for (const { config } of [left, right])
    for (const { scope, field } of configEntries(config))
      if (findField(scopes, scope, field) === undefined) add(scope, field);
  return Array.from(paths, ([path, { scope, field }]) => {
    const [own, other] = [left.edits.get(path), right.edits.get(path)];
    const known = findField(scopes, scope, field);
    const schema = known === undefined ? unknownSchema : schemaOfEdit(schemaOfEdit(known, own), other);
    const [before, after] = [configValue(left.config, scope, field), configValue(right.config, scope, field)];
    const differs = !sameJson(orDefault(before, schema.default), orDefault(after, schema.default));
    const notes = { before: noteOf(own), after: noteOf(other) };
    return { path, scope, field, schema, before, after, differs, notes };
  });
}

function noteOf(edit: PendingEdit | undefined): string | undefined {
  if (edit === undefined) return undefined;
  return edit.conflict === undefined ? "edited" : "edited, and changed elsewhere";
}

/**
 * Whether its value comes from a file and runs as a command: such a value can only be trusted at its field, where it is shown in
 * full.
 */
export function isToBeTrusted({ schema, differs }: ComparedField, from: ComparedSide): boolean {
  return differs && from.kind === "file" && runsAsCommand(schema);
}

/** Whether the value on one side can become an edit of the other. */
export function canCopy(field: ComparedField, from: ComparedSide, to: ComparedSide): boolean {
  const isWritable = to.kind === "now" && field.schema !== unknownSchema;
  return isWritable && field.differs && !isToBeTrusted(field, from);
}
