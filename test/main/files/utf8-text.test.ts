import { expect, test } from "vitest";
import { plainText } from "../../../main/files/utf8-text.ts";

test.each<[string, Buffer, RegExp]>([
  ["UTF-16, little endian", Buffer.from("\uFEFFé", "utf16le"), /not UTF-8 text but UTF-16/],
  ["UTF-16, big endian", Buffer.from("\uFEFFé", "utf16le").swap16(), /not UTF-8 text but UTF-16/],
  ["UTF-16 without a mark", Buffer.from("text", "utf16le"), /contains a NUL byte/],
  ["Latin-1", Buffer.from("one\ntwo caf\u00e9", "latin1"), /byte 0xe9 in line 2, as in Latin-1/],
  ["Latin-1 behind U+FFFD", Buffer.from([0xef, 0xbf, 0xbd, 10, 0xfd]), /byte 0xfd in line 2/],
  ["a cut character", Buffer.from("é").subarray(0, 1), /byte 0xc3 in line 1/],
])("%s is told apart", (_title, bytes, told) => {
  expect(() => plainText(bytes)).toThrow(told);
  expect(plainText(Buffer.from("\uFEFFé\u{1f600}\uFFFD"))).toBe("\uFEFFé\u{1f600}\uFFFD");
});
