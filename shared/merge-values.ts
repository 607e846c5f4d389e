import { isJsonObject, type JsonObject, type JsonValue, sameJson } from "./json.ts";
import { namesOf } from "./value-diff.ts";

/** A value, or undefined if there is none. */
type Part = JsonValue | undefined;

/**
 * Merges two changed versions of one value (three-way). A change on one side wins if the other side changed nothing. Objects are
 * merged member by member, and lists in which every object has a unique `name` entry by entry; any other list, text or number is
 * merged as a whole. Returns undefined on a conflict.
 */
export function mergeValues(base: Part, theirs: Part, mine: Part): { readonly value: Part } | undefined {
  if (sameJson(theirs, mine) || sameJson(base, theirs)) return { value: mine };
  if (sameJson(base, mine)) return { value: theirs };
  if (isJsonObject(base) && isJsonObject(theirs) && isJsonObject(mine)) {
    const names = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
    const merged = mergeParts(names, membersOf(base), membersOf(theirs), membersOf(mine));
    return merged && { value: Object.fromEntries(merged) };
  }
  if (Array.isArray(base) && Array.isArray(theirs) && Array.isArray(mine)) return mergeLists(base, theirs, mine);
  return undefined;
}

/** The members of an object, or the entries of a list, by name. */
type Parts = ReadonlyMap<string, JsonValue>;

function membersOf(object: JsonObject): Parts {
  return new Map(Object.entries(object));
}

/** The merged members or entries, in the order of the names; undefined if one of them cannot be merged. */
function mergeParts(
  names: Iterable<string>,
  base: Parts,
  theirs: Parts,
  mine: Parts,
): readonly (readonly [string, JsonValue])[] | undefined {
  const result: (readonly [string, JsonValue])[] = [];
  for (const name of names) {
    const merged = mergeValues(base.get(name), theirs.get(name), mine.get(name));
    if (merged === undefined) return undefined;
    if (merged.value !== undefined) result.push([name, merged.value]);
  }
  return result;
}

type List = readonly JsonValue[];

function mergeLists(base: List, theirs: List, mine: List): { readonly value: JsonValue } | undefined {
  const [was, other, own] = [entriesOf(base), entriesOf(theirs), entriesOf(mine)];
  if (was === undefined || other === undefined || own === undefined) return undefined;
  const common = [...was.keys()].filter(name => other.has(name) && own.has(name));
  const isInOrder = (list: Parts) =>
    sameJson(
      common,
      [...list.keys()].filter(name => was.has(name) && other.has(name) && own.has(name)),
    );
  const isReordered = !isInOrder(own);
  if (isReordered && !isInOrder(other)) return undefined;
  const names = isReordered ? interleaved(own, other) : interleaved(other, own);
  const merged = mergeParts(names, was, other, own);
  return merged && { value: merged.map(([, entry]) => entry) };
}

function entriesOf(list: List): Parts | undefined {
  const names = namesOf(list);
  return names && new Map(list.map((entry, at) => [names[at] ?? "", entry]));
}

/** The names of the first in its order. Names that only the second has follow the name they follow there. */
function interleaved(first: Parts, second: Parts): string[] {
  const behind = new Map<string | undefined, string[]>();
  let anchor: string | undefined;
  for (const name of second.keys()) {
    if (first.has(name)) anchor = name;
    else if (!behind.get(anchor)?.push(name)) behind.set(anchor, [name]);
  }
  return [undefined, ...first.keys()].flatMap(name => [
    ...(name === undefined ? [] : [name]),
    ...(behind.get(name) ?? []),
  ]);
}
