import { isJsonObject, type JsonObject, type JsonValue, sameJson } from "./json.ts";
import { limits } from "./limits.ts";

/** A step into a value: the name of a member, or a list entry's index with its `name` if it identifies the entry. */
export type ValueStep = string | { readonly at: number; readonly name?: string };

/**
 * One change inside a value. List indexes count after the change, except those of removed entries and `from`, which count before
 * it. Added and removed values are reported as a whole.
 */
export type ValueChange = { readonly path: readonly ValueStep[] } & (
  | { readonly kind: "added"; readonly after: JsonValue }
  | { readonly kind: "removed"; readonly before: JsonValue }
  | { readonly kind: "changed"; readonly before: JsonValue; readonly after: JsonValue }
  | { readonly kind: "moved"; readonly value: JsonValue; readonly from: number }
);

/** Lists without names are aligned up to this many differing entries; longer ones are compared index by index. */
const maxAligned = 10_000;

/**
 * The changes that turn one value into the other, in the order of the later one; undefined stands for no value. Objects are
 * compared member by member. In lists whose objects all have a unique `name`, entries with the same name belong together. In
 * other lists equal entries belong together; objects and lists between two of them are paired in order, and everything else is
 * added or removed. Takes time in proportion to the values, times the logarithm of the longest list, and computes only what is
 * read. Values nested deeper than a message may be are compared as a whole.
 */
export function diffValues(before: JsonValue | undefined, after: JsonValue | undefined): Generator<ValueChange> {
  return diffParts(before, after, [], new Identities());
}

type Path = readonly ValueStep[];

function* diffParts(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  path: Path,
  identities: Identities,
): Generator<ValueChange> {
  if (before === after) return;
  if (before === undefined) {
    if (after !== undefined) yield { kind: "added", path, after };
  } else if (after === undefined) yield { kind: "removed", path, before };
  else if (path.length < limits.messageNesting && isJsonObject(before) && isJsonObject(after))
    yield* diffMembers(before, after, path, identities);
  else if (path.length < limits.messageNesting && Array.isArray(before) && Array.isArray(after))
    yield* diffLists(before, after, path, identities);
  else if (!sameJson(before, after)) yield { kind: "changed", path, before, after };
}

function* diffMembers(
  before: JsonObject,
  after: JsonObject,
  path: Path,
  identities: Identities,
): Generator<ValueChange> {
  for (const [name, value] of Object.entries(after))
    yield* diffParts(Object.hasOwn(before, name) ? before[name] : undefined, value, [...path, name], identities);
  for (const [name, value] of Object.entries(before))
    if (!Object.hasOwn(after, name)) yield { kind: "removed", path: [...path, name], before: value };
}

type List = readonly JsonValue[];

function* diffLists(before: List, after: List, path: Path, identities: Identities): Generator<ValueChange> {
  const { start, old, now, names, sources, staying } = alignedLists(before, after, identities);
  const isNamed = names[0] !== undefined && names[1] !== undefined;
  const step = (at: number, own: readonly string[] | undefined): Path => {
    const name = isNamed ? own?.[at] : undefined;
    return [...path, name === undefined ? { at } : { at, name }];
  };
  const used = new Set(sources);
  let next = 0;
  function* removedUntil(place: number): Generator<ValueChange> {
    for (; next < place; next += 1) {
      const before = old[next];
      if (!used.has(next) && before !== undefined)
        yield { kind: "removed", path: step(start + next, names[0]), before };
    }
  }
  for (const [at, value] of now.entries()) {
    const source = sources[at];
    if (source !== undefined && staying.has(at)) yield* removedUntil(source);
    const here = step(start + at, names[1]);
    if (source === undefined) yield { kind: "added", path: here, after: value };
    else {
      if (!staying.has(at)) yield { kind: "moved", path: here, value, from: start + source };
      yield* diffParts(old[source], value, here, identities);
    }
  }
  yield* removedUntil(old.length);
}

/** What is between the equal ends of two lists, and how it is aligned. */
function alignedLists(before: List, after: List, identities: Identities) {
  const names = [namesOf(before), namesOf(after)] as const;
  const [start, end] = equalEnds(before, after);
  const [old, now] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const inMiddle = (own: readonly string[]) => own.slice(start, own.length - end);
  const alignment =
    names[0] !== undefined && names[1] !== undefined
      ? keepOrder(matched(inMiddle(names[0]), inMiddle(names[1])))
      : Math.max(old.length, now.length) > maxAligned
        ? inPlace(old, now)
        : aligned(old, now, identities);
  return { start, end, old, now, names, ...alignment };
}

/** For each entry of the later list, the index of the earlier entry that it continues, in rising order; undefined for new and moved ones. */
export function keptEntries(before: readonly JsonValue[], after: readonly JsonValue[]): (number | undefined)[] {
  const { start, end, sources, staying } = alignedLists(before, after, new Identities());
  const shift = before.length - after.length;
  return after.map((_, at) => {
    if (at < start) return at;
    if (at >= after.length - end) return at + shift;
    const source = sources[at - start];
    return source === undefined || !staying.has(at - start) ? undefined : start + source;
  });
}

