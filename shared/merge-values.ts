import { isJsonObject, type JsonObject, type JsonValue, sameJson } from "./json.ts";
import { namesOf } from "./named-list.ts";

/** A value, or that there is none. */
type Part = JsonValue | undefined;

/**
 * What two people made of one value, as one: a change of either counts where the other changed nothing. Objects are merged member by
 * member, lists of objects that all have a `name` of their own entry by entry. Undefined if both changed the same thing in two ways;
 * any other list, a text or a number is one thing.
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

/** What is left of each, in the order of the names; undefined if one cannot be merged. */
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

/** The names of the first in its order; those that only the second has stand behind what they stood behind there. */
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
