import { applyConfigEdits, type Config, type ConfigEdit, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { MovedNames } from "../../files/json-text-edits.ts";
import type { Scopes } from "../../scopes/scopes.ts";

/** A configuration that may have fields under old names (`x-renamedFrom`), with today's names. */
export interface Renamed {
  /** The given object itself if no old name counts. An old name next to the new one is left as it is. */
  readonly config: Config;
  /** The fields under an old name, and that name. */
  readonly byOldName: readonly (ConfigPath & { readonly oldName: string })[];
}

export function withNewNames(config: Config, scopes: Scopes): Renamed {
  const byOldName: (ConfigPath & { readonly oldName: string })[] = [];
  for (const scope of scopes.renaming) {
    if (!Object.hasOwn(config, scope.name)) continue;
    for (const field of scope.names.keys()) {
      const path = { scope: scope.name, field };
      const standing = presentName(config, path, scopes);
      if (standing !== undefined && standing !== field) byOldName.push({ ...path, oldName: standing });
    }
  }
  if (byOldName.length === 0) return { config, byOldName };
  const edits = byOldName.flatMap(({ scope, field, oldName }) => [
    { scope, field: oldName, value: undefined },
    { scope, field, value: configValue(config, scope, oldName) },
  ]);
  return { config: applyConfigEdits(config, edits), byOldName };
}

/** The name that a configuration has for a field: the newest one that is present. */
function presentName(config: Config, path: ConfigPath, scopes: Scopes): string | undefined {
  return scopes.namesOf(path).find(({ scope, field }) => configValue(config, scope, field) !== undefined)?.field;
}

/** The path of a field in a configuration; with today's name if the field is missing. */
export function presentPath(config: Config, path: ConfigPath, scopes: Scopes): ConfigPath {
  return { scope: path.scope, field: presentName(config, path, scopes) ?? path.field };
}

/** The value of a field in a configuration, under any of its names; `path` may have an old one. */
export function valueByAnyName(config: Config, path: ConfigPath, scopes: Scopes): JsonValue | undefined {
  const standing = presentName(config, path, scopes);
  return standing === undefined ? undefined : configValue(config, path.scope, standing);
}

/** Whether the value of a field in a past configuration was erased, under any of its names. */
export function isForgotten(
  past: { readonly config: Config; readonly forgotten: ReadonlySet<string> },
  path: ConfigPath,
  scopes: Scopes,
): boolean {
  const isErased = ({ scope, field }: ConfigPath) => past.forgotten.has(joinConfigPath(scope, field));
  const standing = scopes
    .namesOf(path)
    .find(one => isErased(one) || configValue(past.config, one.scope, one.field) !== undefined);
  return standing !== undefined && isErased(standing);
}

/** The edits, plus edits that remove the old names of their fields from a configuration. */
export function writingNewNames(edits: readonly ConfigEdit[], config: Config, scopes: Scopes): readonly ConfigEdit[] {
  if (scopes.renaming.length === 0) return edits;
  const edited = new Set(edits.map(({ scope, field }) => joinConfigPath(scope, field)));
  return edits.flatMap(edit => {
    const [, ...old] = scopes.namesOf(edit);
    const standing = old.filter(
      ({ scope, field }) =>
        configValue(config, scope, field) !== undefined && !edited.has(joinConfigPath(scope, field)),
    );
    return [edit, ...standing.map(path => ({ ...path, value: undefined }))];
  });
}

/** Edits that give fields the values and the names that they have in a configuration. */
export function editsAsIn(config: Config, paths: readonly ConfigPath[], scopes: Scopes): ConfigEdit[] {
  return paths
    .flatMap(path => scopes.namesOf(path))
    .map(({ scope, field }) => ({ scope, field, value: configValue(config, scope, field) }));
}

/** The fields that change from an old name to the new one in a text: by the scope's object in `after`, old name to new. */
export function movedNames(before: Config, after: Config, scopes: Scopes): MovedNames {
  const moved = new Map<JsonValue, Map<string, string>>();
  for (const { name: scope, renamed } of scopes.renaming) {
    const has = (config: Config, field: string) => configValue(config, scope, field) !== undefined;
    const fields = Object.hasOwn(after, scope) ? after[scope] : undefined;
    if (fields === undefined) continue;
    const names = new Map<string, string>();
    const taken = new Set<string>();
    for (const [old, field] of renamed) {
      const isMoved = has(before, old) && !has(after, old) && !has(before, field) && has(after, field);
      if (!isMoved || taken.has(field)) continue;
      names.set(old, field);
      taken.add(field);
    }
    moved.set(fields, names);
  }
  return moved;
}
