import { type Config, configValue } from "../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { shortValue } from "../parts/short-value.ts";
import { schemaOfEdit } from "../state/edit-masks.ts";
import type { Selection } from "../state/place.ts";
import { favouritesFirst } from "../state/repository-order.ts";
import { editKey, type OpenRepository, orDefault, type ScreenState } from "../state/store.ts";

interface RowPlace {
  /** Unique, and unchanged for as long as the item exists. */
  readonly key: string;
  readonly level: 1 | 2 | 3;
  /** The position among its siblings, from 1. */
  readonly position: number;
  readonly siblings: number;
  readonly selection: Selection;
}

export type TreeRow = RowPlace &
  (
    | {
        readonly kind: "repository";
        readonly entry: RepositoryEntry;
        readonly open: boolean;
        /** The number of its fields with unsaved edits. */
        readonly edits: number;
      }
    | { readonly kind: "scope"; readonly title: string; readonly modified: number; readonly open: boolean }
    | {
        readonly kind: "field";
        readonly title: string;
        readonly path: string;
        readonly schema: FieldSchema;
        readonly value: string;
        readonly modified: boolean;
        readonly edited: boolean;
        readonly flashing: boolean;
      }
    | { readonly kind: "waiting" }
  );

type RowsState = Pick<
  ScreenState,
  "repositories" | "scopes" | "opened" | "pending" | "expanded" | "query" | "found" | "flashes"
>;

/** The rows of the tree from top to bottom. With a query: only matches and their ancestors. */
export function treeRows(state: RowsState): TreeRow[] {
  const matches = matchesOf(state);
  const matching = (state.repositories ?? []).filter(({ id }) => matches === undefined || matches.has(id));
  const entries = favouritesFirst(matching);
  const edits = new Map<string, number>();
  for (const { repo } of state.pending.values()) edits.set(repo, (edits.get(repo) ?? 0) + 1);
  const rows: TreeRow[] = [];
  for (const [index, entry] of entries.entries()) {
    const { id } = entry;
    const fields = matches?.get(id);
    // A repository with matches inside is shown expanded.
    const open = state.expanded.has(id) || (fields !== undefined && fields.size > 0);
    rows.push(repositoryRow(entry, index + 1, entries.length, open, edits.get(id) ?? 0));
    if (open) rows.push(...scopeRows(state, entry, fields));
  }
  return rows;
}

type RepositoryRow = Extract<TreeRow, { kind: "repository" }>;

/** Caches rows: of very many repositories, most rows stay the same while the person types. */
const repositoryRows = new WeakMap<RepositoryEntry, RepositoryRow>();

function repositoryRow(
  entry: RepositoryEntry,
  position: number,
  siblings: number,
  open: boolean,
  edits: number,
): RepositoryRow {
  const known = repositoryRows.get(entry);
  if (known?.position === position && known.siblings === siblings && known.open === open && known.edits === edits)
    return known;
  const { id } = entry;
  const row: RepositoryRow = {
    kind: "repository",
    key: id,
    level: 1,
    position,
    siblings,
    selection: { repo: id },
    entry,
    open,
    edits,
  };
  repositoryRows.set(entry, row);
  return row;
}

