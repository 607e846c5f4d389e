import fc from "fast-check";
import { expect, test } from "vitest";
import { linearPattern } from "../../../shared/schema/linear-pattern.ts";
import { OutOfStepsError, SpareSteps, StepBudget } from "../../../shared/schema/step-budget.ts";
import { randomNumbers } from "../../helpers/random.ts";

function stepsOf(source: string, text: string): { readonly matches: boolean; readonly steps: number } {
  const budget = new StepBudget(1, new SpareSteps());
  const matches = linearPattern(source).test(text, budget);
  return { matches, steps: budget.taken };
}

test.each([
  ["^v[0-9]+(\\.[0-9]+){2}$", ["v1.2.3"], ["v1.2", "v1.2.3\n"]],
  ["^\\w+$", ["a_1"], ["\u00e9", "\u017f"]],
  ["^\\s$", ["\u00a0", "\ufeff", "\u2028", "\v"], ["\u180e", "\u0085"]],
  ["^(?<year>\\d{4})-(?:0[1-9]|1[0-2])$", ["2026-11"], ["2026-13"]],
  ["^\\/\\u0061\\u{62}\\x63\\cJ\\0[\\b\\-]$", ["/abc\n\0\b", "/abc\n\0-"], ["/abc"]],
  ["^a{2,}b{0,3}?c*?$", ["aa", "aabbbcc"], ["a", "aabbbb"]],
  ["^\\p{Lu}[\\p{L}\\d]*$", ["\u00c9t\u00e91"], ["a", "A-"]],
  ["^\\p{Script=Greek}+$", ["\u03b1\u03b2"], ["a"]],
  ["^\\p{IDS_Binary_Operator}$", ["\u2ff0"], ["a"]],
  ["^[\\]a]{2}$", ["]a"], ["\\a"]],
  ["^(?:a{0}b{2,}){1,2}c+$", ["bbc", "bbbbcc"], ["abbc", "bc", "bb"]],
])("%s means the same as in JavaScript", (source, matching, others) => {
  const native = new RegExp(source, "u");
  for (const text of matching)
    expect([text, stepsOf(source, text).matches, native.test(text)]).toEqual([text, true, true]);
  for (const text of others)
    expect([text, stepsOf(source, text).matches, native.test(text)]).toEqual([text, false, false]);
});

