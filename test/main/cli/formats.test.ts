import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import dotenv from "dotenv";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Fields } from "../../../main/cli/connect/fields.ts";
import { formatEnvironment, variableName } from "../../../main/cli/environment/formats.ts";
import { assignToFields } from "../../../main/cli/import/assign-variables.ts";
import { readDotenv } from "../../../shared/import/read-dotenv.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const text: FieldSchema = { type: "string", default: "" };
const anything: FieldSchema = { default: null };

const mark = "# repoconf export --format env: SVC_TIMEOUT is the field svc.timeout\n";

/** Formats values of fields that all have the same schema. */
function format(values: { readonly [path: string]: JsonValue }, schema: FieldSchema = text) {
  const fields: Fields = new Map(Object.keys(values).map(path => [path, schema]));
  return { fields, ...formatEnvironment(new Map(Object.entries(values)), fields) };
}

/** Reads what `formatEnvironment` writes. */
function readEnvironment(lines: string, fields: Fields, ignoreUnknown: boolean) {
  const { values, problems } = assignToFields(readDotenv(lines), fields, ignoreUnknown);
  return { values, problems };
}

/** Texts of characters that affect quoting, and some others. */
const difficultText = fc.string({
  unit: fc.constantFrom(..."'\"`$#\\ \n\tn!=;&(){}*~aZ0é😀\u2028".split(/(?:)/u), "\r", "$(x)", "\\n"),
});

describe("values as lines of an env file", () => {
  test("a variable is the scope and the field in upper case, every other character an underscore", () => {
    expect(variableName("svc.proxy_http")).toBe("SVC_PROXY_HTTP");
    expect(variableName("my-scope.a.b-c")).toBe("MY_SCOPE_A_B_C");
  });

  test("numbers and booleans are written as they are, texts and everything else in quotes", () => {
    const types = { number: "integer", on: "boolean", text: "string", list: "array" };
    const fields: Fields = new Map(Object.entries(types).map(([name, type]) => [`t.${name}`, { type, default: null }]));
    const values = { "t.number": 30, "t.on": true, "t.text": "it's", "t.list": ["it's"] };
    expect(formatEnvironment(new Map(Object.entries(values)), fields)).toEqual({
      text: `${mark}T_NUMBER=30\nT_ON=true\nT_TEXT="it's"\nT_LIST='["it\\u0027s"]'\n`,
      problems: [],
    });
  });

  test.each([
    "",
    " blanks ",
    "two\nlines\n",
    "\n",
    `say "hi"`,
    "$HOME and `id` and $(id)",
    "# no comment",
    "C:\\new\\table\\",
    "it's",
    "it's\ntwo lines\\t",
    "a=b",
  ])("the text %j is read back by parseEnv", value => {
    const { text: lines, problems } = format({ "t.value": value, "t.next": "next" });
    expect(problems).toEqual([]);
    expect(parseEnv(lines)).toEqual({ T_VALUE: value, T_NEXT: "next" });
  });

  test.each([
    "a\rb",
    "a\0b",
    "\ud800",
    `it's "so"`,
    "it's $5",
    "it's `id`",
    "it's \\n",
    "it's \\r",
    "it's \\",
    "it's \\\nso",
  ])("the text %j has no form that every reader agrees on, and is refused by name", value => {
    const { problems } = format({ "t.value": value, "t.next": "next" });
    expect(problems).toEqual([expect.stringContaining("t.value")]);
  });

  test("parseEnv, dotenv and import read back every text that is not refused, and the lines around it", () => {
    fc.assert(
      fc.property(difficultText, value => {
        const { text: lines, problems } = format({ "t.before": "before", "t.value": value, "t.next": "next" });
        if (problems.length > 0) return;
        const read = { T_BEFORE: "before", T_VALUE: value, T_NEXT: "next" };
        expect(parseEnv(lines)).toEqual(read);
        // After a backslash, dotenv does not take an apostrophe for the end if another one follows.
        if (!value.endsWith("\\")) expect(dotenv.parse(lines)).toEqual(read);
        const { variables } = readDotenv(lines);
        expect(Object.fromEntries(variables.map(({ name, text }) => [name, text]))).toEqual(read);
      }),
      { numRuns: 2_000 },
    );
  });

  test.skipIf(process.platform === "win32")("a shell reads back every text that is not refused", async () => {
    const samples = fc.sample(difficultText, 500);
    const fits = samples.filter(value => format({ "t.value": value }).problems.length === 0);
    expect(fits.length).toBeGreaterThan(100);
    const { text: lines } = format(Object.fromEntries(fits.map((value, index) => [`t.value${index}`, value])));
    await using folder = await temporaryFolder();
    writeFileSync(join(folder.path, "values.env"), lines);
    const show = "process.stdout.write(JSON.stringify(process.env))";
    const script = ["-c", `set -a; . ./values.env; exec "$0" -e '${show}'`, process.execPath];
    const { stdout, stderr } = spawnSync("sh", script, { cwd: folder.path, encoding: "utf8" });
    expect(stderr).toBe("");
    const read = JSON.parse(stdout) as { [name: string]: string };
    expect(fits.map((_, index) => read[`T_VALUE${index}`])).toEqual(fits);
  });

  test("any JSON value of a field that accepts anything can be written and read back", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), json => {
        const value = JSON.parse(JSON.stringify(json)) as JsonValue;
        fc.pre(typeof value !== "string");
        const { fields, text: lines, problems } = format({ "t.value": value }, anything);
        expect(problems).toEqual([]);
        expect(readEnvironment(lines, fields, false)).toEqual({ values: new Map([["t.value", value]]), problems: [] });
      }),
    );
  });

  test("a text that looks like JSON stays a text if the field accepts both", () => {
    const { fields, text: lines } = format({ "t.value": "30" }, anything);
    expect(readEnvironment(lines, fields, false).values.get("t.value")).toBe("30");
  });
});

describe("reading an env file", () => {
  const fields: Fields = new Map([
    ["svc.timeout", { type: "integer", default: 900 }],
    ["svc.default_port", { type: "string", default: "8080" }],
  ]);

  test("each value is read by its field's schema, despite export, comments and Windows line endings", () => {
    const lines = "# comment\r\nexport SVC_TIMEOUT=30\r\n\r\nSVC_DEFAULT_PORT='9090' # comment\r\n";
    const { values, problems } = readEnvironment(lines, fields, false);
    expect(Object.fromEntries(values)).toEqual({ "svc.timeout": 30, "svc.default_port": "9090" });
    expect(problems).toEqual([]);
  });

  test("a variable that may be one of two fields is a problem, even if unknown ones are ignored", () => {
    const namesakes: Fields = new Map([
      ["t.a-b", text],
      ["t.a_b", text],
    ]);
    const { values, problems } = readEnvironment("T_A_B=x", namesakes, true);
    expect([values.size, problems]).toEqual([0, ["T_A_B is ambiguous: it may be any of t.a-b, t.a_b."]]);
  });

  test("a text without any variable is distinguished from an empty one", () => {
    expect(readEnvironment(`{ "svc": { "timeout": 30 } }`, fields, false).problems).toHaveLength(1);
    expect(readEnvironment("\n# nothing here\n", fields, false).problems).toEqual([]);
  });
});
