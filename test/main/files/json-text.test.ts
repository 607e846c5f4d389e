import fc from "fast-check";
import { visit } from "jsonc-parser";
import { describe, expect, test } from "vitest";
import {
  formatJsonText,
  JsonTextError,
  parseJsonText,
  rewriteJsonInParts,
  rewriteJsonText,
} from "../../../main/files/json-text.ts";
import { scanningValidText, TextNode } from "../../../main/files/json-text-scan.ts";
import { isJsonObject, type JsonObject, type JsonValue, sameJson } from "../../../shared/json.ts";
import { runToEnd } from "../../../shared/run-to-end.ts";
import { inParts } from "../../helpers/parts.ts";
import { amount } from "../../helpers/promise.ts";
import { countingRounds } from "../../helpers/rounds.ts";

const bom = "\uFEFF";

function problemOf(text: string): JsonTextError | undefined {
  try {
    parseJsonText(text);
    return undefined;
  } catch (error) {
    if (error instanceof JsonTextError) return error;
    throw error;
  }
}

function rewrite(text: string, next: JsonObject): string {
  return rewriteJsonText(parseJsonText(text), next);
}

/** The text that this notation shows on one line; "x*80" stands for 80 of them. */
function plain(shown: string): string {
  const symbols: Record<string, string> = { "␊": "\n", "␍": "\r", "␉": "\t", BOM: bom, THREE: three };
  return shown
    .replaceAll(/[␊␍␉]|BOM|THREE/g, symbol => symbols[symbol] ?? "")
    .replaceAll(/(\w)\*(\d\d)/g, (_all, letter: string, count: string) => letter.repeat(Number(count)));
}

const three = '{\n  "a": 1, // first\n  // own\n  "b": 2,\n  "c": 3 // last\n}\n';

/** The rows of a table, whose cells stand between bars. */
function rows(table: string): string[][] {
  return table
    .trim()
    .split("\n")
    .map(row => row.split(" | ").map(cell => plain(cell.trim())));
}

test("parseJsonText reads 64 levels", () => {
  const text = `${'{"a":'.repeat(63)}{}${"}".repeat(63)}`;
  expect(parseJsonText(text)).toMatchObject({ text, value: nested(63, {}) });
});

