import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { reportPromise } from "../helpers/promise.ts";

test("R14 a bug once fixed stays dead: every file of test/regression holds tests, and none is left out", async () => {
  const folder = join(import.meta.dirname, "../regression");
  const names = (await readdir(folder)).sort();
  const wrong: string[] = [];
  let tests = 0;
  for (const name of names) {
    const text = await readFile(join(folder, name), "utf8");
    const found = text.match(/^\s*test(\.each\([\s\S]*?\)|\.skipIf\(.*?\))*\(/gm) ?? [];
    tests += found.length;
    if (!name.endsWith(".test.ts")) wrong.push(`${name} is run by nobody`);
    else if (found.length === 0) wrong.push(`${name} holds no test`);
    if (/\b(test|describe)(\.\w+)*\.(skip|only|todo|fails)\b/.test(text)) wrong.push(`${name} leaves something out`);
    if (!/\bexpect\b/.test(text)) wrong.push(`${name} expects nothing`);
  }
  reportPromise({ row: "R14", tried: tests, failed: wrong.length, note: `${names.length} files; npm test runs them` });
  expect(names.length).toBeGreaterThan(0);
  expect(wrong).toEqual([]);
});
