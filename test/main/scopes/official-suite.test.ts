import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { translatingSchema } from "../../../main/scopes/translate-schema.ts";
import type { JsonObject, JsonValue } from "../../../shared/json.ts";
import { runToEnd } from "../../../shared/run-to-end.ts";
import { type CompiledSchema, compileSchema } from "../../../shared/schema/compile-schema.ts";
import { formats } from "../../../shared/schema/formats.ts";
import { SpareSteps } from "../../../shared/schema/step-budget.ts";
import { titleWith } from "../../helpers/skips.ts";

interface Group {
  readonly description: string;
  readonly schema: JsonObject | boolean;
  readonly tests: readonly { readonly description: string; readonly data: JsonValue; readonly valid: boolean }[];
}

/** The official JSON Schema Test Suite, which no package of npm has: Debian's libtest-json-schema-acceptance-perl brings it. */
const suite = process.env["JSON_SCHEMA_TESTS"] ?? "/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests";
const isThere = existsSync(suite);

/** What is refused, by name: a reference to a file that is not here, and references that change their meaning with the way to them. */
const known = /points outside the file|\$dynamicAnchor|\$recursiveAnchor|its \$schema is/;

describe.skipIf(!isThere)(titleWith(isThere, "libtest-json-schema-acceptance-perl", "the official suite"), () => {
  // Never fewer right ones, never more that are refused, and none that is answered wrongly.
  test.each([
    ["draft4", "http://json-schema.org/draft-04/schema#", { right: 557, refused: 21 }],
    ["draft6", "http://json-schema.org/draft-06/schema#", { right: 752, refused: 25 }],
    ["draft7", "http://json-schema.org/draft-07/schema#", { right: 836, refused: 25 }],
    ["draft2019-09", "https://json-schema.org/draft/2019-09/schema", { right: 1104, refused: 72 }],
    ["draft2020-12", "https://json-schema.org/draft/2020-12/schema", { right: 1097, refused: 79 }],
  ])("%s: what is answered is right, and the rest is refused by name", async (folder, $schema, bar) => {
    const wrong: string[] = [];
    const found = { right: 0, refused: 0 };
    for (const { description, schema, tests } of await groupsIn(join(suite, folder))) {
      const compiled = compiledOrRefused(schema, $schema);
      if (typeof compiled === "string") {
        expect(compiled).toMatch(known);
        found.refused += tests.length;
        continue;
      }
      for (const { description: what, data, valid } of tests)
        if ((compiled.check(data, new SpareSteps()).problems.length === 0) === valid) found.right += 1;
        else wrong.push(`${description}: ${what}`);
    }
    expect(wrong).toEqual([]);
    expect(found.right).toBeGreaterThanOrEqual(bar.right);
    expect(found.refused).toBeLessThanOrEqual(bar.refused);
  });

  test("formats: what is checked is answered as the suite says", async () => {
    const folder = join(suite, "draft2020-12/optional/format");
    const wrong: string[] = [];
    for (const name of formats.keys())
      for (const { description, schema, tests } of await groupsOf([join(folder, `${name}.json`)])) {
        const compiled = compileSchema(schema as JsonObject);
        for (const { description: what, data, valid } of tests)
          if ((compiled.check(data, new SpareSteps(), 1, true).problems.length === 0) !== valid)
            wrong.push(`${description}: ${what}`);
      }
    expect(wrong).toEqual([]);
  });
});

async function groupsIn(folder: string): Promise<Group[]> {
  const names = (await readdir(folder)).filter(name => name.endsWith(".json"));
  return groupsOf(names.map(name => join(folder, name)));
}

async function groupsOf(paths: readonly string[]): Promise<Group[]> {
  const files = await Promise.all(paths.map(path => readFile(path, "utf8")));
  return files.flatMap(text => JSON.parse(text) as Group[]);
}

function compiledOrRefused(schema: Group["schema"], $schema: string): CompiledSchema | string {
  // A file cannot be true or false, which a schema can.
  if (typeof schema === "boolean") return compileSchema({ allOf: [schema] });
  const { schema: translated, faults } = runToEnd(translatingSchema({ $schema, ...schema }));
  return faults.length > 0 ? faults.map(({ message }) => message).join() : compileSchema(translated);
}
