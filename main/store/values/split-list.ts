import { configValue } from "../../../shared/config.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import { type ItemNames, itemNamesOf, nameOf } from "../../../shared/item-names.ts";
import { canonicalJson, isJsonObject, type JsonValue, sameJson } from "../../../shared/json.ts";
import type { CountedLayer } from "../../../shared/protocol.ts";
import { applyValueEdits, type ValueEdit } from "../../../shared/value-edit.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { countedValues, type LayerValues, storedIn } from "./counted-values.ts";

type List = readonly JsonValue[];

/** A list that is merged by the names of its items, as a client wants what counts to be. */
export interface WantedList {
  readonly path: ConfigPath;
  readonly value: List;
  /** The edits inside the list that make it of the one that counts; undefined: the client gave the whole list. */
  readonly edits?: readonly ValueEdit[] | undefined;
  /** Whether the local layer once had an item of a whole list, in canonical JSON: a client may give back what it read long ago. */
  readonly formerItems?: ReadonlySet<string> | undefined;
}

/** For each item of a list its index in the list before; undefined: it is a new one, as far as is known. */
type Origins = readonly (number | undefined)[];

/**
 * Splits a list that counts into those of the two layers. An item stays in the layer that it comes from, also under another name; a new one is
 * shared. One of the base's local values stays there as long as it is the same, and becomes a local one otherwise. What the client could
 * not see, because something of a layer above hides it, stays as it is. A layer that is left with nothing has no value.
 */
export function splitList(
  { path, value, edits, formerItems }: WantedList,
  layers: readonly LayerValues[],
  scopes: Scopes,
): { readonly shared: JsonValue | undefined; readonly local: JsonValue | undefined } {
  const schema = scopes.field(path.scope, path.field)?.schema;
  const names = itemNamesOf(schema);
  if (names === undefined) return { shared: value, local: undefined };
  const valueIn = (layer: CountedLayer) => configValue(storedIn(layers, layer), path.scope, path.field);
  const [below, base, own] = [valueIn("shared"), valueIn("base"), valueIn("local")].map(list => named(list, names));
  const counted = configValue(countedValues(layers, scopes).stored, path.scope, path.field) ?? schema?.default;
  const before = Array.isArray(counted) ? counted : [];
  const isIn = (items: Items | undefined, item: JsonValue) => sameJson(items?.get(nameOf(item, names) ?? ""), item);
  const places = before.map(item => (isIn(own, item) ? "local" : isIn(base, item) ? "base" : "shared"));
  const followed = edits && originsOfEdits(before, edits, schema);
  const from = inferOrigins({ before, value, names, followed, isPrivate: index => places[index] !== "shared" });
  const seen = new Set(before.map(canonicalJson));
  const texts = value.map(canonicalJson);
  const isFormer = (text = "") => followed === undefined && !seen.has(text) && formerItems?.has(text) === true;
  const origins = new Set(from.filter((_, index) => !isFormer(texts[index])));
  // It is not seen, or only what is above it was to change.
  const isToStay = (item: JsonValue) =>
    !seen.has(canonicalJson(item)) ||
    (followed === undefined && !origins.has(before.findIndex(one => sameJson(one, item))));
  const local: JsonValue[] = [];
  const shared: JsonValue[] = [];
  for (const [index, item] of value.entries()) {
    const place = isFormer(texts[index]) ? "local" : (places[from[index] ?? -1] ?? "shared");
    if (place === "shared") shared.push(item);
    else if (place === "local" || !isIn(base, item)) local.push(item);
    const hidden = place === "shared" ? undefined : below?.get(nameOf(item, names) ?? "");
    if (hidden !== undefined && isToStay(hidden)) shared.push(hidden);
  }
  const isUnseen = (item: JsonValue) => !seen.has(canonicalJson(item));
  const all = { shared: withKept(shared, below, isUnseen, names), local: withKept(local, own, isUnseen, names) };
  return {
    shared: valueIn("shared") !== undefined || all.shared.length > 0 ? all.shared : undefined,
    local: all.local.length === 0 ? undefined : all.local,
  };
}

/** The items of a list, by their names. */
type Items = ReadonlyMap<string, JsonValue>;

