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
  [
    "missing objects on the path are created",
    {},
    [{ op: "set", path: "/web/image", value: "x" }],
    { web: { image: "x" } },
  ],
  [
    "missing objects are created even without a value",
    undefined,
    [{ op: "set", path: "/web/image", value: "x" }],
    { web: { image: "x" } },
  ],
  [
    "an object replaces null on the path",
    { web: null },
    [{ op: "set", path: "/web/image", value: "x" }],
    { web: { image: "x" } },
  ],
  ["an item gets a value", [1, 2], [{ op: "set", path: "/1", value: 3 }], [1, 3]],
  ["the index after the last item appends", [1], [{ op: "set", path: "/1", value: 3 }], [1, 3]],
  ["an object is created after the last item", [], [{ op: "set", path: "/0/a", value: 3 }], [{ a: 3 }]],
  ["a member is removed", services, [{ op: "unset", path: "/web/ports" }], { web: { image: "node:24" } }],
  ["an item is removed by its index", [1, 2, 3], [{ op: "unset", path: "/1" }], [1, 3]],
  ["unset of a missing item changes nothing", [1], [{ op: "unset", path: "/1" }], [1]],
  ["unset creates nothing on the path", {}, [{ op: "unset", path: "/a/b" }], {}],
  ["the value itself is unset", 5, [{ op: "unset" }], undefined],
  ["an item is added", ["a"], [{ op: "add", value: "b" }], ["a", "b"]],
  ["an item is not added twice", [{ a: 1, b: 2 }], [{ op: "add", value: { b: 2, a: 1 } }], [{ a: 1, b: 2 }]],
  [
    "an item is added to a missing list, which is created",
    {},
    [{ op: "add", path: "/a/b", value: 1 }],
    { a: { b: [1] } },
  ],
  ["an item is removed by its value, in every position", [1, 2, 1], [{ op: "remove", value: 1 }], [2]],
  ["remove of a missing item changes nothing", { a: 1 }, [{ op: "remove", path: "/b", value: 1 }], { a: 1 }],
  [
    "each edit applies to the result of the previous one",
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
    "a string contains nothing",
    { web: "x" },
    { op: "set", path: "/web/image", value: 1 },
    { path: "/web", given: "string", message: "at /web is neither an object nor a list, so it contains nothing" },
  ],
  ["an object is not a list", {}, { op: "add", value: 1 }, { path: "", given: "object", message: "is not a list" }],
  [
    "an index beyond the end",
    { a: [1] },
    { op: "set", path: "/a/2", value: 1 },
    { path: "/a", given: "array", message: 'at /a has 1 items and no item "2"' },
  ],
  [
    "a list has no named members",
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
