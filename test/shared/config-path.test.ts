import { describe, expect, test } from "vitest";
import { isFieldName, isScopeName, joinConfigPath, splitConfigPath } from "../../shared/config-path.ts";

describe("a field's full name", () => {
  test.each([
    ["svc.timeout", { scope: "svc", field: "timeout" }],
    ["other.net.timeout", { scope: "other", field: "net.timeout" }],
    ["svc.", { scope: "svc", field: "" }],
    [".timeout", { scope: "", field: "timeout" }],
    [".", { scope: "", field: "" }],
    ["svc..timeout", { scope: "svc", field: ".timeout" }],
  ])("spec 4.1, rule 3: %s is split at the first dot", (text, expected) => {
    expect(splitConfigPath(text)).toEqual(expected);
    expect(joinConfigPath(expected.scope, expected.field)).toBe(text);
  });

  test.each(["", "timeout", "svc/timeout"])("%j is not of the form <scope>.<field>", text => {
    expect(splitConfigPath(text)).toBeUndefined();
  });
});

test.each<[name: string, scope: boolean, field: boolean]>([
  ["svc", true, true],
  ["S", true, true],
  ["net.timeout", false, true],
  ["", false, false],
  ["9x", false, false],
  [".x", false, false],
  ["__proto__", false, false],
  ["a b", false, false],
  ["a/b", false, false],
  ["a\n", false, false],
  ["é", false, false],
  ["x".repeat(64), true, true],
  ["x".repeat(65), false, true],
  ["x".repeat(129), false, false],
])("whether %j is a valid name: of a scope %s, of a field %s", (name, scope, field) => {
  expect(isScopeName(name)).toBe(scope);
  expect(isFieldName(name)).toBe(field);
});
