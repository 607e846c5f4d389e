import { splitConfigPath } from "../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import { mergeValues } from "../../shared/merge-values.ts";
import type { Draft, FieldDraft } from "../../shared/protocol.ts";
import { everything } from "./edit-masks.ts";
import { findField, orDefault, type ScopeEntry } from "./store.ts";
import { unreadPlaces } from "./unread-text.ts";

/**
 * Both versions of a draft that two windows have edited since `before`, in one; undefined: they edited the same part. Of a text
 * that is not a value, and of a file's text, there are no parts.
 */
export function mergeDrafts(
  before: Draft | undefined,
  theirs: Draft,
  mine: Draft,
  scopes: readonly ScopeEntry[],
): FieldDraft | undefined {
  if (!("field" in theirs && "field" in mine) || (before !== undefined && !("field" in before))) return undefined;
  const from = before ?? { base: mine.base, value: mine.base };
  const value = mergeParts(from.value, theirs.value, mine.value, defaultOf(mine.field, scopes));
  if (value === undefined) return undefined;
  const base = sameJson(mine.base, from.base) ? theirs.base : mine.base;
  const masks = mine.masks === theirs.masks ? mine.masks : everything;
  const { base: _, masks: __, ...rest } = mine;
  return { ...rest, value, ...(base !== undefined && { base }), ...(masks !== undefined && { masks }) };
}

/** A reset to the default changes the whole field, and so does a text that is not a value. */
export function mergeParts(
  base: JsonValue | undefined,
  theirs: JsonValue | undefined,
  mine: JsonValue | undefined,
  byDefault: JsonValue | undefined,
): JsonValue | undefined {
  if (mine === undefined || [theirs, mine].some(value => unreadPlaces(value).length > 0)) return undefined;
  return mergeValues(orDefault(base, byDefault), orDefault(theirs, byDefault), mine)?.value;
}

function defaultOf(path: string, scopes: readonly ScopeEntry[]): JsonValue | undefined {
  const { scope = "", field = "" } = splitConfigPath(path) ?? {};
  return findField(scopes, scope, field)?.default;
}