function named(list: JsonValue | undefined, names: ItemNames): Items {
  return new Map(Array.isArray(list) ? list.map(item => [nameOf(item, names) ?? "", item]) : []);
}

/** The items with those of a layer that are kept, each after the one that was before it, unless one has its name now. */
function withKept(items: List, layer: Items = new Map(), isKept: (item: JsonValue) => boolean, names: ItemNames): List {
  const present = new Set(items.map(item => nameOf(item, names)));
  const next = new Map<string | undefined, JsonValue>();
  let previous: string | undefined;
  for (const [name, item] of layer) {
    if (isKept(item) && !present.has(name)) next.set(previous, item);
    previous = name;
  }
  const all: JsonValue[] = [];
  const addFrom = (name: string | undefined) => {
    for (let [at, item] = [name, next.get(name)]; item !== undefined; item = next.get(at)) {
      all.push(item);
      next.delete(at);
      at = nameOf(item, names);
    }
  };
  addFrom(undefined);
  for (const item of items) {
    all.push(item);
    addFrom(nameOf(item, names));
  }
  return [...next.values(), ...all];
}

/** Where the items come from after edits inside a list, of which each touches one item; undefined if one of them sets all of it. */
function originsOfEdits(before: List, edits: readonly ValueEdit[], schema: unknown): Origins | undefined {
  let list = before;
  let origins: Origins = before.map((_, index) => index);
  for (const edit of edits) {
    const outcome = applyValueEdits(list, [edit], schema);
    const isWhole = (edit.path ?? "") === "" && (edit.op === "set" || edit.op === "unset");
    if (isWhole || "problem" in outcome || !Array.isArray(outcome.value)) return undefined;
    const known: Origins = origins;
    origins = originsOfEdit(list, outcome.value).map(index => (index === undefined ? undefined : known[index]));
    list = outcome.value;
  }
  return origins;
}

function originsOfEdit(before: List, after: List): Origins {
  if (after.length >= before.length) return after.map((_, index) => (index < before.length ? index : undefined));
  let at = -1;
  return after.map(item => {
    do at += 1;
    while (at < before.length && !sameJson(before[at], item));
    return at;
  });
}

interface ComparedLists {
  readonly before: List;
  readonly value: List;
  readonly names: ItemNames;
  /** What edits tell. */
  readonly followed: Origins | undefined;
  isPrivate(index: number): boolean;
}

/**
 * Where the items come from: as edits tell, or by their names, unless an item has all else of a private one that has gone. A new name may be
 * a private item's that was renamed, so it is taken for that where one has gone: the same but for the name, or in a whole list also another
 * one, unless a shared item was renamed.
 */
function inferOrigins({ before, value, names, followed, isPrivate }: ComparedLists): Origins {
  const [restsBefore, rests] = [before, value].map(list => list.map(item => restOf(item, names)));
  const indexes = before.map((_, index) => index);
  const byName = new Map(indexes.map(index => [nameOf(before[index], names), index]));
  const known = value.map((item, index) => (followed ? followed[index] : byName.get(nameOf(item, names))));
  const knownIndexes = new Set(known);
  const isWhole = (index: number) => known[index] !== undefined && restsBefore?.[known[index]] === rests?.[index];
  const whole = new Set(known.filter((_, index) => isWhole(index)));
  const byRest = (chosen: readonly number[]) => new Map(chosen.map(index => [restsBefore?.[index], index]));
  const gone = indexes.filter(index => isPrivate(index) && !whole.has(index));
  const gonePrivate = byRest(gone);
  const goneShared = byRest(indexes.filter(index => !isPrivate(index) && !knownIndexes.has(index)));
  const likely = value.map((_, index) => {
    if (isWhole(index) || followed?.[index] !== undefined) return known[index];
    return gonePrivate.get(rests?.[index]) ?? known[index] ?? (followed ? undefined : goneShared.get(rests?.[index]));
  });
  if (followed !== undefined) return likely;
  const taken = new Set([...knownIndexes, ...likely]);
  const renamed = gone.find(index => !taken.has(index));
  return likely.map(origin => origin ?? renamed);
}

/** An item without its name, as text. */
function restOf(item: JsonValue | undefined, { property }: ItemNames): string {
  return canonicalJson(isJsonObject(item) ? { ...item, [property]: null } : (item ?? null));
}