describe("parseJsonText names what is wrong, and where:", () => {
  const cases: [title: string, text: string, line: number, column: number, message: RegExp][] = [
    ["an empty text", "", 1, 1, /is empty/],
    ["nothing but a comment", "// nothing\n", 2, 1, /unexpected end of the text/],
    ["half a string", '{\n  "a": "half', 2, 8, /is not closed on its line/],
    ["half a comment", '{\n  "a": 1 /* half\n', 2, 10, /comment is not closed/],
    ["a missing comma", '{\n  "a": 1\n  "b": 2\n}', 3, 3, /a comma is missing/],
    ["a missing colon", '{ "a" 1 }', 1, 7, /a colon is missing/],
    ["a missing value", '{ "a": , "b": 1 }', 1, 8, /a value is missing/],
    ["a trailing comma in an object", '{\n  "a": 1,\n}', 3, 1, /unexpected comma before this }/],
    ["a name without quotes", "{ a: 1 }", 1, 3, /expected a value or a name/],
    ["an unknown word", '{ "a": yes }', 1, 8, /expected a value or a name/],
    ["text after the end", "{}\n{}", 2, 1, /only comments may follow/],
    ["a closing brace for a bracket", '{ "a": [1 }', 1, 11, /a ] is missing before this }/],
    [
      "a merge conflict",
      '{\n  "a": 1,\n<<<<<<< HEAD\n  "b": 1\n=======\n  "b": 2\n>>>>>>> x\n}',
      3,
      1,
      /merge conflict/,
    ],
    ["the rest of a merge conflict", '{\n  "a": 1\n=======\n}', 3, 1, /merge conflict/],
    ["a NUL between values", '{ "a": 1\0 }', 1, 9, /NUL/],
    ["a file full of NUL", "\0".repeat(100), 1, 1, /NUL/],
    ["a tab in a string", '{ "a": "x\ty" }', 1, 10, /control character/],
    ["an unknown escape", '{ "a": "\\x" }', 1, 8, /invalid escape/],
    ["a short unicode escape", '{ "a": "\\u12" }', 1, 8, /four hexadecimal digits/],
    ["a number that is too large", '{ "a": 1e999 }', 1, 8, /^the number at a is too large/],
    [
      "a whole number that would be rounded",
      '{\n  "config": { "svc": /* 9007199254740993 */ { "list": [1, -9007199254740993] } }\n}',
      2,
      59,
      /^the number at config\.svc\.list\.1 would be rounded, .*store it as text/,
    ],
    ["an array at the root", "// x\n  []", 2, 3, /outermost value must be an object/],
    ["a duplicate name", '{\n  "a": 1,\n  "b": 2,\n  "a": 3\n}', 4, 3, /"a" is a duplicate/],
    ["a duplicate name in an inner object", '{ "x": [{ "a": 1, "\\u0061": 1 }] }', 1, 19, /"a" is a duplicate/],
    ["a member called __proto__", '{\n  "a": { "__proto__": {} } }', 2, 10, /__proto__/],
    ["a BOM that does not count as a column", `${bom}{ a }`, 1, 3, /expected a value or a name/],
    ["CRLF line breaks", '{\r\n  "a": 1\r\n  "b": 2\r\n}', 3, 3, /a comma is missing/],
    ["65 levels", `${'{"a":'.repeat(64)}{}${"}".repeat(64)}`, 1, 321, /more than 64 levels/],
    ["4 MB of opening brackets", "[".repeat(4_000_000), 1, 65, /more than 64 levels/],
    ["brackets that jsonc-parser would still nest", "[},".repeat(100_000), 1, 2, /a ] is missing/],
  ];
  test.each(cases)("%s", (_title, text, line, column, message) => {
    const problem = problemOf(text);
    expect(problem?.message).toMatch(message);
    expect(problem).toMatchObject({ name: "JsonTextError", line, column });
  });

  test("4 MB of commas, without an error object for each", () => {
    expect(problemOf(`{${",".repeat(4_000_000)}`)?.message).toBe("a value is missing");
  });
});

test.each([
  ["other ways to write numbers and strings", '{ "a": 1.0, "b": 1e2, "c": -0, "d": "\\u0061\\/" }'],
  ["large numbers that are kept", '{ "a": 9007199254740992, "b": -1e300, "c": 0.12345678901234567890, "d": 1E-7 }'],
  ["digits that are no numbers", '{ "9007199254740993": "9007199254740993" /* 1e999 */ } // 1e999'],
])("rewriteJsonText keeps the text when nothing differs: %s", (_title, text) => {
  const read = parseJsonText(text);
  expect(rewriteJsonText(read, JSON.parse(JSON.stringify(read.value)))).toBe(text);
});

