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
const set = (path: string, value: JsonValue): Edit => ({ op: "set", path, value });
const unset = (path: string): Edit => ({ op: "unset", path });
const add = (path: string, value: JsonValue): Edit => ({ op: "add", path, value });
const image = { web: { image: "x" } };

test.each<readonly [string, JsonValue | undefined, readonly Edit[], JsonValue | undefined]>([
  [
    "a member gets a value, and the others stay",
    services,
    [set("/web/image", "node:25")],
    { web: { image: "node:25", ports: [80, 443] } },
  ],
  ["missing objects on the path are created", {}, [set("/web/image", "x")], image],
  ["an object replaces null on the path", { web: null }, [set("/web/image", "x")], image],
  ["an item gets a value", [1, 2], [set("/1", 3)], [1, 3]],
  ["the index after the last item appends", [1], [set("/1", 3)], [1, 3]],
  ["an object is created after the last item", [], [set("/0/a", 3)], [{ a: 3 }]],
  ["a member is removed", services, [unset("/web/ports")], { web: { image: "node:24" } }],
  ["unset creates nothing on the path", {}, [unset("/a/b")], {}],
  ["the value itself is unset", 5, [{ op: "unset" }], undefined],
  ["an item is not added twice", [{ a: 1, b: 2 }], [{ op: "add", value: { b: 2, a: 1 } }], [{ a: 1, b: 2 }]],
  ["an item is added to a missing list, which is created", {}, [add("/a/b", 1)], { a: { b: [1] } }],
  ["an item is removed by its value, in every position", [1, 2, 1], [{ op: "remove", value: 1 }], [2]],
  ["remove of a missing item changes nothing", { a: 1 }, [{ op: "remove", path: "/b", value: 1 }], { a: 1 }],
  [
    "each edit applies to the result of the previous one",
    undefined,
    [set("/a", []), add("/a", 1), unset("/a/0"), add("/a", 2)],
    { a: [2] },
  ],
  ["names may have any character", {}, [set("/a~1b~0c", 1)], { "a/b~c": 1 }],
])("%s", (_what, before, edits, after) => {
  const copy = structuredClone(before);
  expect(edit(before, ...edits)).toEqual({ value: after });
  expect(before).toEqual(copy);
});

test.each<readonly [string, JsonValue, Edit, path: string, given: string, message: string]>([
  [
    "a string contains nothing",
    { web: "x" },
    set("/web/image", 1),
    "/web",
    "string",
    "is neither an object nor a list, so it contains nothing",
  ],
  ["an object is not a list", {}, { op: "add", value: 1 }, "", "object", "is not a list"],
  ["a high index", { a: [1] }, set("/a/2", 1), "/a", "array", 'has 1 items and no item "2"; [1] appends one'],
  ["a name in a list", [1], add("/b", 1), "", "array", 'has 1 items and no item "b"; [1] appends one'],
])("a problem: %s", (_what, before, one, path, given, message) => {
  expect(edit(before, one)).toEqual({ problem: { path, given, message } });
});

const port = { items: { properties: { port: { type: "integer" } } }, uniqueItemProperties: ["port"] };
const named = { properties: { ports: port }, uniqueItemProperties: ["name"] };
const item = (name: string, value = name) => ({ name, value });
const [a, b, c, b2, c2] = [item("a"), item("b"), item("c"), item("b", "2"), item("c", "2")];
const ports = (...items: JsonValue[]) => ({ ports: items });
test.each<readonly [string, JsonValue, Edit, JsonValue | string]>([
  ["set changes it", [a, b], set("/b/value", "2"), [a, b2]],
  ["set of the item keeps its name", [], set("/c", { value: "c" }), [c]],
  ["set inside a missing one adds it", [a], set("/c/value", "2"), [a, c2]],
  ["an index still finds one", [a, b], set("/1/value", "2"), [a, b2]],
  ["unset removes it", [a, b], unset("/a"), [b]],
  ["unset of a missing one changes nothing", [a, b], unset("/c"), [a, b]],
  ["remove finds it by name", [a, b], { op: "remove", value: "a" }, [b]],
  ["add replaces it in its place", [b, a], add("", b2), [b2, a]],
  ["a number is no index", ports({ port: 80 }), set("/ports/0/a", 1), ports({ port: 80 }, { port: 0, a: 1 })],
  ["a number in brackets is one", ports({ port: 80 }), set("/ports/[0]/a", 1), ports({ port: 80, a: 1 })],
  ["and appends nothing", ports(), set("/ports/[0]/a", 1), expect.stringContaining("no item [0]; a new one is")],
  ["a number is removed", ports({ port: 80 }), { op: "remove", path: "/ports", value: 80 }, ports()],
  ["a text is no number", ports(), set("/ports/x/a", 1), expect.stringContaining('no item "x"; a new one is addr')],
  ["a rounded number is none", ports(), set(`/ports/${2n ** 53n + 1n}/a`, 1), expect.stringContaining("no item")],
])("an item that the schema names: %s", (_what, before, one, after) => {
  const outcome = applyValueEdits(before, [{ field: "svc.x", ...one }], named);
  expect("problem" in outcome ? outcome.problem.message : outcome.value).toEqual(after);
});

test("prototype names are ordinary names", () => {
  const outcome = edit({}, set("/__proto__/polluted", true), add("/constructor", 1));
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
  const outcome = edit({}, set("/a".repeat(200_000), 1));
  expect("value" in outcome && nestsDeeper(outcome.value, 31)).toBe(true);
});
