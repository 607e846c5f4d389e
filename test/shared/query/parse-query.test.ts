import { describe, expect, test } from "vitest";
import { RepoconfError } from "../../../shared/errors.ts";
import { parseQuery } from "../../../shared/query/parse-query.ts";
import { matchesPart, matchesWhole, textPattern } from "../../../shared/query/text-pattern.ts";

const now = Date.parse("2026-11-22T12:00:00Z");
const parse = (text: string) => parseQuery(text, now);
const field = (name: string, value: object) => {
  return { kind: "field", isNot: false, name: { pieces: [name] }, typed: name, isWhole: true, value };
};
const word = (text: string, isNot = false) => ({ kind: "word", isNot, text });

function refusal(text: string): RepoconfError {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof RepoconfError) return error;
  }
  throw new Error(`${text} is taken`);
}

describe("a query", () => {
  test("consists of words, filters and keys, each negated by a leading -", () => {
    expect(parse("Shop  -attic field:svc.timeout=900 modified -broken by:ci since:24h -repo:web*")).toEqual([
      word("shop"),
      word("attic", true),
      field("svc.timeout", { text: { pieces: ["900"] }, json: "900" }),
      { kind: "modified", isNot: false },
      { kind: "broken", isNot: true },
      { kind: "by", isNot: false, name: { pieces: ["ci"] } },
      { kind: "since", isNot: false, time: now - 86_400_000 },
      { kind: "repo", isNot: true, name: { pieces: ["web", ""] } },
    ]);
  });

  test.each<[title: string, query: string, words: readonly string[]]>([
    ["blanks between quotes belong to a word", '"two words" three', ["two words", "three"]],
    ["two quotes within quotes are one quote", '"say ""hi"""', ['say "hi"']],
    ["a quote inside a word is an ordinary character", 'curl"x', ['curl"x']],
    ["a backslash is an ordinary character", '"c:\\work dir\\"', ["c:\\work dir\\"]],
    ["an unknown key is a word", "nginx:1.27 http://x", ["nginx:1.27", "http://x"]],
    ["a filter in quotes is a word", '"modified" "@broken"', ["modified", "@broken"]],
    ["a key in quotes is a word", '"repo:web"', ["repo:web"]],
    ["a dash in quotes, alone, or in a word is an ordinary character", '"-f" - a-b', ["-f", "-", "a-b"]],
    ["a repeated word counts once", "a A a", ["a"]],
    ["empty quotes are ignored", '"" -"" a', ["a"]],
    ["it may be empty", " \t ", []],
    ["parentheses and 'or' are words", "(a or b)", ["(a", "or", "b)"]],
  ])("%s", (_title, query, words) => {
    expect(parse(query)).toEqual(words.map(text => word(text)));
  });

  test("accepts @modified and @broken, keys in any case, quotes in their values, and JSON however it is formatted", () => {
    expect(parse("@Modified MODIFIED @broken")).toEqual(parse("modified broken"));
    expect(parse('BY:"Release Bot" Field:svc.domain="a b*" field:"svc.default"=""')).toEqual([
      { kind: "by", isNot: false, name: { pieces: ["release bot"] } },
      field("svc.domain", { text: { pieces: ["a b*"] } }),
      field("svc.default", { text: { pieces: [""] } }),
    ]);
    expect(parse('field:x={"b":[1],"a":2.0}')).toMatchObject([{ value: { json: '{"a":2,"b":[1]}' } }]);
  });

  test.each([
    ["30m", "2026-11-22T11:30:00Z"],
    ["24H", "2026-11-21T12:00:00Z"],
    ["7d", "2026-11-15T12:00:00Z"],
    ["2026-11-21", "2026-11-21T00:00:00Z"],
    ["2026-11-21T03:18:02.960Z", "2026-11-21T03:18:02.960Z"],
    ["2026-11-21T03:18+01:00", "2026-11-21T02:18:00Z"],
  ])("since:%s starts at %s", (text, time) => {
    expect(parse(`since:${text}`)).toEqual([{ kind: "since", isNot: false, time: Date.parse(time) }]);
  });

  test.each<[query: string, at: number, length: number, says: string, instead: string]>([
    ['a "two words', 2, 10, "the quote is not closed", '"two words"'],
    ['"a"b', 0, 4, "expected a space after the closing quote", '"a" '],
    ["x field:", 2, 6, "field: needs a value", "field:svc.timeout"],
    ["field:=1", 0, 8, "field: needs a value", "field:svc.timeout"],
    ["-by:", 0, 4, "by: needs a value", "by:owner"],
    ["repo: web", 0, 5, "repo: needs a value", "repo:web*"],
    ["field:a.b=", 0, 10, "expected a value after =", 'field:a.b=""'],
    ["since:yesterday", 0, 15, "since: needs days", "since:7d"],
    ["since:2026-02-30", 0, 16, "since: needs days", "since:7d"],
    ["since:2026-11-21T25:00Z", 0, 23, "since: needs days", "since:7d"],
  ])(
    "with a syntax error is refused with its position and what to write instead: %s",
    (query, at, length, says, instead) => {
      const { code, message, details } = refusal(query);
      expect([code, details]).toEqual([1101, { at, length, instead: expect.stringContaining(instead) }]);
      expect(message).toContain(`character ${at + 1} `);
      expect(message).toContain(says);
      expect(message).toContain(instead);
    },
  );

  test("has at most 20 different terms of at most 256 characters each, of any kind", () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => `-repo:r${at}`).join(" ");
    expect(parse(`${many(20)} modified @broken`)).toHaveLength(22);
    expect(refusal(many(21))).toMatchObject({ code: 1107, details: { given: 21, limit: 20 } });
    for (const long of [`"${"x".repeat(257)}"`, `by:${"x".repeat(257)}`, `field:a=${"x".repeat(257)}`])
      expect(refusal(long)).toMatchObject({ code: 1107, details: { given: 257, limit: 256 } });
  });
});

describe("a pattern", () => {
  test.each([
    ["web", "Web", true],
    ["web", "web1", false],
    ["web*", "WEB-1", true],
    ["*web", "my-web", true],
    ["a*c", "abc", true],
    ["a*c", "ac", true],
    ["a*bc*c", "abc", false],
    ["a*b*a", "aba", true],
    ["a*a", "a", false],
    ["*", "", true],
    ["a**b", "ab", true],
    ["a.c", "abc", false],
  ])("%s matches all of %s: %s", (pattern, text, expected) => {
    expect(matchesWhole(textPattern(pattern), text)).toBe(expected);
  });

  test("treats stars in quotes as ordinary characters, and matches a part of the text without stars", () => {
    expect(matchesWhole(textPattern("a*", true), "a*")).toBe(true);
    expect(matchesWhole(textPattern("a*", true), "ab")).toBe(false);
    expect(matchesPart(textPattern("proxy"), "svc.proxy_http")).toBe(true);
    expect(matchesPart(textPattern("proxy*"), "svc.proxy_http")).toBe(false);
    expect(matchesPart(textPattern("*proxy*"), "svc.proxy_http")).toBe(true);
  });
});