test.each(
  rows(`
    replaces only the value, among comments | { /*1*/ "a" /*2*/ : /*3*/ 1 /*4*/ , // 5␊ "b" : 2 } | { "a": "x", "b": 2 } | { /*1*/ "a" /*2*/ : /*3*/ "x" /*4*/ , // 5␊ "b" : 2 }
    adds an item inline | { "a": [ 1,2 ] } | { "a": [1,2,3] } | { "a": [ 1,2, 3 ] }
    adds the first item inline | {␊  "a": []␊}␊ | { "a": [1] } | {␊  "a": [1]␊}␊
    adds an item behind a comment | {␊  "a": [␊    1, // one␊    2 // two␊  ]␊}␊ | { "a": [1,2,3] } | {␊  "a": [␊    1, // one␊    2, // two␊    3␊  ]␊}␊
    adds items at the start and between others | {␊  "a": [ // all␊    1, // one␊    // own␊    2 // two␊  ]␊}␊ | { "a": [0,1,1.5,2] } | {␊  "a": [ // all␊    0,␊    1, // one␊    1.5,␊    // own␊    2 // two␊  ]␊}␊
    adds items at the start and between others inline | { "a": [ 1, /* x */ 2 ] } | { "a": [0,1,1.5,2] } | { "a": [ 0, 1, 1.5, /* x */ 2 ] }
    writes a list on lines if it gets too long for one | {␊  "a": ["x*40"]␊} | { "a": ["x*40","y*40"] } | {␊  "a": [␊    "x*40",␊    "y*40"␊  ]␊}
    writes a list on lines if it gets too long and an item changes too | {␊  "a": [{ "v": 1 }]␊} | { "a": [{"v":2},"x*80"] } | {␊  "a": [␊    {␊      "v": 2␊    },␊    "x*80"␊  ]␊}
    leaves a comment inside an item of a list that gets too long | { "a": [{ "v": 1 /* x */ }] } | { "a": [{"v":2},"x*80"] } | { "a": [{ "v": 2 /* x */ },␊  "x*80"␊] }
    replaces an item in its place, and removes another with its comment | {␊  "a": [␊    1, // one␊    2, // two␊    3 // three␊  ]␊} | { "a": [5,3] } | {␊  "a": [␊    5, // one␊    3 // three␊  ]␊}
    removes the last item with its comments | {␊  "a": [␊    1, // one␊    // own␊    2 // two␊  ]␊} | { "a": [1] } | {␊  "a": [␊    1 // one␊  ]␊}
    leaves comments above a blank line, before a block comment over an empty line | {␊  "a": [ // all␊    // list␊␊    // own␊    /* two␊␊ more */ // of it␊    1,␊    // three␊␊    3␊  ]␊} | { "a": [] } | {␊  "a": [ // all␊    // list␊␊    // three␊␊  ]␊}
    leaves the comment above two items of a line | {␊  "a": [␊    // both␊    1, 2␊  ]␊} | { "a": [2] } | {␊  "a": [␊    // both␊    2␊  ]␊}
    removes the only item | { "a": [1] } | { "a": [] } | { "a": [] }
    changes an entry of a list by its name | { "a": [{ "name": "x", /* 1 */ "v": 1 }, { "name": "y" }] } | { "a": [{ "name": "y" }, { "name": "z" }] } | { "a": [{ "name": "y" }, { "name": "z" }] }
    changes inside an entry of a list | { "a": [{ "b": [1, /* x */ 2] }, 3] } | { "a": [{ "b": [1, 2, 4] }] } | { "a": [{ "b": [1, /* x */ 2, 4] }] }
    replaces an inline value by an inline one | {␊  "a": null␊}␊ | { "a": {"ready": "x", "image": "y"} } | {␊  "a": { "ready": "x", "image": "y" }␊}␊
    replaces an inline value by several lines if one is too long | {␊    "a": null␊}␊ | { "a": {"ready": "x*40", "image": "y*40"} } | {␊    "a": {␊        "ready": "x*40",␊        "image": "y*40"␊    }␊}␊
    replaces a value of several lines by several lines | {␊  "a": [␊    {}␊  ]␊}␊ | { "a": {"b": 1} } | {␊  "a": {␊    "b": 1␊  }␊}␊
    inserts after the last member, in next's order | {␊  "a": 1␊}␊ | { "c": 3, "a": 1, "b": 2 } | {␊  "a": 1,␊  "c": 3,␊  "b": 2␊}␊
    inserts with tabs and CRLF | {␍␊␉"a": {␍␊␉␉"b": 1␍␊␉}␍␊} | { "a": {"b": 1}, "c": {"d": 2} } | {␍␊␉"a": {␍␊␉␉"b": 1␍␊␉},␍␊␉"c": {␍␊␉␉"d": 2␍␊␉}␍␊}
    inserts with the unit of an inner object | { "x": 1,␊"a": {␊   "b": 1 } } | { "x": 1, "a": {"b": 1}, "c": 2 } | { "x": 1,␊"a": {␊   "b": 1 },␊"c": 2␊}
    inserts after a line comment on the last line | {␊  "a": 1 // note␊}␊ | { "a": 1, "b": 2 } | {␊  "a": 1, // note␊  "b": 2␊}␊
    inserts after block comments on the last line | {␊  "a": 1 /* x */ /* y␊  z */ // w␊}␊ | { "a": 1, "b": 2 } | {␊  "a": 1, /* x */ /* y␊  z */ // w␊  "b": 2␊}␊
    inserts before comments on their own lines | {␊  "a": 1␊␊  // own␊}␊ | { "a": 1, "b": 2 } | {␊  "a": 1,␊  "b": 2␊␊  // own␊}␊
    inserts before a comment in front of the brace | {␊  "a": 1␊/* own */ }␊ | { "a": 1, "b": 2 } | {␊  "a": 1,␊  "b": 2␊/* own */␊}␊
    inserts inline | { "a": 1 } | { "a": 1, "b": [2], "c": {"d": 3} } | { "a": 1, "b": [2], "c": { "d": 3 } }
    inserts inline into an inner object | {␊  "a": { "b": 1 } // note␊}␊ | { "a": {"b": 1, "c": 2} } | {␊  "a": { "b": 1, "c": 2 } // note␊}␊
    inserts on new lines what does not fit inline | { "a": 1 } | { "a": 1, "b": "x*80" } | { "a": 1,␊  "b": "x*80"␊}
    inserts into {} | {} | { "a": 1 } | {␊  "a": 1␊}
    inserts into braces on two lines | {  ␊}␊ | { "a": 1 } | {  ␊  "a": 1␊}␊
    inserts into an inner {}, in the file's style | {␊␉"a": {} // note␊} | { "a": {"b": 1} } | {␊␉"a": {␊␉␉"b": 1␊␉} // note␊}
    inserts into an object that holds a line comment | { // nothing yet␊}␊ | { "a": 1 } | { // nothing yet␊  "a": 1␊}␊
    inserts into an object that holds comments on lines | {␊  // one  ␊  /* two */␊}␊ | { "a": 1 } | {␊  // one  ␊  /* two */␊  "a": 1␊}␊
    inserts into an object that holds a block comment inline | { /* nothing */ } | { "a": 1 } | { /* nothing */␊  "a": 1␊}
    removes a first member with its comment | THREE | { "b": 2, "c": 3 } | {␊  // own␊  "b": 2,␊  "c": 3 // last␊}␊
    removes a middle member with its line and the comment above it | THREE | { "a": 1, "c": 3 } | {␊  "a": 1, // first␊  "c": 3 // last␊}␊
    removes a last member with its comment and the comma before it | THREE | { "a": 1, "b": 2 } | {␊  "a": 1, // first␊  // own␊  "b": 2␊}␊
    leaves a comment about two members | { "a": 1,␊  "b": 2, "c": 3 // both␊} | { "a": 1, "b": 2 } | { "a": 1,␊  "b": 2 // both␊}
    removes all members with their comments | THREE | {} | {}␊
    removes all members when there is no comment | {␊  "a": 1,␊  "b": 2␊}␊ | {} | {}␊
    removes a value with the comments in it | {␊  "a": [ // in␊  ],␊  "c": 3␊}␊ | { "c": 3 } | {␊  "c": 3␊}␊
    removes the last member inline | { "a": 1, "b": 2 } | { "a": 1 } | { "a": 1 }
    removes a member whose comma leads the next line | {␊  "a": 1␊  , "b": 2␊}␊ | { "a": 1 } | {␊  "a": 1␊}␊
    removes the last member on the line of the brace | { "a": 1,␊  "b": 2 } | { "a": 1 } | { "a": 1 }
    removes a member inline with the comments around it | { /* x */ "a": 1 /* y */ } | {} | {}
    removes a first member inline with its comments | { /* x */ "a": 1 /* y */, /* z */ "b": 2 } | { "b": 2 } | { /* z */ "b": 2 }
    removes a last member inline with its comments | { "a": 1 /* x */, /* y */ "b": 2 /* z */ } | { "a": 1 } | { "a": 1 /* x */ }
    removes an item inline with its comments | { "a": [1 /* x */, /* y */ 2 /* z */, 3] } | { "a": [1,3] } | { "a": [1 /* x */, 3] }
    removes the last member, and inserts one | THREE | { "a": 1, "b": 2, "d": 4 } | {␊  "a": 1, // first␊  // own␊  "b": 2,␊  "d": 4␊}␊
    removes the first member, and inserts one | THREE | { "b": 2, "c": 3, "d": 4 } | {␊  // own␊  "b": 2,␊  "c": 3, // last␊  "d": 4␊}␊
    removes a member inline, and inserts one | { "a": 1, "b": 2 } | { "a": 1, "c": 3 } | { "a": 1, "c": 3 }
    removes a member inline, and inserts a long one | { "a": 1, "b": 2 } | { "a": 1, "c": "x*80" } | { "a": 1,␊  "c": "x*80"␊}
    removes all members inline among comments, and inserts a long one | { /* x */ "a": 1 /* y */ } | { "b": "x*80" } | { /* x */ "b": "x*80"␊  /* y */␊}
  `),
)("rewriteJsonText %s", (_title, text = "", next = "", expected) => {
  expect(rewrite(text, JSON.parse(next))).toBe(expected);
});

