import { expect, test } from "vitest";
import { compileScope, Scopes } from "../../../main/scopes/scopes.ts";
import { countedValues, countingLayer, type LayerValues } from "../../../main/store/values/counted-values.ts";

const scopes = new Scopes();
scopes.set(
  compileScope("app", {
    type: "object",
    properties: {
      port: { type: "integer", default: 1 },
      url: { type: "string", default: "", "x-layers": ["shared"] },
      mode: { type: "string", default: "", "x-keyOf": "modes" },
      modes: { type: "object", default: {} },
      vars: {
        ...{ type: "array", default: [], maxItems: 2, uniqueItemProperties: ["name"] },
        items: { type: "object", properties: { name: { type: "string" } } },
      },
    },
  }),
);

const layersOf = (shared: object, local: object): LayerValues[] => [
  { name: "shared", stored: { app: { ...shared } } },
  { name: "local", stored: { app: { ...local } } },
];

test.each<[title: string, shared: object, local: object, counted: object, problems: string[]]>([
  ["the local value counts before the shared one", { port: 2 }, { port: 3 }, { port: 3 }, []],
  ["a local value alone counts", {}, { port: 3 }, { port: 3 }, []],
  ["a shared value alone counts", { port: 2 }, {}, { port: 2 }, []],
  ["a field that is kept to the shared layer is not overridden", { url: "a" }, { url: "b" }, { url: "a" }, ["app.url"]],
  ["a field without a schema does not count", { port: 2 }, { gone: 1 }, { port: 2 }, []],
  [
    "a local reference may name a shared key",
    { modes: { dev: 1 } },
    { mode: "dev" },
    { mode: "dev", modes: { dev: 1 } },
    [],
  ],
  [
    "a local reference to a missing key falls to the layer below",
    { mode: "dev", modes: { dev: 1 } },
    { mode: "none" },
    { mode: "dev", modes: { dev: 1 } },
    ["app.mode"],
  ],
  [
    "a shared reference to a key that local values take away falls to the default",
    { mode: "dev", modes: { dev: 1 } },
    { modes: { own: 1 } },
    { modes: { own: 1 } },
    ["app.mode"],
  ],
  [
    "a local list that is too long together with the shared one falls to it",
    { vars: [{ name: "A" }, { name: "B" }] },
    { vars: [{ name: "C" }] },
    { vars: [{ name: "A" }, { name: "B" }] },
    ["app.vars"],
  ],
])("%s", (_title, shared, local, counted, problems) => {
  const { stored, health } = countedValues(layersOf(shared, local), scopes);
  expect(stored).toEqual({ app: counted });
  expect(health.map(({ field, layer }) => [field, layer])).toEqual(problems.map(field => [field, "local"]));
});

test("the layer that counts is the topmost one whose value is used", () => {
  const layer = (field: string, shared: object, local: object) =>
    countingLayer(layersOf(shared, local), { scope: "app", field }, scopes);
  expect(layer("port", { port: 2 }, { port: 2 })).toBe("local");
  expect(layer("url", { url: "a" }, { url: "a" })).toBe("shared");
  expect(layer("port", {}, {})).toBeUndefined();
  const named = (...names: readonly string[]) => ({ vars: names.map(name => ({ name })) });
  expect(layer("vars", named("A"), named("B"))).toBe("local");
  expect(layer("vars", named("A", "B"), named("C"))).toBe("shared");
});