/** How many equal entries the lists start with, and how many of the remaining ones they end with. */
function equalEnds(before: List, after: List): readonly [start: number, end: number] {
  const most = Math.min(before.length, after.length);
  let [start, end] = [0, 0];
  while (start < most && sameJson(before[start], after[start])) start += 1;
  while (end < most - start && sameJson(before.at(-1 - end), after.at(-1 - end))) end += 1;
  return [start, end];
}

interface Alignment {
  /** For each entry of the later list, its index in the earlier one. */
  readonly sources: (number | undefined)[];
  /** Indexes of the later list's entries that kept their order. */
  readonly staying: Set<number>;
}

function keepOrder(sources: (number | undefined)[]): Alignment {
  return { sources, staying: longestRising(sources) };
}

function inPlace(before: List, after: List): Alignment {
  const sources = Array.from(after, (_, at) => (at < before.length ? at : undefined));
  return { sources, staying: new Set(sources.slice(0, before.length).keys()) };
}

function aligned(before: List, after: List, identities: Identities): Alignment {
  const textsOf = (list: List) => list.map(entry => identities.of(entry));
  const alignment = keepOrder(matched(textsOf(before), textsOf(after)));
  pairBetween(before, after, alignment);
  return alignment;
}

/** Gives each value a short text, the same exactly for values that are `sameJson`. Each object and list is visited once. */
class Identities {
  readonly #known = new Map<object, string>();
  readonly #numbers = new Map<string, string>();

  of(value: JsonValue): string {
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const text = Array.isArray(value)
      ? `[${value.map(inner => this.of(inner)).join()}]`
      : `{${Object.entries(value)
          .map(([name, inner]) => `${JSON.stringify(name)}:${this.of(inner)}`)
          .sort()
          .join()}}`;
    const identity = this.#numbers.get(text) ?? `#${this.#numbers.size}`;
    this.#numbers.set(text, identity);
    this.#known.set(value, identity);
    return identity;
  }
}

/** For each entry of the later list, its index in the earlier one. Equal entries are matched in order. */
function matched(before: readonly string[], after: readonly string[]): (number | undefined)[] {
  const places = new Map<string, number[]>();
  for (const [at, key] of [...before.entries()].reverse()) {
    const known = places.get(key);
    if (known === undefined) places.set(key, [at]);
    else known.push(at);
  }
  return after.map(key => places.get(key)?.pop());
}

/** The indexes of as many entries as possible that kept their order: a longest increasing subsequence, by patience sorting. */
function longestRising(values: readonly (number | undefined)[]): Set<number> {
  /** For each length, the index at which an increasing subsequence of that length ends lowest. */
  const ends: number[] = [];
  const earlier: (number | undefined)[] = [];
  const valueAt = (place: number | undefined) => (place === undefined ? undefined : values[place]) ?? -1;
  for (const [at, value] of values.entries()) {
    if (value === undefined) continue;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (valueAt(ends[middle]) < value) low = middle + 1;
      else high = middle;
    }
    earlier[at] = ends[low - 1];
    ends[low] = at;
  }
  const places = new Set<number>();
  for (let at = ends.at(-1); at !== undefined; at = earlier[at]) places.add(at);
  return places;
}

/** Pairs objects with objects and lists with lists, in order, between the same two entries that stay. */
function pairBetween(before: List, after: List, { sources, staying }: Alignment): void {
  const used = new Set(sources);
  const ends: number[] = [];
  for (let at = after.length - 1, end = before.length; at >= 0; at -= 1) {
    if (staying.has(at)) end = sources[at] ?? end;
    ends[at] = end;
  }
  let next = 0;
  for (const [at, value] of after.entries()) {
    if (staying.has(at)) next = (sources[at] ?? next) + 1;
    if (sources[at] !== undefined || !isContainer(value)) continue;
    while (next < (ends[at] ?? 0) && (used.has(next) || !isContainer(before[next]))) next += 1;
    if (next >= (ends[at] ?? 0) || Array.isArray(before[next]) !== Array.isArray(value)) continue;
    sources[at] = next;
    staying.add(at);
    next += 1;
  }
}

function isContainer(value: JsonValue | undefined): boolean {
  return typeof value === "object" && value !== null;
}

/** The names of a list's entries in order, if all are objects with a unique text as `name`; otherwise undefined. */
export function namesOf(list: readonly JsonValue[]): readonly string[] | undefined {
  const names: string[] = [];
  for (const entry of list) {
    if (!isJsonObject(entry) || !Object.hasOwn(entry, "name") || typeof entry["name"] !== "string") return undefined;
    names.push(entry["name"]);
  }
  return new Set(names).size === names.length ? names : undefined;
}