describe("rewriteJsonText", () => {
  test.each([
    ["a member called __proto__", JSON.parse('{ "a": { "__proto__": 1 } }')],
    ["more than 64 levels", nested(64, {})],
  ])("throws rather than write %s", (_title, next) => {
    expect(() => rewrite("{}", next)).toThrow(/about to be written/);
    expect(() => formatJsonText(next)).toThrow(/about to be written/);
  });

  test("a line with very deep indentation does not make everything that is written as wide", () => {
    const text = `${" ".repeat(100_000)}{ "config": {} }`;
    const items = Array.from({ length: 50 }, (_, index) => ({ name: `N${index}`, value: "v".repeat(80) }));
    const next = { config: { svc: { envvars: items } } };
    const written = rewrite(text, next);
    expect(parseJsonText(written).value).toEqual(next);
    expect(written.length).toBeLessThan(text.length + 400_000);
  });

  const many = Array.from({ length: 20_000 }, (_, index) => index);
  test.each<[title: string, value: JsonObject, next: JsonObject]>([
    ["members", Object.fromEntries(many.map(index => [`m${index}`, 1])), { m7: 2, added: 3 }],
    ["items", { items: many.map(index => [index]) }, { items: many.map(index => [index === 7 ? 2 : index]) }],
  ])("compares thousands of %s in parts, yielding to the event loop between them", async (_title, value, next) => {
    const current = parseJsonText(JSON.stringify(value));
    await using rounds = countingRounds();
    const { text } = await rewriteJsonInParts(current, { ...value, ...next });
    // Two rounds a turn: some turns to scan the text, and one for each 2,000.
    expect(rounds.count).toBeGreaterThanOrEqual(40);
    expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify({ ...value, ...next }));
  });
});

