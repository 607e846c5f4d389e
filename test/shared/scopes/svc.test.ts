import { describe, expect, expectTypeOf, test } from "vitest";
import { compileScope } from "../../../main/scopes/scopes.ts";
import type { JsonValue } from "../../../shared/json.ts";
import { type SvcConfig, svcSchema } from "../../../shared/scopes/svc.ts";

const { fields } = compileScope("svc", svcSchema);
const service = { ready: "true", image: "web:1" };
const variable = (name: string, value = "1") => ({ name, value });

describe("the svc scope", () => {
  test.each<[field: string, given: JsonValue]>([
    ["timeout", 900],
    ["refresh_day", 0],
    ["refresh_hour", 4],
    ["refresh_anchors", false],
    ["services", {}],
    ["default", ""],
    ["application", ""],
    ["application_path", ""],
    ["default_port", "8080"],
    ["domain", ""],
    ["provider", ""],
    ["envvars", []],
    ["proxy_http", true],
    ["proxy_https", false],
    ["proxy_https_redirect", false],
    ["proxy_subpath_map", false],
    ["proxy_alias_type", ""],
    ["proxy_aliases", []],
    ["proxy_domain", ""],
    ["proxy_url", ""],
  ])("spec 2.1: svc.%s exists with the default %j, a title and a description", (name, expected) => {
    const schema = fields.get(name)?.schema;
    expect(schema?.default).toEqual(expected);
    expect(schema?.title).toMatch(/\S/);
    expect(schema?.description).toMatch(/\S/);
  });

  const booleans = [...fields].filter(([, { schema }]) => schema["type"] === "boolean").map(([name]) => name);
  test("spec 2.1: it has the eighteen fields shown, five of them booleans, domain and provider, and no others", () => {
    expect(fields.size).toBe(20);
    const names = "proxy_http proxy_https proxy_https_redirect proxy_subpath_map refresh_anchors";
    expect(booleans.sort()).toEqual(names.split(" "));
  });

  test.each<[field: string, taken: readonly JsonValue[], refused: readonly JsonValue[]]>([
    ["timeout", [0, 1, 86_400, 5.0], [-1, 86_401, 1.5, "5", true, null, [5], {}]],
    ["refresh_day", [0, 6], [-1, 7, 0.5, "0", null]],
    ["refresh_hour", [0, 23], [-1, 24, 4.5, "4", null]],
    ["default_port", ["1", "80", "8080", "65535"], ["0", "65536", "99999", "080", "", " 80", "80\n", "8o", 8080, null]],
    ["domain", ["", "example.org", "d".repeat(253)], ["d".repeat(254), 5, null]],
    ["provider", ["", "p".repeat(256)], ["p".repeat(257), false]],
    ["proxy_domain", ["", "d".repeat(253)], ["d".repeat(254), null]],
    ["proxy_url", ["", "https://example.org/x"], ["u".repeat(2049), {}]],
    ["proxy_alias_type", ["", "t".repeat(64)], ["t".repeat(65), 1]],
    ["application_path", ["", "/srv/app"], ["/".repeat(4097), []]],
    ["default", ["", "web"], [null, 0, ["web"]]],
    ["application", ["", "web"], [null, 0, { web: {} }]],
    ["proxy_aliases", [[], ["a", "b"], ["a", "A"]], [["a", "a"], [""], [1], "a", {}, null]],
    [
      "services",
      [{}, { web: service }, { web: service, "d b/1": { ready: "", image: "" } }],
      [
        [],
        null,
        "web",
        { web: "web:1" },
        { web: { ready: "true" } },
        { web: { image: "web:1" } },
        { web: { ready: 1, image: "web:1" } },
        { web: { ready: "true", image: null } },
        { web: { ...service, port: "80" } },
        { "": service },
        { ["w".repeat(129)]: service },
      ],
    ],
    [
      "envvars",
      [[], [variable("A", "")], [variable("_a9"), variable("_A9")]],
      [
        {},
        null,
        ["A=1"],
        [{ name: "A" }],
        [{ value: "1" }],
        [{ name: "A", value: 1 }],
        [{ name: "A", value: "1", export: true }],
        ...["", "9A", "A-B", "A=B", "A\n", "É"].map(name => [variable(name)]),
        [variable("A"), variable("A", "2")],
      ],
    ],
  ])("svc.%s accepts values up to its limits and refuses the next value beyond", (name, taken, refused) => {
    const field = fields.get(name);
    for (const value of taken) expect(field?.validate(value), JSON.stringify(value)).toBeUndefined();
    for (const value of refused) expect(field?.validate(value), JSON.stringify(value)).toBeDefined();
  });

  test.each(booleans)("svc.%s accepts only true and false, and nothing similar", name => {
    const field = fields.get(name);
    for (const value of [true, false]) expect(field?.validate(value)).toBeUndefined();
    for (const value of [0, 1, "true", "", null, []])
      expect(field?.validate(value), JSON.stringify(value)).toBeDefined();
  });

  test.each<[field: string, given: JsonValue, path: string, rule: string, type: string]>([
    ["timeout", "5", "", "type", "string"],
    ["timeout", 86_401, "", "maximum", "number"],
    ["services", { web: { ready: 1, image: "" } }, "/web/ready", "type", "number"],
    ["services", { "a/b": { ready: "" } }, "/a~1b", "required", "object"],
    ["envvars", [{ name: "A", value: null }], "/0/value", "type", "null"],
    ["proxy_aliases", [["x"]], "/0", "type", "array"],
  ])(
    "a refused svc.%s = %j is reported with path %j, rule %s and the given type: %s",
    (name, value, path, rule, given) => {
      expect(fields.get(name)?.validate(value)).toMatchObject({ path, rule, given });
    },
  );

  test("only svc.default and svc.application refer to a key, and only the values of svc.envvars are masked", () => {
    const having = (keyword: string) => [...fields].flatMap(([name, { schema }]) => (schema[keyword] ? [name] : []));
    expect(having("x-keyOf")).toEqual(["default", "application"]);
    expect(having("x-masked")).toEqual(["envvars"]);
  });
});

describe("the types derived from the svc schema", () => {
  test("each field has its own type, and is always present because it has a default", () => {
    expectTypeOf<SvcConfig["timeout"]>().toEqualTypeOf<number>();
    expectTypeOf<SvcConfig["proxy_https_redirect"]>().toEqualTypeOf<boolean>();
    expectTypeOf<SvcConfig["default_port"]>().toEqualTypeOf<string>();
    expectTypeOf<SvcConfig["proxy_aliases"]>().toEqualTypeOf<string[]>();
    expectTypeOf<SvcConfig["envvars"]>().toEqualTypeOf<{ name: string; value: string }[]>();
    expectTypeOf<SvcConfig["services"]>().toEqualTypeOf<{ [name: string]: { ready: string; image: string } }>();
    expectTypeOf<Required<SvcConfig>>().toEqualTypeOf<SvcConfig>();
  });

  test("its keys are exactly those of the schema", () => {
    expectTypeOf<keyof SvcConfig>().toEqualTypeOf<keyof typeof svcSchema.properties>();
    // @ts-expect-error: the schema has no such field
    expectTypeOf<SvcConfig["tiemout"]>();
  });
});