function scopeRows(state: RowsState, { id }: RepositoryEntry, found: FoundFields | undefined): TreeRow[] {
  const opened = state.opened.get(id) ?? (found !== undefined && found.size > 0 ? unopened(found) : undefined);
  if (opened === undefined) {
    const place = { key: `${id} waiting`, level: 2, position: 1, siblings: 1, selection: { repo: id } } as const;
    return [{ ...place, kind: "waiting" }];
  }
  const wanted = (scope: string, field: string) =>
    found === undefined || found.size === 0 || found.has(`${scope}.${field}`);
  const scopes = state.scopes
    .map(({ scope, schema }) => ({
      scope,
      schema,
      fields: Object.keys(schema.properties).filter(field => wanted(scope, field)),
    }))
    .filter(({ fields }) => fields.length > 0);
  const rows: TreeRow[] = [];
  for (const [index, { scope, schema, fields }] of scopes.entries()) {
    const key = `${id} ${scope}`;
    const open = state.expanded.has(key) || (found !== undefined && found.size > 0);
    const modified = Object.keys(opened.stored[scope] ?? {}).length;
    const selection = { repo: id, scope };
    const place = { key, level: 2, position: index + 1, siblings: scopes.length, selection } as const;
    rows.push({ ...place, kind: "scope", title: schema.title ?? scope, modified, open });
    if (!open) continue;
    for (const [fieldIndex, field] of fields.entries()) {
      const own = schema.properties[field];
      if (own === undefined) continue;
      const fieldKey = editKey(id, scope, field);
      const pending = state.pending.get(fieldKey);
      const fieldSchema = schemaOfEdit(own, pending);
      const value =
        pending === undefined
          ? configValue(opened.effective, scope, field)
          : orDefault(pending.value, fieldSchema.default);
      rows.push({
        key: fieldKey,
        level: 3,
        position: fieldIndex + 1,
        siblings: fields.length,
        selection: { repo: id, scope, field },
        kind: "field",
        title: fieldSchema.title ?? field,
        path: `${scope}.${field}`,
        schema: fieldSchema,
        value: value === undefined || value === "" ? "" : shortValue(value, fieldSchema),
        modified: isStored(opened.stored, scope, field),
        edited: pending !== undefined && !sameJson(pending.value, pending.base),
        flashing: state.flashes.has(fieldKey),
      });
    }
  }
  return rows;
}

function isStored(stored: Config, scope: string, field: string): boolean {
  return configValue(stored, scope, field) !== undefined;
}

/** The effective value by `<scope>.<field>`; undefined: a masked value. */
type FoundFields = ReadonlyMap<string, JsonValue | undefined>;

/** The values of a repository that is not loaded, as far as the search results contain them. */
function unopened(found: FoundFields): Pick<OpenRepository, "effective" | "stored"> {
  const effective: { [scope: string]: { [field: string]: JsonValue } } = {};
  for (const [path, value] of found) {
    const split = splitConfigPath(path);
    if (split === undefined || value === undefined) continue;
    effective[split.scope] = { ...effective[split.scope], [split.field]: value };
  }
  return { effective, stored: {} };
}

/** The repositories that match the query, each with its matching fields; undefined without a query. */
function matchesOf({ query, found, repositories }: RowsState): ReadonlyMap<string, FoundFields> | undefined {
  const text = query.trim().toLowerCase();
  if (text === "") return undefined;
  const inside = new Map<string, Map<string, JsonValue | undefined>>();
  for (const { repo, scope, field, value } of found?.query === query ? found.hits : []) {
    const fields = inside.get(repo) ?? new Map<string, JsonValue | undefined>();
    inside.set(repo, fields);
    if (scope !== undefined && field !== undefined) fields.set(joinConfigPath(scope, field), value);
  }
  const matches = new Map<string, FoundFields>(inside);
  // Names are matched locally, so they show at once.
  const words = text.split(/\s+/);
  for (const entry of repositories ?? []) {
    if (matches.has(entry.id)) continue;
    const candidate = searchedText(entry);
    if (words.every(word => candidate.includes(word))) matches.set(entry.id, nothingInside);
  }
  return matches;
}

const nothingInside: FoundFields = new Map();
/** Caches the searched text of each repository, so that it is not built again at every key press. */
const searchedTexts = new WeakMap<RepositoryEntry, string>();

function searchedText(entry: RepositoryEntry): string {
  const known = searchedTexts.get(entry);
  if (known !== undefined) return known;
  const text = `${entry.name}\n${entry.path ?? ""}\n${entry.id}`.toLowerCase();
  searchedTexts.set(entry, text);
  return text;
}
