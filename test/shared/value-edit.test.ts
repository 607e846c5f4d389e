import { expect, test } from "vitest";
import type { JsonValue } from "../../shared/json.ts";
import { applyValueEdits, nestsDeeper, type ValueEdit, valueAt } from "../../shared/value-edit.ts";

type Edit = Omit<ValueEdit, "field">;
const edit = (value: JsonValue | undefined, ...edits: readonly Edit[]) =>
  applyValueEdits(
    value,
    edits.map(one => ({ field: "svc.services", ...one })),
  );

const services = { web: { image: "node:24", ports: [80, 443] } };

test.each<readonly [string, JsonValue | undefined, readonly Edit[], JsonValue | undefined]>([
  [
    "a member gets a value, and the others stay",
    services,
    [{ op: "set", path: "/web/image", value: "node:25" }],
    { web: { image: "node:25", ports: [80, 443] } },
  ],
  ["objects on the way are made", {}, [{ op: "set", path: "/web/image", value: "x" }], { web: { image: "x" } }],
  ["of nothing too", undefined, [{ op: "set", path: "/web/image", value: "x" }], { web: { image: "x" } }],
  [
    "also in the place of null",
    { web: null },
    [{ op: "set", path: "/web/image", value: "x" }],
    { web: { image: "x" } },
  ],
  ["an item gets a value", [1, 2], [{ op: "set", path: "/1", value: 3 }], [1, 3]],
  ["the place behind the last item is one", [1], [{ op: "set", path: "/1", value: 3 }], [1, 3]],
  ["an object behind the last item", [], [{ op: "set", path: "/0/a", value: 3 }], [{ a: 3 }]],
  ["a member is taken away", services, [{ op: "unset", path: "/web/ports" }], { web: { image: "node:24" } }],
  ["an item is taken away", [1, 2, 3], [{ op: "unset", path: "/1" }], [1, 3]],
  ["what is not there cannot go", [1], [{ op: "unset", path: "/1" }], [1]],
  ["nor is anything made on the way to it", {}, [{ op: "unset", path: "/a/b" }], {}],
  ["the value itself is unset", 5, [{ op: "unset" }], undefined],
  ["an item is added", ["a"], [{ op: "add", value: "b" }], ["a", "b"]],
  ["and not twice", [{ a: 1, b: 2 }], [{ op: "add", value: { b: 2, a: 1 } }], [{ a: 1, b: 2 }]],
  ["to a list that is made", {}, [{ op: "add", path: "/a/b", value: 1 }], { a: { b: [1] } }],
  ["an item is removed wherever it stands", [1, 2, 1], [{ op: "remove", value: 1 }], [2]],
  ["one that is not there changes nothing", { a: 1 }, [{ op: "remove", path: "/b", value: 1 }], { a: 1 }],
  [
    "each goes on from the one before",
    undefined,
    [
      { op: "set", path: "/a", value: [] },
      { op: "add", path: "/a", value: 1 },
      { op: "unset", path: "/a/0" },
      { op: "add", path: "/a", value: 2 },
    ],
    { a: [2] },
  ],
  ["names may have any character", {}, [{ op: "set", path: "/a~1b~0c", value: 1 }], { "a/b~c": 1 }],
])("%s", (_what, before, edits, after) => {
  const copy = structuredClone(before);
  expect(edit(before, ...edits)).toEqual({ value: after });
  expect(before).toEqual(copy);
});

test.each<readonly [string, JsonValue, Edit, { path: string; given: string; message: string }]>([
  [
    "in a text is nothing",
    { web: "x" },
    { op: "set", path: "/web/image", value: 1 },
    { path: "/web", given: "string", message: "at /web is neither an object nor a list, so it contains nothing" },
  ],
  ["an object is no list", {}, { op: "add", value: 1 }, { path: "", given: "object", message: "is not a list" }],
  [
    "an item far behind the last",
    { a: [1] },
    { op: "set", path: "/a/2", value: 1 },
    { path: "/a", given: "array", message: 'at /a has 1 items and no item "2"' },
  ],
  [
    "a list has no names",
    [1],
    { op: "add", path: "/first", value: 1 },
    { path: "", given: "array", message: 'has 1 items and no item "first"' },
  ],
])("a problem: %s", (_what, before, one, problem) => {
  expect(edit(before, one)).toEqual({ problem });
});

test("prototype names are ordinary names", () => {
  const outcome = edit(
    {},
    { op: "set", path: "/__proto__/polluted", value: true },
    { op: "add", path: "/constructor", value: 1 },
  );
  expect(JSON.stringify(outcome)).toBe('{"value":{"__proto__":{"polluted":true},"constructor":[1]}}');
  expect(Reflect.get({}, "polluted")).toBeUndefined();
  expect(valueAt({}, "/constructor")).toBeUndefined();
});

test("a JSON pointer finds a part of a value", () => {
  expect(valueAt(services, "")).toBe(services);
  expect(valueAt(services, "/web/ports/1")).toBe(443);
  expect(valueAt(services, "/web/ports/2")).toBeUndefined();
  expect(valueAt(services, "/web/ports/01")).toBeUndefined();
  expect(valueAt(services, "/web/image/length")).toBeUndefined();
});

test("nestsDeeper counts any number of levels", () => {
  expect(nestsDeeper(undefined, 0)).toBe(false);
  expect(nestsDeeper({ a: [1] }, 2)).toBe(false);
  expect(nestsDeeper({ a: [[1]] }, 2)).toBe(true);
  const outcome = edit({}, { op: "set", path: "/a".repeat(200_000), value: 1 });
  expect("value" in outcome && nestsDeeper(outcome.value, 31)).toBe(true);
});
