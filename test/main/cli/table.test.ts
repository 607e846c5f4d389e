import { stripVTControlCharacters } from "node:util";
import { expect, test, vi } from "vitest";
import { layOutTable } from "../../../main/cli/output/table.ts";
import { printTable } from "../../../main/cli/output/terminal.ts";

const header = ["FIELD", "TAKES", "DESCRIPTION"];
const rows = [
  ["svc.proxy_https_redirect", "boolean", "Whether the proxy sends plain HTTP requests on to HTTPS"],
  ["svc.timeout", "integer from 0 to 86400", "Seconds"],
];

test("a table that fits has a line for each row", () => {
  expect(layOutTable(header, rows).map(lines => lines.length)).toEqual([1, 1, 1]);
  expect(layOutTable(header, rows, 200)).toEqual(layOutTable(header, rows));
});

test.each([100, 80, 60])("in a terminal of %i columns no line is wider, and nothing is omitted", width => {
  const table = layOutTable(header, rows, width);
  for (const line of table.flat()) expect(line.length).toBeLessThanOrEqual(width);
  for (const [index, row] of [header, ...rows].entries()) {
    const words = (table[index] ?? []).flatMap(line => line.split(/\s+/)).filter(word => word !== "");
    expect(words.sort()).toEqual(row.flatMap(cell => cell.split(" ")).sort());
  }
});

test("the subject of a row is never split, as people copy it into the next command", () => {
  for (const width of [60, 40, 10])
    expect(layOutTable(header, rows, width)[1]?.[0]).toContain("svc.proxy_https_redirect");
});

test("a path is never split, as people copy it", () => {
  const path = "/home/somebody/my work/a-shop";
  expect(layOutTable(["A", "FOLDER"], [["shop", path]], 20)[1]).toEqual([`shop  ${path}`]);
});

test("a word that is longer than its column is split, but not within a character", () => {
  const [, lines = []] = layOutTable(["A", "B"], [["a", `${"x".repeat(11)}${"😀".repeat(10)}`]], 15);
  expect(lines.map(line => line.slice(3)).join("")).toBe(`${"x".repeat(11)}${"😀".repeat(10)}`);
  for (const line of lines) expect(line.isWellFormed()).toBe(true);
});

test("JSON that is longer than its column is split behind a comma", () => {
  const [, lines = []] = layOutTable(["A", "B"], [["a", '["www.shop.test","api.shop.test"]']], 25);
  expect(lines).toEqual(['a  ["www.shop.test",', '   "api.shop.test"]']);
});

test.each([
  ["a terminal limits the width", true, 60, true],
  ["a terminal without a known width does not", true, 0, false],
  ["a pipe does not, and gets each row as one line", false, 60, false],
])("%s", (_, isTTY, columns, fits) => {
  using _terminal = pretend({ isTTY, columns });
  let printed = "";
  using _write = vi.spyOn(process.stdout, "write").mockImplementation(text => {
    printed += String(text);
    return true;
  });
  printTable(header, rows);
  const lines = stripVTControlCharacters(printed).trimEnd().split("\n");
  expect(Math.max(...lines.map(line => line.length)) <= 60).toBe(fits);
  if (!isTTY) expect(lines).toEqual(rows.map(row => row.join("\t")));
});

/** Replaces properties of standard output. */
function pretend(properties: { readonly isTTY: boolean; readonly columns: number }): Disposable {
  const names = ["isTTY", "columns"] as const;
  const before = names.map(name => Object.getOwnPropertyDescriptor(process.stdout, name));
  for (const name of names)
    Object.defineProperty(process.stdout, name, { value: properties[name], configurable: true, writable: true });
  return {
    [Symbol.dispose]: () => {
      for (const [index, name] of names.entries()) {
        const descriptor = before[index];
        if (descriptor === undefined) Reflect.deleteProperty(process.stdout, name);
        else Object.defineProperty(process.stdout, name, descriptor);
      }
    },
  };
}
