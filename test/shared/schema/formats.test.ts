import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../shared/json.ts";
import { compileSchema } from "../../../shared/schema/compile-schema.ts";
import { formats } from "../../../shared/schema/formats.ts";
import { SpareSteps } from "../../../shared/schema/step-budget.ts";

const a63 = "a".repeat(63);
const cases: { readonly [format: string]: readonly [good: readonly string[], bad: readonly string[]] } = {
  date: [
    ["2024-02-29", "2000-02-29", "0000-01-01"],
    ["2023-02-29", "1900-02-29", "2024-1-01", "2024-13-01", "2024-04-31", "2024-01-00", " 2024-01-01"],
  ],
  time: [
    ["09:30:00Z", "23:59:60Z", "01:29:60.5+01:30", "00:00:00z"],
    ["09:30:00", "24:00:00Z", "09:60:00Z", "22:59:60Z", "09:30:00+24:00", "09:30Z", "09:30:00.Z"],
  ],
  "date-time": [
    ["2024-02-29T09:30:00.123Z", "2024-02-29t09:30:00-05:00"],
    ["2024-02-30T09:30:00Z", "2024-02-29 09:30:00Z", "2024-02-29T09:30:00", "2024-02-29"],
  ],
  uri: [
    [
      "https://example.org:80/a?b=c#d",
      "urn:a:b",
      "mailto:a@b.c",
      "http://[::1]/",
      "http://u:p@h/",
      "tel:+1",
      "file:///a%20b",
    ],
    [
      "a",
      "/a",
      "//h/a",
      "http://a b",
      "http://[1]/",
      "http://h:x/",
      "http://h/%zz",
      "a:b#c#d",
      "http://h/[",
      "1a:b",
      "http://ü",
    ],
  ],
  email: [
    ["ada@example.org", "a.b+c@x", '"a b"@x.y', "a@[192.0.2.1]", "a@[IPv6:::1]"],
    ["ada", "@x", "a@", ".a@x", "a..b@x", "a b@x", "a@-x", "a@[1]", "a@b@c"],
  ],
  hostname: [
    ["example.org", "a", "1.2.3", a63, `${a63}.${a63}`],
    ["", "-a", "a-", "a_b", "a..b", `${a63}a`, `${`${a63}.`.repeat(4)}a`, "a.", "ü"],
  ],
  ipv4: [
    ["0.0.0.0", "255.255.255.255"],
    ["256.0.0.0", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.", "٢.0.0.1"],
  ],
  ipv6: [
    ["::", "::1", "1:2:3:4:5:6:7:8", "1::8", "::ffff:192.0.2.1", "1:2:3:4:5:6:7::"],
    [
      "",
      ":",
      "1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:8:9",
      "1::2::3",
      "12345::",
      "::1%eth0",
      "1:2:3:4:5:6:7:192.0.2.1",
      "::g",
      "192.0.2.1",
    ],
  ],
  uuid: [
    ["123e4567-e89b-42d3-a456-426614174000", "00000000-0000-0000-0000-00000000000F"],
    ["123e4567e89b42d3a456426614174000", "123e4567-e89b-42d3-a456-42661417400g"],
  ],
};

test.each([...formats.keys()])("%s", name => {
  const [good, bad] = cases[name] ?? [[], []];
  const test = formats.get(name)?.test ?? (() => false);
  expect(good.filter(text => !test(text))).toEqual([]);
  expect(bad.filter(text => test(text))).toEqual([]);
  expect([good.length, bad.length]).not.toContain(0);
  // The example in its message is one.
  expect(test(formats.get(name)?.example.split(" ").at(-1) ?? "")).toBe(true);
});

const host = { format: "hostname" };
test.each<readonly [what: string, schema: JsonObject, value: JsonValue, isNew: boolean, isStored: boolean]>([
  ["text that has it", host, "a.b", true, true],
  ["text that does not have it", host, "a b", false, true],
  ["no text", host, 1, true, true],
  ["an unknown format", { format: "color" }, "a b", true, true],
  ["one in not", { not: host }, "a.b", false, true],
  ["alternatives of which a new value fits one", { oneOf: [host, { format: "ipv6" }] }, "::1", true, true],
  ["alternatives of which it fits none", { oneOf: [host, { format: "ipv6" }] }, "a b", false, true],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  ["a condition", { if: host, then: { maxLength: 1 }, else: false }, "a.b", false, true],
  [
    "a condition that tells what else may be there",
    {
      if: { properties: { h: host } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { properties: { a: true } },
      else: { properties: { b: true } },
      properties: { h: true },
      unevaluatedProperties: false,
    },
    { h: "a.b", a: 1 },
    true,
    true,
  ],
])(
  "only new values have to have a format, and a value that may be set never becomes invalid: %s",
  (_, schema, value, isNew, isStored) => {
    const check = (checksFormats: boolean) =>
      compileSchema(schema).check(value, new SpareSteps(), 1, checksFormats).problems.length === 0;
    expect([check(true), check(false)]).toEqual([isNew, isStored]);
  },
);
