import { expect, test } from "vitest";
import { hashOfValue } from "../../../main/store/values/trusted-values.ts";

test("a value is hashed once, however often its file is checked", () => {
  let reads = 0;
  const value = {
    get image() {
      reads += 1;
      return "node:24";
    },
  };
  const hash = hashOfValue(value);
  expect(hashOfValue(value)).toBe(hash);
  expect(reads).toBe(1);
  expect(hashOfValue({ image: "node:24" })).toBe(hash);
  expect(hashOfValue("node:24")).not.toBe(hash);
});