const text = `{"first":1,${"//\n".repeat(300_000)}"last":2}`;
const wide = JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`m${index}`, 1])));

test("a text of 1 MB is scanned, has its members read, and is compared with the next value in parts", async () => {
  expect(inParts(scanningValidText(text)).parts).toBeGreaterThanOrEqual(9);
  const { parts, result } = inParts(TextNode.root(runToEnd(scanningValidText(wide))).readingMembers());
  expect(parts).toBeGreaterThanOrEqual(6);
  expect(result).toHaveLength(60_000);
  await using rounds = countingRounds();
  const next = { first: 1, last: 3 };
  const { value } = await rewriteJsonInParts(parseJsonText(text), next);
  expect(value).toEqual(next);
  expect(rounds.count).toBeGreaterThanOrEqual(100);
});

describe("formatJsonText writes", () => {
  const long = JSON.stringify(Array.from({ length: 16 }, (_, index) => `item${index}`));
  test.each(
    rows(`
    an empty object | {} | {}␊
    scalars | {"a":null,"b":true,"c":1.5,"d":"x\\"\\n"} | {␊  "a": null,␊  "b": true,␊  "c": 1.5,␊  "d": "x\\"\\n"␊}␊
    short arrays of scalars on one line | {"a":["x",1]} | {␊  "a": ["x", 1]␊}␊
    long arrays on several lines | {"a":${long}} | {␊  "a": [␊    ${long.slice(1, -1).replaceAll(",", ",␊    ")}␊  ]␊}␊
    an array of exactly 80 characters on one line | {"a":["x*76"]} | {␊  "a": ["x*76"]␊}␊
    an array of 81 characters on several | {"a":["x*77"]} | {␊  "a": [␊    "x*77"␊  ]␊}␊
    arrays of objects on several lines | {"a":[{"b":1}]} | {␊  "a": [␊    {␊      "b": 1␊    }␊  ]␊}␊
  `),
  )("%s", (_title, value = "", expected = "") => {
    expect(formatJsonText(JSON.parse(value))).toBe(expected);
    expect(parseJsonText(expected).value).toStrictEqual(JSON.parse(value));
  });

  test("no members that are undefined", () => {
    const value = JSON.parse('{ "a": 1, "b": { "c": 2 } }');
    value.a = undefined;
    value.b.c = undefined;
    expect(formatJsonText(value)).toBe('{\n  "b": {}\n}\n');
  });
});

