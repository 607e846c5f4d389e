import { expect, test } from "vitest";
import { compileScope, Scopes } from "../../../main/scopes/scopes.ts";
import { countedValues, type LayerValues } from "../../../main/store/values/counted-values.ts";
import { splitList } from "../../../main/store/values/split-list.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { ValueEdit } from "../../../shared/value-edit.ts";

const items = { type: "object", properties: { n: { type: "string" }, v: { type: "string" } } };
const scopes = new Scopes();
scopes.set(
  compileScope("app", {
    type: "object",
    properties: { vars: { type: "array", default: [], maxItems: 4, uniqueItemProperties: ["n"], items } },
  }),
);
const path = { scope: "app", field: "vars" };

/** "A=1 T=s" as a list; undefined of an empty text. */
const list = (text: string): JsonValue[] =>
  text
    .split(" ")
    .filter(Boolean)
    .map(one => ({ n: one.split("=")[0] ?? "", v: one.split("=")[1] ?? "" }));
const shown = (value: JsonValue | undefined) =>
  (value as { n: string; v: string }[] | undefined)?.map(({ n, v }) => `${n}=${v}`).join(" ") ?? "";
const edit = (op: ValueEdit["op"], place: string, value?: JsonValue): ValueEdit => ({
  field: "app.vars",
  op,
  path: place,
  ...(value !== undefined && { value }),
});

type Layers = readonly [shared: string, local: string, base?: string];

const layersOf = ([shared, local, base]: Layers): LayerValues[] =>
  (["shared", "base", "local"] as const).flatMap(name => {
    const text = { shared, base, local }[name];
    return text === undefined ? [] : [{ name, stored: text === "" ? {} : { app: { vars: list(text) } } }];
  });

test.each<[title: string, before: Layers, wanted: string, after: Layers]>([
  [
    "an item goes to the layer that has its name, a new one to the shared",
    ["A=1", "T=s"],
    "A=2 T=t N=3",
    ["A=2 N=3", "T=t"],
  ],
  ["a name that is left out is removed where it was", ["A=1 B=2", "T=s"], "A=1", ["A=1", ""]],
  ["the shared item that a local one hides stays", ["A=1 T=0 B=2", "T=s"], "A=1 T=t B=2", ["A=1 T=0 B=2", "T=t"]],
  ["also if the local one is left out", ["A=1 T=0 B=2", "T=s"], "A=1 B=2", ["A=1 T=0 B=2", ""]],
  ["also if it is the first, and others go", ["T=0 A=1 B=2", "T=s"], "B=2", ["T=0 B=2", ""]],
  ["a local item that is renamed stays local", ["A=1", "T=s"], "A=1 X=s", ["A=1", "X=s"]],
  ["also if it is changed at the same time", ["A=1", "T=s"], "A=1 X=t", ["A=1", "X=t"]],
  ["a shared item that is renamed stays shared", ["A=1", "T=s"], "B=1 T=s", ["B=1", "T=s"]],
  ["both at once", ["A=1", "T=s"], "B=1 X=s", ["B=1", "X=s"]],
  ["a local item's value under a shared name", ["A=1", "T=s"], "A=s", ["A=1", "A=s"]],
  ["two items that swap their names", ["A=1", "T=s"], "A=s T=1", ["A=1", "A=s T=1"]],
  ["a copy that leaves the local item is a change of the shared one", ["A=1", "T=s"], "A=s T=s", ["A=s", "T=s"]],
  [
    "an item that was local once is local again, and shared values are not",
    ["A=1", ""],
    "A=1 O=old N=1",
    ["A=1 N=1", "O=old"],
  ],
  ["also under a name that is shared now", ["O=1", ""], "O=old", ["O=1", "O=old"]],
  ["one of the base's stays there", ["A=1", "", "T=s"], "A=1 T=s N=2", ["A=1 N=2", "", "T=s"]],
  [
    "one of the base's that is renamed or changed is local",
    ["A=1", "", "T=s U=u"],
    "A=1 X=s U=v",
    ["A=1", "X=s U=v", "T=s U=u"],
  ],
  ["local items that do not count for now stay", ["A=1 B=2 C=3", "X=1 Y=2"], "A=1 B=3", ["A=1 B=3", "X=1 Y=2"]],
])("a whole list: %s", (_title, before, wanted, after) => {
  const layers = layersOf(before);
  const formerItems = new Set(['{"n":"O","v":"old"}']);
  const { shared, local } = splitList({ path, value: list(wanted), formerItems }, layers, scopes);
  expect([shown(shared), shown(local)]).toEqual(after.slice(0, 2));
});

test.each<[title: string, before: Layers, edits: readonly ValueEdit[], wanted: string, after: Layers]>([
  ["a name", ["A=1", "T=s"], [edit("set", "/T/n", "X")], "A=1 X=s", ["A=1", "X=s"]],
  ["a name by index", ["A=1", "T=s"], [edit("set", "/[1]/n", "X")], "A=1 X=s", ["A=1", "X=s"]],
  ["a whole item", ["A=1", "T=s"], [edit("set", "/T", { n: "X", v: "t" })], "A=1 X=t", ["A=1", "X=t"]],
  [
    "removed and added again",
    ["A=1", "T=s"],
    [edit("unset", "/T"), edit("add", "", { n: "X", v: "s" })],
    "A=1 X=s",
    ["A=1", "X=s"],
  ],
  [
    "removed, and another one added",
    ["A=1", "T=s"],
    [edit("unset", "/T"), edit("add", "", { n: "X", v: "2" })],
    "A=1 X=2",
    ["A=1 X=2", ""],
  ],
  [
    "changed, and its value added again",
    ["A=1", "T=s"],
    [edit("set", "/T/v", "t"), edit("add", "", { n: "X", v: "s" })],
    "A=1 T=t X=s",
    ["A=1", "T=t X=s"],
  ],
  [
    "a shared item's name, which it takes",
    ["A=1", "T=s"],
    [edit("set", "/A/n", "B"), edit("set", "/T/n", "A")],
    "B=1 A=s",
    ["B=1", "A=s"],
  ],
  [
    "in place of a shared item",
    ["A=1 B=2", "T=s"],
    [edit("remove", "", "A"), edit("set", "/T/n", "A")],
    "B=2 A=s",
    ["B=2", "A=s"],
  ],
  ["the whole list", ["A=1", "T=s"], [edit("set", "", list("X=t A=1"))], "X=t A=1", ["A=1", "X=t"]],
])("edits of a local item: %s", (_title, before, edits, wanted, after) => {
  const { shared, local } = splitList({ path, value: list(wanted), edits }, layersOf(before), scopes);
  expect([shown(shared), shown(local)]).toEqual(after.slice(0, 2));
});

test("a list that is given back as it was read changes no layer", () => {
  for (const before of [
    ["A=1 B=2", "B=3 C=4"],
    ["A=1", "B=2", "A=5 B=6 C=7"],
    ["", "T=s"],
    ["A=1 B=2 C=3", "X=1 Y=2"],
  ] satisfies Layers[]) {
    const layers = layersOf(before);
    const read = countedValues(layers, scopes).stored["app"]?.["vars"];
    const { shared, local } = splitList({ path, value: read as JsonValue[] }, layers, scopes);
    expect([shown(shared), shown(local)]).toEqual(before.slice(0, 2));
  }
});
