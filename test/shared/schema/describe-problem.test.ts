import { expect, test } from "vitest";
import { compileScope } from "../../../main/scopes/scopes.ts";
import { svcSchema } from "../../../shared/scopes/svc.ts";
import { showPointer } from "../../../shared/value-place.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";

const described = { description: "v and digits.", pattern: "^v[0-9]+$" };

const kindOf = (kind: string, type: string) => ({
  type: "object",
  properties: { kind: { const: kind }, port: { type } },
  additionalProperties: false,
});

test.each([
  ["an enumeration names its choices", { enum: ["red", "green", 3] }, "blue", `must be "red", "green" or 3`],
  [
    "a long enumeration counts the rest",
    { enum: Array.from({ length: 25 }, (_, n) => n) },
    -1,
    /^must be one of 0, 1, .*, 19 and 5 more$/,
  ],
  ["a constant is named", { const: "x" }, "y", `must be "x"`],
  ["a pattern's description replaces it", described, "x", "does not have the right form: v and digits"],
  ["also deep in a value", { items: described }, ["v1", "x"], "does not have the right form: v and digits"],
  ["also behind a reference", { $ref: "#/$defs/tag" }, "x", "does not have the right form: v and digits"],
  ["a pattern without a description is quoted", { pattern: "^v" }, "x", "must match the pattern ^v"],
  ["a text that must not be empty", { minLength: 1 }, "", "must not be empty"],
  ["a number that is too small", { minimum: 0 }, -1, "must be at least 0"],
  ["a number below its limit", { exclusiveMinimum: -1 }, -1, "must be more than -1"],
  ["a number between two steps", { multipleOf: 5 }, 7, "must be a multiple of 5"],
  ["too few items", { minItems: 2 }, [1], "must have at least 2 items"],
  ["too many members", { maxProperties: 1 }, { a: 1, b: 2 }, "must have at most 1 members"],
  ["a number that may be null", { type: ["number", "null"] }, "x", "must be a number or null, not a string"],
  ["one of several schemas", { oneOf: [{ minimum: 1 }, { maximum: 2 }] }, 1, "must match exactly one schema in oneOf"],
  [
    "of alternatives, the one of this type",
    { anyOf: [{ type: "null" }, { type: "string", minLength: 1 }] },
    "",
    "must not be empty",
  ],
  [
    "of alternatives, all types, if none is for this type",
    { anyOf: [{ type: "null" }, { type: ["string", "integer"] }, { type: "string", maxLength: 3 }] },
    [],
    "must be null or a string or an integer, not an array",
  ],
  [
    "of alternatives that are values, all values",
    { oneOf: [{ const: "a" }, { const: "b" }, { enum: ["c", "d"] }, { type: "integer" }] },
    "e",
    'must be "a", "b", "c" or "d"',
  ],
  [
    "of alternatives, the one with the same constant, although another breaks fewer rules",
    { oneOf: [{ type: "object", required: ["z"] }, kindOf("a", "integer"), kindOf("b", "string")] },
    { kind: "b", port: 1, other: 2 },
    "must be a string, not a number",
  ],
  [
    "of alternatives, not one with another constant",
    { anyOf: [kindOf("a", "integer"), { type: "object", properties: { port: { type: "null" } } }] },
    { kind: "b", port: "x" },
    "must be null, not a string",
  ],
  [
    "of alternatives, the one that breaks the fewest rules",
    { anyOf: [{ required: ["a", "b", "c"] }, { required: ["d"] }, false] },
    {},
    'lacks the member "d"',
  ],
  [
    "of alternatives in alternatives, the nearest",
    {
      anyOf: [
        { type: "null" },
        { type: "array", items: { anyOf: [{ type: "boolean" }, { type: "string", maxLength: 1 }] } },
      ],
    },
    [true, "ab"],
    "must have at most 1 characters",
  ],
  [
    "of alternatives behind a reference, the nearest",
    { oneOf: [{ type: "null" }, { $ref: "#/$defs/tag" }] },
    "x",
    "does not have the right form: v and digits",
  ],
  ["a schema that must not match", { not: { type: "null" } }, null, "must not match the schema in not"],
  [
    "items that are missing",
    { contains: { type: "null" }, minContains: 2, maxContains: 3 },
    [null],
    "must contain at least 2 and at most 3 items that match the schema in contains",
  ],
  ["an item too many", { prefixItems: [true], items: false }, [1, 2], "must not have more than 1 items"],
  ["an unknown member", { unevaluatedProperties: false }, { a: 1 }, `must not have the member "a"`],
  [
    "a member's name",
    { propertyNames: { minLength: 1 } },
    { "": 1 },
    `has a member called "", a name that must not be empty`,
  ],
])("an error says what is expected: %s", (_, field, value, message) => {
  const schema = { type: "object", $defs: { tag: described }, properties: { field } };
  const { fields } = compileScope("test", schema);
  expect(fields.get("field")?.validate(value)?.message).toEqual(
    typeof message === "string" ? message : expect.stringMatching(message),
  );
});

test("no field of svc quotes a pattern", () => {
  const { fields } = compileScope("svc", svcSchema);
  expect(fields.get("default_port")?.validate("99999")?.message).toContain("1 to 65535");
  expect(fields.get("envvars")?.validate([{ name: "1a", value: "" }])?.message).toContain("Letters, digits and _");
});

test("errors in an operation's arguments use the same wording", async () => {
  await using t = await startTestDaemon();
  const grants = [{ repos: "*", fields: ["%%"], right: "read" }];
  const { errors } = await t.owner.call("key/create", { name: "tool", grants });
  expect(errors[0]?.message).toContain("a field such as svc.timeout");
  expect(errors[0]?.message).not.toContain("^");
});

test("a path with unreadably long names is shortened in the message, and complete for programs", () => {
  const scope = compileScope("a", {
    type: "object",
    properties: { a: { additionalProperties: { type: "object" }, default: {} } },
  });
  const name = "n".repeat(1_000_000);
  const { path = "", message } = scope.fields.get("a")?.validate({ [name]: 1 }) ?? {};
  expect([path, message]).toEqual([`/${name}`, "must be an object, not a number"]);
  expect(showPointer("a.a", path, { [name]: 1 }, { default: {} })).toBe(`a.a.${"n".repeat(80)}…`);
});