describe("for any text and any next value", () => {
  const seed = 20_260_101;

  test("the new text reads as next, and keeps all comments outside removed values", () => {
    fc.assert(
      fc.property(sources, objects, picks, ({ text, comments, value }, other, pick) => {
        const next = mix(value, other, cycle(pick));
        if (!isJsonObject(next)) throw new Error("A mix of objects is an object");
        const rewritten = rewrite(text, next);
        const read = parseJsonText(rewritten);
        expect(JSON.stringify(sorted(read.value))).toBe(JSON.stringify(sorted(next)));
        const kept = new Set(commentsOf(rewritten));
        const inOrder = comments.filter(comment => kept.has(comment.text)).map(comment => comment.text);
        expect(commentsOf(rewritten)).toStrictEqual(inOrder);
        const lost = comments.filter(comment => !kept.has(comment.text));
        expect(
          lost.filter(({ path, beside, above }) => ![path, beside, above].some(one => isChanged(value, next, one))),
        ).toEqual([]);
        expect(rewritten.startsWith(bom)).toBe(text.startsWith(bom));
        expect(rewriteJsonText(read, next)).toBe(rewritten);
      }),
      { numRuns: amount(1_000, 3_000), seed },
    );
  });

  test("the text stays unchanged when nothing differs, and a new file reads as its value", () => {
    fc.assert(
      fc.property(sources, ({ text, value }) => {
        const read = parseJsonText(text);
        expect(JSON.stringify(read.value)).toBe(JSON.stringify(value));
        expect(rewriteJsonText(read, value)).toBe(text);
        expect(JSON.stringify(parseJsonText(formatJsonText(value)).value)).toBe(JSON.stringify(value));
      }),
      { numRuns: 1000, seed },
    );
  });
});

/** `inner` wrapped in this many objects. */
function nested(levels: number, inner: JsonObject): JsonObject {
  let value = inner;
  for (let level = 0; level < levels; level += 1) value = { a: value };
  return value;
}

// -- Random values, and random texts of them -------------------------------------------------------------------------

const names = fc.constantFrom("a", "b", "c", "d", "", "constructor", "valueOf", "é", "\ud800", "x\ny");
const someScalars = [null, true, 0, 1, -2.5, 1e21, "", "x", "/*", "\udc00", "//", "}", "long".repeat(15)];
const scalars: fc.Arbitrary<JsonValue> = fc.constantFrom(...someScalars);
const objects: fc.Arbitrary<JsonObject> = fc.letrec<{ value: JsonValue; object: JsonObject }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    scalars,
    tie("object"),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
  object: fc.dictionary(names, tie("value"), { maxKeys: 5, noNullPrototype: true }),
})).object;

const picks = fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 12 });

/** What stands between two tokens; `#` becomes the number of the comment, so that each can be found again. */
const someGaps = "|| | |␊|␊  |␍␊␉|␍|␉| // #␊|// #  ␍␊|//#\u00a0␍| /* # */ |/*#*/|␊  /* #␊ */|␊␊ // #␊  ".split("|");
const gaps = fc.array(fc.constantFrom(...someGaps.map(plain)), { minLength: 1, maxLength: 15 });

