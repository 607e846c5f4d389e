import fc from "fast-check";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue, sameJson } from "../../shared/json.ts";
import { diffValues, type ValueChange, type ValueStep } from "../../shared/value-diff.ts";

const changes = (before: JsonValue | undefined, after: JsonValue | undefined) => [...diffValues(before, after)];

/** A change in one line: its path, its kind and its value. */
const summaryOf = (change: ValueChange) => {
  const path = change.path.map(step => (typeof step === "string" ? step : (step.name ?? step.at))).join(".");
  const { path: _, kind, ...rest } = change;
  return `${path} ${kind} ${JSON.stringify(rest)}`;
};

const variable = (name: string, value: string) => ({ name, value });

test.each<[title: string, before: JsonValue, after: JsonValue, expected: readonly string[]]>([
  [
    "a nested member",
    { web: { image: "node:24", ready: "true" }, db: {} },
    { web: { ready: "true", image: "node:25" }, db: {} },
    ['web.image changed {"before":"node:24","after":"node:25"}'],
  ],
  [
    "added and removed members as a whole",
    { web: { image: "a" }, stays: 1 },
    { stays: 1, db: { image: "b" } },
    ['db added {"after":{"image":"b"}}', 'web removed {"before":{"image":"a"}}'],
  ],
  ["an added and a removed list entry", ["a", "b"], ["b", "c"], ['0 removed {"before":"a"}', '1 added {"after":"c"}']],
  ["a moved entry", ["a", "b", "c"], ["c", "a", "b"], ['0 moved {"value":"c","from":2}']],
  [
    "entries by their names, in any position",
    [variable("A", "1"), variable("B", "2")],
    [variable("C", "0"), variable("A", "1"), variable("B", "3")],
    ['C added {"after":{"name":"C","value":"0"}}', 'B.value changed {"before":"2","after":"3"}'],
  ],
  [
    "entries without names by their order between equal entries",
    [{ port: 1 }, { port: 2 }, { port: 3 }],
    [{ port: 1 }, { port: 9, path: "/" }, { port: 3 }],
    ['1.port changed {"before":2,"after":9}', '1.path added {"after":"/"}'],
  ],
  ["a value that changes its type", { a: [1] }, { a: { 0: 1 } }, ['a changed {"before":[1],"after":{"0":1}}']],
  ["nothing for a different order of members", { a: 1, b: 2 }, { b: 2, a: 1 }, []],
  [
    "members named like inherited ones",
    { constructor: 1 },
    { toString: 1 },
    ['toString added {"after":1}', 'constructor removed {"before":1}'],
  ],
])("a diff reports %s", (_title, before, after, expected) => {
  expect(changes(before, after).map(summaryOf)).toEqual(expected);
});

// Few names and values, so that two values are often equal.
const { value: json } = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<JsonValue>(null, true, 0, 1, "", "a"),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 6 }),
    fc.uniqueArray(fc.record({ name: fc.constantFrom("a", "b", "c", "d"), value: tie("value") }), {
      maxLength: 4,
      selector: ({ name }) => name,
    }),
    fc.dictionary(fc.constantFrom("a", "b", "constructor", "__proto__"), tie("value"), { maxKeys: 3 }),
  ),
}));

test("a diff applied to the first value gives the second, and only equal values have an empty diff", () => {
  const isRight = (before: JsonValue, after: JsonValue) => {
    const found = changes(before, after);
    expect(found.length === 0).toBe(sameJson(before, after));
    expect(sameJson(applied(before, found), after)).toBe(true);
  };
  fc.assert(fc.property(json, json, isRight), { numRuns: 5_000 });
});

test("in a list of distinct entries, as few as possible are reported as moved", () => {
  const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { maxLength: 7 });
  const isRight = (before: readonly number[], mixed: readonly number[]) => {
    const after = mixed.filter(one => before.includes(one));
    const moved = changes(before, after).filter(({ kind }) => kind === "moved").length;
    expect(after.length - moved).toBe(longestCommon(before, after));
  };
  fc.assert(fc.property(numbers, numbers, isRight), { numRuns: 1_000 });
});

