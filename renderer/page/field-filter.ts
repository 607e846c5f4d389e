import { useDeferredValue, useState } from "react";
import { configValue } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { isNote } from "../../shared/health.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { problemOfEdit } from "../edits/invalid-edits.ts";
import { schemaOfEdit } from "../state/edit-masks.ts";
import type { Selection } from "../state/place.ts";
import { editKey, type FieldFilter, findRepository, orDefault, type ScopeEntry, useScreen } from "../state/store.ts";
import { showJson } from "./show-json.ts";

/** The scopes of a repository, reduced to the fields that match the filter. */
export interface ShownFields {
  readonly scopes: readonly ScopeEntry[];
  readonly found: number;
  readonly all: number;
  /** Keeps a field, whatever its value becomes, until another one has the focus or the filter changes. */
  hold(path: string): void;
}

export function useShownFields(selection: Selection): ShownFields {
  const { repo } = selection;
  const scopes = useScreen(state => state.scopes);
  // Deferred: among thousands of fields, what is typed is shown first.
  const filter = useDeferredValue(useScreen(state => state.fieldFilter));
  const pending = useScreen(state => state.pending);
  const opened = useScreen(state => state.opened.get(repo));
  const health = useScreen(state => findRepository(state, repo)?.health);
  const [held, setHeld] = useState(pathOf(selection));
  const [known, setKnown] = useState({ filter, selection });
  if (known.filter !== filter || known.selection !== selection) {
    setKnown({ filter, selection });
    // Where a link leads is shown, also under a filter; what is typed afterwards counts for it too.
    setHeld(known.selection === selection ? undefined : pathOf(selection));
  }
  const broken = new Set(health?.flatMap(one => (one.field === undefined || isNote(one) ? [] : [one.field])));
  const words = filter.text.trim().toLowerCase().split(/\s+/);
  const only = chosenScope(filter, scopes);
  const shown = isFiltering(filter, scopes) ? withFields(scopes, isShown) : scopes;
  return { scopes: shown, found: countFields(shown), all: countFields(scopes), hold: setHeld };

  function isShown(entry: ScopeEntry, field: string, schema: FieldSchema): boolean {
    const { scope } = entry;
    const path = joinConfigPath(scope, field);
    if (path === held) return true;
    if (only !== undefined && scope !== only) return false;
    const edit = pending.get(editKey(repo, scope, field));
    const isModified = edit !== undefined || configValue(opened?.stored ?? {}, scope, field) !== undefined;
    if (filter.isModified && !isModified) return false;
    const hasProblem = () => broken.has(path) || (edit && problemOfEdit(edit, schema, entry.schema)) !== undefined;
    if (filter.hasProblem && !hasProblem()) return false;
    const value = orDefault(configValue(opened?.effective ?? {}, scope, field), schema.default);
    const values = edit === undefined ? [value] : [value, orDefault(edit.value, schema.default)];
    return hasWords(words, path, schemaOfEdit(schema, edit), values);
  }
}

/** Whether a filter leaves something out. */
export function isFiltering(filter: FieldFilter, scopes: readonly ScopeEntry[]): boolean {
  const { text, isModified, hasProblem } = filter;
  return text.trim() !== "" || isModified || hasProblem || chosenScope(filter, scopes) !== undefined;
}

/** The scope that a filter names, if it is there. */
export function chosenScope(filter: FieldFilter, scopes: readonly ScopeEntry[]): string | undefined {
  return scopes.find(({ scope }) => scope === filter.scope)?.scope;
}

function pathOf({ scope, field }: Selection): string | undefined {
  return scope === undefined || field === undefined ? undefined : joinConfigPath(scope, field);
}

function withFields(
  scopes: readonly ScopeEntry[],
  isShown: (entry: ScopeEntry, field: string, schema: FieldSchema) => boolean,
): readonly ScopeEntry[] {
  return scopes
    .map(entry => {
      const properties = Object.entries(entry.schema.properties).filter(([field, one]) => isShown(entry, field, one));
      return { ...entry, schema: { ...entry.schema, properties: Object.fromEntries(properties) } };
    })
    .filter(({ schema }) => Object.keys(schema.properties).length > 0);
}

/** Whether the path, the title or one of the values contains each of the words. */
function hasWords(
  words: readonly string[],
  path: string,
  schema: FieldSchema,
  values: readonly (JsonValue | undefined)[],
): boolean {
  const head = `${path}\n${schema.title ?? ""}`;
  return values.some(value => {
    const text = `${head}\n${showJson(value, schema)}`.toLowerCase();
    return words.every(word => text.includes(word));
  });
}

function countFields(scopes: readonly ScopeEntry[]): number {
  return scopes.reduce((sum, { schema }) => sum + Object.keys(schema.properties).length, 0);
}
