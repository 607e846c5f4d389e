import { describe, expect, test } from "vitest";
import { compileScope, Scopes } from "../../../main/scopes/scopes.ts";
import { countedValues, countingLayer, type LayerValues } from "../../../main/store/values/counted-values.ts";
import type { CountedLayer } from "../../../shared/protocol.ts";

const scopes = new Scopes();
scopes.set(
  compileScope("app", {
    type: "object",
    properties: {
      port: { type: "integer", default: 1, maximum: 40, "x-step": 10 },
      text: { type: "string", default: "", maxLength: 3, "x-step": 1 },
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

describe("x-step raises what the linked worktree with the number 2", () => {
  const own = "app.port";
  test.each<[title: string, layers: readonly [name: CountedLayer, app: object][], counted: object, problems: string[]]>(
    [
      ["inherits as the default", [], { port: 21 }, []],
      ["inherits from its branch's file", [["shared", { port: 5, text: "8" }]], { port: 25, text: "10" }, []],
      ["inherits from the main work tree's local values", [["base", { port: 6 }]], { port: 26 }, []],
      [
        "does not inherit: its own value is taken as it is",
        [["local", { port: 7, text: "8" }]],
        { port: 7, text: "8" },
        [],
      ],
      [
        "inherits beneath fields of its own",
        [
          ["shared", { port: 5 }],
          ["local", { text: "8" }],
        ],
        { port: 25, text: "8" },
        [],
      ],
      [
        "inherits, unless the field has a maximum below: it is used as it is",
        [["shared", { port: 21 }]],
        { port: 21 },
        [own],
      ],
      [
        "inherits, unless it is no number in digits: it is used as it is",
        [["shared", { text: "08" }]],
        { port: 21, text: "08" },
        ["app.text"],
      ],
      [
        "inherits, unless its text becomes too long",
        [["shared", { text: "999" }]],
        { port: 21, text: "999" },
        ["app.text"],
      ],
      [
        "does not inherit: nobody hears of a number that does not count",
        [
          ["shared", { port: 21 }],
          ["local", { port: 22 }],
        ],
        { port: 22 },
        [],
      ],
    ],
  )("%s", (_title, layers, app, problems) => {
    const valuesOf = (slot: number | undefined): LayerValues[] =>
      (["shared", "base", "local"] as const).map(name => ({
        ...{ name, stored: { app: { ...new Map(layers).get(name) } } },
        ...(name === "shared" && { slot }),
      }));
    const { stored, health } = countedValues(valuesOf(2), scopes);
    expect(stored["app"]).toEqual(app);
    expect(health.map(({ field }) => field)).toEqual(problems);
    const counting = (slot: number | undefined) =>
      countingLayer(valuesOf(slot), { scope: "app", field: "port" }, scopes);
    expect(counting(2)).toBe(counting(undefined));
    for (const slot of [0, undefined]) expect(countedValues(valuesOf(slot), scopes).health).toEqual([]);
  });
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
