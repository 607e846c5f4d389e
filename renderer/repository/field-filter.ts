import { useDeferredValue, useMemo, useState } from "react";
import { configValue } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { isNote } from "../../shared/health.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { problemOfEdit } from "../edits/invalid-edits.ts";
import { showJson } from "../parts/show-json.ts";
import { schemaOfEdit } from "../state/edit-masks.ts";
import type { Selection } from "../state/place.ts";
import {
  editKey,
  type FieldFilter,
  findRepository,
  type OpenRepository,
  orDefault,
  type ScopeEntry,
  type ScreenState,
  useScreen,
} from "../state/store.ts";

/** How many fields of a scope are one group. */
const groupSize = 12;

type NamedField = readonly [field: string, schema: FieldSchema];

/** A scope with those of its fields that match the filter. */
interface ShownScope extends ScopeEntry {
  /** In groups, in which each field is whatever the filter leaves out. */
  readonly groups: readonly FieldsOfGroup[];
}

interface FieldsOfGroup {
  /** The index of the group among those of the scope. */
  readonly at: number;
  readonly fields: readonly NamedField[];
}

/** The fields of a repository that match the filter. */
export interface ShownFields {
  readonly scopes: readonly ShownScope[];
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
  const matches = useMemo(
    () =>
      isFiltering(filter, scopes) ? matching({ repo, scopes, filter, pending, opened, health, held }) : everything,
    [repo, scopes, filter, pending, opened, health, held],
  );
  const shown = useMemo(() => shownScopes(scopes, matches), [scopes, matches]);
  return { ...shown, hold: setHeld };
}

type Matches = (entry: ScopeEntry, field: string, schema: FieldSchema) => boolean;

const everything: Matches = () => true;

interface MatchingOptions {
  readonly repo: string;
  readonly scopes: readonly ScopeEntry[];
  readonly filter: FieldFilter;
  readonly pending: ScreenState["pending"];
  readonly opened: OpenRepository | undefined;
  readonly health: RepositoryEntry["health"] | undefined;
  /** The path of the field that is shown in any case. */
  readonly held: string | undefined;
}

function matching({ repo, scopes, filter, pending, opened, health, held }: MatchingOptions): Matches {
  const broken = new Set(health?.flatMap(one => (one.field === undefined || isNote(one) ? [] : [one.field])));
  const words = filter.text.trim().toLowerCase().split(/\s+/);
  const only = chosenScope(filter, scopes);
  return (entry, field, schema) => {
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
  };
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

function shownScopes(scopes: readonly ScopeEntry[], matches: Matches): Omit<ShownFields, "hold"> {
  let [found, all] = [0, 0];
  const shown = scopes.flatMap((entry): readonly ShownScope[] => {
    const fields = Object.entries(entry.schema.properties).map((field, index) => ({
      field,
      at: Math.floor(index / groupSize),
    }));
    const some = fields.filter(({ field: [name, schema] }) => matches(entry, name, schema));
    found += some.length;
    all += fields.length;
    const groups = Array.from(
      Map.groupBy(some, ({ at }) => at),
      ([at, members]) => ({ at, fields: members.map(({ field }) => field) }),
    );
    return groups.length === 0 ? [] : [{ ...entry, groups }];
  });
  return { scopes: shown, found, all };
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
