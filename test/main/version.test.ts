import { expect, test } from "vitest";
import { isOlder } from "../../main/version.ts";

test.each([
  ["0.9.0", "0.10.0", true],
  ["1.2.3", "1.2.4", true],
  ["1.0.0", "1.0.0", false],
  ["1.0.0", "1.0.0-beta.1", false],
  ["2.0.0", "1.9.9", false],
  ["no version", "1.0.0", false],
])('the version "%s" of a running daemon is older than "%s": %s', (version, other, expected) => {
  expect(isOlder(version, other)).toBe(expected);
});