interface Source {
  text: string;
  value: JsonObject;
  /** Each comment with the path of the innermost value that contains it, of the value that ended before it, and of the one below it. */
  comments: { text: string; path: string[]; beside: string[]; above: string[] }[];
}

const sources: fc.Arbitrary<Source> = fc.tuple(objects, gaps, fc.boolean()).map(([value, gapTexts, withBom]) => {
  const nextGap = cycle(gapTexts);
  const comments: Source["comments"] = [];
  let text = "";
  let beside: string[] = [];
  const gap = (path: string[], above = path) => {
    const found = nextGap().replace("#", String(comments.length));
    text += found;
    const comment = /\/\*[\s\S]*\*\/|\/\/[^\r\n]*/.exec(found);
    if (comment !== null) comments.push({ text: comment[0], path, beside, above });
  };
  const write = (written: JsonValue, path: string[]) => {
    if (typeof written !== "object" || written === null) {
      text += JSON.stringify(written);
      return;
    }
    const isObject = isJsonObject(written);
    text += isObject ? "{" : "[";
    for (const [index, [name, inner]] of Object.entries(written).entries()) {
      if (index > 0) text += ",";
      gap(path, [...path, name]);
      if (isObject) {
        text += JSON.stringify(name);
        beside = [...path, name];
        gap(path);
        text += ":";
        gap(path);
      }
      write(inner, [...path, name]);
      beside = [...path, name];
      // The comma may lead the next line.
      gap(path, [...path, Object.keys(written)[index + 1] ?? name]);
    }
    if (Object.keys(written).length === 0) gap(path);
    text += isObject ? "}" : "]";
  };
  gap([]);
  write(value, []);
  gap([]);
  return { text: (withBom ? bom : "") + text, value, comments };
});

function cycle<Item>(items: readonly Item[]): () => Item {
  let index = 0;
  return () => {
    const item = items[index % items.length];
    if (item === undefined) throw new Error("There must be an item");
    index += 1;
    return item;
  };
}

/** The old value with members and elements kept, changed, removed and added, according to the picks. */
function mix(old: JsonValue, other: JsonValue, pick: () => number): JsonValue {
  if (isJsonObject(old) && isJsonObject(other)) {
    const result: Record<string, JsonValue> = {};
    for (const name of new Set([...Object.keys(old), ...Object.keys(other)])) {
      const chosen = pick();
      const before = Object.hasOwn(old, name) ? old[name] : undefined;
      const after = Object.hasOwn(other, name) ? other[name] : undefined;
      if (before === undefined && after !== undefined && chosen < 3) result[name] = after;
      if (before !== undefined && chosen < 3) result[name] = before;
      if (before !== undefined && chosen >= 4) result[name] = mix(before, after ?? other, pick);
    }
    return result;
  }
  if (Array.isArray(old) && pick() > 1) return old.map(element => mix(element, other, pick));
  return pick() > 2 ? old : other;
}

/** Whether the value at the path, or one around it, was removed or replaced, or is in a list that changed. */
function isChanged(old: JsonValue, next: JsonValue | undefined, path: readonly string[]): boolean {
  if (next === undefined) return true;
  if (isJsonObject(old) !== isJsonObject(next) || Array.isArray(old) !== Array.isArray(next)) return true;
  if (Array.isArray(old) && !sameJson(old, next)) return true;
  const [name, ...rest] = path;
  if (name === undefined) return false;
  const innerOld = memberOf(old, name);
  return innerOld === undefined || isChanged(innerOld, memberOf(next, name), rest);
}

function memberOf(value: JsonValue, name: string): JsonValue | undefined {
  if (Array.isArray(value)) return value[Number(name)];
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, sorted(member)])
      .sort(),
  );
}

function withoutBom(text: string): string {
  return text.startsWith(bom) ? text.slice(1) : text;
}

function commentsOf(text: string): string[] {
  const comments: string[] = [];
  const body = withoutBom(text);
  visit(body, { onComment: (offset, length) => comments.push(body.slice(offset, offset + length)) });
  return comments;
}
