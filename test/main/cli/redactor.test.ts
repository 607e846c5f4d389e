import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Redactor } from "../../../main/cli/system/redactor.ts";

const mask = "••••••";
const key = "-----BEGIN KEY-----\nMIIabcdefgh\nab\n-----END KEY-----\n";

function redact(secrets: readonly string[], ...parts: readonly (string | Uint8Array)[]): string {
  const redactor = new Redactor(secrets);
  return Buffer.concat([...parts.map(part => redactor.push(Buffer.from(part))), redactor.end()]).toString();
}

describe("masking secrets in output", () => {
  test.each<[title: string, secrets: readonly string[], parts: readonly string[], shown: string]>([
    ["a secret, wherever it is", ["hush"], ["hush", "-", "hush\nhush"], `${mask}-${mask}\n${mask}`],
    ["one in two parts", ["hush-hush"], ["a hush", "-hu", "sh b"], `a ${mask} b`],
    ["the longer of two that begin alike", ["hush", "hush-hush"], ["hush", "-hush hush-hux"], `${mask} ${mask}-hux`],
    ["all of two that overlap, at once", ["abcd", "cdef"], ["-abcd", "ef-"], `-${mask}-`],
    ["one that repeats itself", ["aaaa"], ["aaa", "aaaa", "aa aaa"], `${mask} aaa`],
    ["one that JSON writes otherwise", ['a"b\\c'], [`{"a":"a\\"b\\\\c"}`], `{"a":"${mask}"}`],
    ["a text of several lines", [key], [`<${key}>`], `<${mask}\n>`],
    ["its lines, without a short one", [key], ["  MIIabcdefgh\n  ab"], `  ${mask}\n  ab`],
    ["nothing of an empty or short one", ["", "abc"], ["abc"], "abc"],
    ["what only begins like one", ["hush"], ["hus", "t hu"], "hust hu"],
    ["letters of two bytes", ["grün!"], ["es ist grü", "n! hier"], `es ist ${mask} hier`],
  ])("masks %s", (_title, secrets, parts, shown) => {
    expect(redact(secrets, ...parts)).toBe(shown);
  });

  test("how the output is cut into parts makes no difference, no secret is left, and without one nothing changes", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "ä", "\n", " "), maxLength: 60 });
    const secret = fc.string({ unit: fc.constantFrom("a", "b", "ä"), minLength: 4, maxLength: 6 });
    fc.assert(
      fc.property(fc.array(secret, { maxLength: 3 }), text, fc.array(fc.nat(60)), (secrets, whole, cuts) => {
        const bytes = Buffer.from(whole);
        const places = [0, ...cuts.map(cut => Math.min(cut, bytes.length)), bytes.length].sort((a, b) => a - b);
        const parts = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        const shown = redact(secrets, whole);
        expect(redact(secrets, ...parts)).toBe(shown);
        for (const one of secrets) expect(shown).not.toContain(one);
        if (!secrets.some(one => whole.includes(one))) expect(shown).toBe(whole);
      }),
    );
  });

  test("holds back no more than the beginning of a secret", () => {
    const redactor = new Redactor(["hush"]);
    expect(redactor.push(Buffer.from("Password: ")).toString()).toBe("Password: ");
    expect(redactor.push(Buffer.from("hu")).toString()).toBe("");
    expect(redactor.push(Buffer.from("m")).toString()).toBe("hum");
  });
});
