import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { ScopeSchemaError } from "../../../main/scopes/schema-faults.ts";
import { compileScope } from "../../../main/scopes/scopes.ts";
import { svcSchema } from "../../../shared/scopes/svc.ts";

const withField = (field: object, more: object = {}) => ({ type: "object", properties: { a: field }, ...more });
const ajv = new Ajv2020({ strict: false });
const messageOf = (schema: unknown): string => {
  try {
    compileScope("broken", schema);
    return "it was taken";
  } catch (error) {
    if (!(error instanceof ScopeSchemaError)) throw error;
    return error.message;
  }
};

describe("a scope's schema must be valid:", () => {
  const wrong: readonly (readonly [rule: string, operand: unknown])[] = [
    ["description", ["x"]],
    ["type", []],
    ["type", ["string", "string"]],
    ["minLength", -1],
    ["multipleOf", 0],
    ["required", [1]],
    ["enum", "a"],
    ["allOf", []],
    ["additionalProperties", "no"],
    ["properties", []],
    ["patternProperties", { a: 1 }],
    ["not", 1],
    ["examples", {}],
  ];
  test.each(wrong)("%s may not be %j, in a field's schema or nested in it", (rule, operand) => {
    const message = messageOf(withField({ default: null, [rule]: operand }));
    expect(message).toContain('the field "a"');
    expect(message).toContain(rule);
    const inner = { default: null, if: { items: { [rule]: operand } } };
    expect(messageOf(withField(inner))).toContain(rule);
    expect(messageOf(withField({ default: null }, { $defs: { inner } }))).toContain(rule);
    if (rule === "properties") return;
    expect(messageOf(withField({ default: null }, { [rule]: operand }))).toContain(rule);
    // The published meta-schema is the reference.
    expect(ajv.validateSchema(withField(inner))).toBe(false);
  });

  test.each([
    ["x-masked", "yes"],
    ["x-unit", 1],
    ["x-labels", "a"],
    ["x-path", 1],
    ["x-secret", "yes"],
    ["x-command", "true"],
    ["x-env", true],
    ["x-env", "A-B"],
    ["x-env", ""],
    ["uniqueItemProperties", "name"],
    ["x-step", "10"],
    ["x-step", 0],
    ["x-step", 0.5],
  ])("%s may not be %j", (rule, operand) => {
    expect(messageOf(withField({ default: null, [rule]: operand }))).toContain(rule);
  });

  test.each<[rule: string, operand: unknown]>([
    ["x-command", true],
    ["x-env", "TOKEN"],
    ["x-secret", true],
    ["x-keyOf", "a"],
    ["x-step", 10],
  ])("%s anywhere but in the field's own schema is refused", (rule, operand) => {
    const message =
      /^(the field "a": )?x-\w+ at \S+ has no effect there: put it directly into the field's own schema(;|$)/;
    expect(messageOf(withField({ type: "string", default: "", allOf: [{ [rule]: operand }] }))).toMatch(message);
    const referring = withField(
      { $ref: "#/$defs/command", default: "" },
      { $defs: { command: { type: "string", [rule]: operand } } },
    );
    expect(messageOf(referring)).toMatch(message);
    expect(messageOf(withField({ default: "" }, { [rule]: operand }))).toMatch(message);
    // A member's name is not a keyword.
    const member = { type: "object", properties: { [rule]: { type: "string" } }, default: {} };
    expect(messageOf(withField(member))).toBe("it was taken");
  });

  test("an unknown dialect is refused, because its keywords have other meanings", () => {
    const dialect = "https://json-schema.org/draft/2020-12/schema";
    for (const good of [dialect, `${dialect}#`, "http://json-schema.org/draft-07/schema#"])
      expect(messageOf(withField({ default: null }, { $schema: good }))).toBe("it was taken");
    const older = messageOf(withField({ default: null }, { $schema: "http://json-schema.org/draft-03/schema#" }));
    expect(older).toContain("$schema");
    expect(older).toContain("draft-04");
  });

  test.each<[why: string, field: object]>([
    ['needs the type "integer" or "string"', { type: "boolean", default: false }],
    ['needs the type "integer" or "string"', { type: ["integer", "number"], default: 1 }],
    ['needs the type "integer" or "string"', { type: "null", default: null }],
    ['needs the type "integer" or "string"', { default: 1 }],
    ['needs "local" in x-layers', { type: "integer", default: 1, "x-layers": ["shared"] }],
  ])("x-step %s", (why, field) => {
    expect(messageOf(withField({ ...field, "x-step": 10 }))).toContain(`"x-step" of the field "a" ${why}`);
  });

  test("a command field may not be part of another field", () => {
    const command = { type: "string", default: "", "x-command": true };
    const properties = { a: command, b: { $ref: "#/properties/a", default: "" } };
    expect(messageOf({ type: "object", properties })).toBe(
      'the field "b": x-command has no effect where another schema refers to it: put the shared part into $defs',
    );
  });

  test("patterns that only the old keyword dependencies leads to are counted before they are compiled", () => {
    const dependencies = Object.fromEntries(
      Array.from({ length: 1_001 }, (_, index) => [`m${index}`, { properties: { a: { pattern: `^${index}$` } } }]),
    );
    expect(messageOf(withField({ default: null, dependencies }))).toContain("more than 1000 patterns");
  });

  test("a message about a schema is short, however long the schema's own texts are", () => {
    const description = "x".repeat(100_000);
    const long = withField({ type: "string", default: "a", pattern: "^b$", description });
    expect(messageOf(long).length).toBeLessThan(600);
    const { fields } = compileScope("long", withField({ type: "string", default: "b", pattern: "^b$", description }));
    expect(fields.get("a")?.validate("a")?.message.length).toBeLessThan(600);
  });

  test("what is in default, const, enum and examples is not treated as a schema", () => {
    const like = { pattern: "(", $ref: "https://example.com/a.json", type: "none", $anchor: "here" };
    const field = {
      type: "object",
      default: like,
      examples: [like],
      anyOf: [{ const: like }, { enum: [like] }],
      properties: { pattern: { $ref: "#here" } },
    };
    const $defs = { here: { $anchor: "here", type: "string" } };
    expect(messageOf(withField(field, { $defs }))).toBe("it was taken");
  });

  test("the built-in schema is valid", () => {
    expect(messageOf(svcSchema)).toBe("it was taken");
  });
});