test("comparing long lists reads each entry a few times, not once for every other entry", () => {
  let reads = 0;
  const watched = (value: number): JsonValue => ({
    get a() {
      reads += 1;
      return value;
    },
  });
  const list = (length: number, from: number) => Array.from({ length }, (_, at) => watched(from + at));
  for (const size of [500, 20_000]) {
    reads = 0;
    expect(changes(list(size, 0), list(size, size))).toHaveLength(size);
    expect(reads / size).toBeLessThan(10);
  }
});

test("long lists can be compared: reversed, replaced, and with one entry inserted in the middle", () => {
  const size = 50_000;
  const numbers: readonly JsonValue[] = Array.from({ length: size }, (_, at) => at);
  expect(changes(numbers, numbers.toReversed())).toHaveLength(size);
  expect(changes(Array(size).fill("a"), Array(size).fill("b"))).toHaveLength(size);
  expect(changes(numbers, numbers.toSpliced(7, 0, "new")).map(summaryOf)).toEqual(['7 added {"after":"new"}']);
  expect(changes(numbers.slice(0, 9_000), numbers.slice(0, 9_000).toReversed())).toHaveLength(8_999);
});

test("values nested deeper than a message may be are compared as a whole", () => {
  const nested = (inside: JsonValue) => Array.from({ length: 400 }).reduce<JsonValue>(inner => [inner], inside);
  expect(changes(nested(1), nested(1))).toEqual([]);
  const [change, ...rest] = changes(nested(1), nested(2));
  expect(rest).toEqual([]);
  expect(change?.path).toHaveLength(32);
});

/** The length of the longest common subsequence, straight from its definition. Takes exponential time. */
function longestCommon(one: readonly number[], other: readonly number[]): number {
  if (one.length === 0 || other.length === 0) return 0;
  const [rest, otherRest] = [one.slice(1), other.slice(1)];
  if (one[0] === other[0]) return 1 + longestCommon(rest, otherRest);
  return Math.max(longestCommon(rest, other), longestCommon(one, otherRest));
}

/** Applies the changes to a value. */
function applied(value: JsonValue, made: readonly ValueChange[]): JsonValue | undefined {
  const own = made.find(({ path }) => path.length === 0);
  if (own !== undefined) return "after" in own ? own.after : undefined;
  if (Array.isArray(value)) return appliedToList(value, made);
  return isJsonObject(value) ? appliedToMembers(value, made) : value;
}

function appliedToMembers(value: JsonObject, made: readonly ValueChange[]): JsonObject {
  const members = new Map<ValueStep | undefined, JsonValue>(Object.entries(value));
  for (const [name, own] of Map.groupBy(made, ({ path }) => path[0])) {
    const becomes = applied(members.get(name) ?? null, own.map(inside));
    if (becomes === undefined) members.delete(name);
    else members.set(name, becomes);
  }
  return Object.fromEntries([...members].map(([name, inner]) => [String(name), inner]));
}

function appliedToList(value: readonly JsonValue[], made: readonly ValueChange[]): JsonValue {
  const leaving = new Set<number>();
  const coming: { readonly at: number; readonly entry: JsonValue }[] = [];
  for (const one of made.filter(({ path }) => path.length === 1)) {
    if (one.kind === "removed") leaving.add(place(one));
    if (one.kind === "added") coming.push({ at: place(one), entry: one.after });
    if (one.kind !== "moved") continue;
    leaving.add(one.from);
    coming.push({ at: place(one), entry: value[one.from] ?? null });
  }
  const list = value.filter((_, at) => !leaving.has(at));
  for (const { at, entry } of coming.sort((one, other) => one.at - other.at)) list.splice(at, 0, entry);
  const others = made.filter(({ path, kind }) => path.length > 1 || kind === "changed");
  for (const [at, own] of Map.groupBy(others, place)) list[at] = applied(list[at] ?? null, own.map(inside)) ?? null;
  return list;
}

function place({ path: [step] }: ValueChange): number {
  return typeof step === "object" ? step.at : -1;
}

function inside(change: ValueChange): ValueChange {
  return { ...change, path: change.path.slice(1) };
}
