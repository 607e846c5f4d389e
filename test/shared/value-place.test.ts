import fc from "fast-check";
import { expect, test } from "vitest";
import { joinPointer, pointerTokens } from "../../shared/value-edit.ts";
import { pointerInside, showSteps } from "../../shared/value-place.ts";

test.each<[typed: string, pointer: string | undefined]>([
  ["app.map", ""],
  ["app.map.web.image", "/web/image"],
  ["app.map.list[2].name", "/list/2/name"],
  ["app.map.list.2", "/list/2"],
  ['app.map."a.b".c', "/a.b/c"],
  ['app.map["a.b"].c', "/a.b/c"],
  ['app.map."say \\"x[1]\\"/"', '/say "x[1]"~1'],
  ["app.map.", undefined],
  ["app.map.a[b]", undefined],
  ['app.map."half', undefined],
  ['app.map."\\x"', undefined],
  ["app.mapped", undefined],
  ["app.other", undefined],
])("%s is the place %s", (typed, pointer) => {
  expect(pointerInside(typed, "app.map")).toBe(pointer);
});

test.each(["app.map.ports[0].host", "app.map.ports.81.host", 'app.map."[0]".ports'])("%s is shown as typed", typed => {
  const schema = { properties: { ports: { items: {}, uniqueItemProperties: ["port"] } } };
  expect(showSteps("app.map", pointerTokens(pointerInside(typed, "app.map", schema) ?? ""), schema)).toBe(typed);
});

test("a place of any names is read back as it is shown", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary", minLength: 0, maxLength: 6 })), names => {
      expect(pointerInside(showSteps("app.map", names), "app.map")).toBe(joinPointer(names));
    }),
  );
});