test.each([
  ["(", /it is not a valid regular expression \(/],
  ["^(?=a)b", /lookahead and lookbehind/],
  ["(?!a)b", /lookahead and lookbehind/],
  ["(?<=a)b", /lookahead and lookbehind/],
  ["(?<!a)b", /lookahead and lookbehind/],
  ["(a)\\1", /backreferences/],
  ["(?<n>a)\\k<n>", /backreferences/],
  ["a{1,2048}", /more than 1,000 times/],
  ["(?:a{100}){100}", /too large/],
  ["(?i:a)", /inline flags/],
  [`${"(".repeat(101)}a${")".repeat(101)}`, /nested too deeply/],
  [`${"[\\p{L}x]".repeat(41)}`, /more than 40 classes/],
])("%s is rejected with the reason", (source, reason) => {
  expect(() => linearPattern(source)).toThrow(reason);
});

test("a pattern prone to backtracking takes steps in proportion to the length of the text", () => {
  const weak = "^(([a-z0-9]+)+\\.?)+$";
  const short = stepsOf(weak, `${"a".repeat(12)}!`);
  expect(short.matches).toBe(false);
  expect(short.steps).toBeGreaterThan(12);
  const long = stepsOf(weak, `${"a".repeat(12_000)}!`);
  expect(long.matches).toBe(false);
  // Every character was counted.
  expect(long.steps).toBeGreaterThan(12_000);
  expect(long.steps / short.steps).toBeLessThan(1_001);
});

test("states computed for the first time count at their real cost, and cached states cost little", () => {
  const hosts = linearPattern("^([a-z0-9-]+\\.)+[a-z]{2,63}$");
  const take = (text: string) => {
    const budget = new StepBudget(1, new SpareSteps());
    expect(hosts.test(text, budget)).toBe(true);
    return budget.taken;
  };
  const [first, again] = [take("machine-1.example.com"), take("machine-1.example.com")];
  expect(first).toBeGreaterThan(10 * 35);
  expect(again).toBeLessThan(40);
  // A thousand names of the same form: their common states are computed once.
  let all = 0;
  for (let index = 0; index < 1_000; index++) all += take(`machine-${index}.example.com`);
  expect(all / 1_000).toBeLessThan(60);

  // Each character leads to a new state, because the preceding characters matter.
  const always = linearPattern("(?:a[ab]{300}b)$");
  const random = randomNumbers(1);
  const text = Array.from({ length: 50_000 }, () => (random(2) === 0 ? "a" : "b")).join("");
  expect(() => always.test(text, new StepBudget(1, new SpareSteps()))).toThrow(OutOfStepsError);
  // Each new state checks about 150 instructions; one takes twice as long as a character with a cached state.
  const budget = new StepBudget(1, new SpareSteps());
  always.test(text.slice(-2_000), budget);
  expect(budget.taken / 2_000).toBeGreaterThan(250);
});

test("a new character costs steps for each set of the pattern, a known one does not", () => {
  const pattern = linearPattern(
    Array.from({ length: 500 }, (_, index) => `[^\\u{${(0x4000 + index).toString(16)}}]`).join(""),
  );
  const stepsFor = (text: string) => {
    const budget = new StepBudget(1, new SpareSteps());
    pattern.test(text, budget);
    return budget.taken;
  };
  expect(stepsFor("a")).toBeGreaterThan(5_000);
  expect(stepsFor("a")).toBeLessThan(100);
});

test("repeats nested in repeats do not multiply", () => {
  const source = `${"(?:".repeat(60)}a${"+)".repeat(60)}+$`;
  const { matches, steps } = stepsOf(source, `${"a".repeat(1_000)}`);
  expect(matches).toBe(true);
  expect(steps).toBeLessThan(3_000);
});

test.each([
  "(?:a{1000}){1000}",
  "(?:(?:(?:a{0,99}){0,99}){0,99}){0,99}",
  `(?:${"(?:ab|c)?".repeat(200)}){50}`,
  "a".repeat(20_000),
])("a pattern that needs too many instructions is rejected before it is compiled: %.40s", source => {
  expect(() => linearPattern(source)).toThrow("it is too large");
});

const atom = fc.constantFrom(
  ..."ab.^$",
  ..."\\d \\D \\w \\W \\s \\S \\b \\B \\/ \\n \\x5f \\p{L} \\P{Lu} \\ud83d \\u{1f600} \\ud83d\\ude00".split(" "),
  ..."[a-f] [^a-f\\d] [\\s_] [\\b\\]b] [] [^] \u00e9 \u{1f600}".split(" "),
);
const quantifier = fc.constantFrom("", "", "*", "+", "?", "{2}", "{0}", "{1,3}", "{2,}?");
const isRepeatable = (text: string) => !["^", "$", "\\b", "\\B"].includes(text);
const term = fc.tuple(atom, quantifier).map(([text, times]) => (isRepeatable(text) ? text + times : text));
const sequence = fc.array(term, { maxLength: 4 }).map(terms => terms.join(""));
const alternatives = (part: fc.Arbitrary<string>) =>
  fc.array(part, { minLength: 1, maxLength: 3 }).map(parts => parts.join("|"));
const opening = fc.constantFrom("(", "(?:", "(?<name>");
const group = fc
  .tuple(opening, alternatives(sequence), quantifier)
  .map(([begin, inner, times]) => `${begin}${inner})${times}`);
const anyPattern = fc.tuple(alternatives(sequence), group, sequence).map(parts => parts.join(""));
/** Short, because some of these patterns take the native engine very long. */
const anyText = fc
  .array(fc.constantFrom(..."abfg1_ \n/\r]\b\u00e9\u2028\u017f\u{1f600}", "\ud800", "\ud83d"), { maxLength: 8 })
  .map(parts => parts.join(""));

test("any pattern of these parts means the same as in JavaScript for any short text", () => {
  const property = fc.property(anyPattern, fc.array(anyText, { minLength: 10, maxLength: 10 }), (source, texts) => {
    const native = new RegExp(source, "u");
    const pattern = linearPattern(source);
    const test = (one: string) => pattern.test(one, new StepBudget(1, new SpareSteps()));
    for (const one of texts) {
      // Node's engine also looks for \B between the two halves of a character, where the standard does not.
      if (source.includes("\\B") && one.includes("\u{1f600}")) continue;
      expect([one, test(one)]).toEqual([one, native.test(one)]);
    }
  });
  fc.assert(property, { seed: 20_261_121, numRuns: 500 });
});
