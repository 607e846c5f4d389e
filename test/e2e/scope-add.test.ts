import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeShop } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";

const schema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Tool",
  $ref: "#/definitions/settings",
  definitions: {
    settings: {
      type: "object",
      required: ["token"],
      minProperties: 1,
      properties: {
        token: { type: "string", "x-env": "TOOL_TOKEN", "x-masked": true },
        port: { $ref: "shared/types.json#/definitions/port", default: 80 },
        pair: { items: [{ type: "integer" }, { type: "string" }], additionalItems: false },
      },
    },
  },
};

test("scope add makes a scope of a schema of an older draft and the files beside it, and shows what it will be first", async () => {
  await using home = await makeShop();
  const file = join(home.workFolder, "tool.json");
  await mkdir(join(home.workFolder, "shared"));
  const types = { definitions: { port: { type: "integer", maximum: 65_535, exclusiveMinimum: 0 } } };
  await writeFile(join(home.workFolder, "shared/types.json"), JSON.stringify(types));
  await writeFile(file, JSON.stringify(schema));

  const shown = await home.run(["scope", "add", file, "--dry-run"]);
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.output).toMatch(/tool\.token\tstring\tnot set, but required/);
  expect(shown.output).toMatch(/tool\.port\tinteger above 0 to 65535\t80/);
  expect(shown.errorOutput).toContain("minProperties is a rule for all fields together");
  expect(await home.succeed(["scope", "list"])).not.toContain("tool");

  expect((await home.run(["scope", "add", file, "--yes"])).output).toContain("Copied the scope tool");
  await home.succeed(["set", "tool.port=8080", 'tool.pair:=[1,"a"]']);
  expect(await home.succeed(["get", "tool.port"])).toBe("8080\n");
  await home.refuse(3, ["set", "tool.port=70000"], "must be at most 65535");
  await home.refuse(3, ["set", 'tool.pair:=[1,"a",2]'], "tool.pair");
  // Not set, so no variable; null cannot be set, because the type does not have it.
  expect(await home.succeed(["get", "tool.token", "--reveal"])).toBe("null\n");
  expect(await home.succeed(["env", "--format", "json"])).toBe("{}\n");
  await home.refuse(3, ["set", "tool.token:=null"], "tool.token");
  // But required: nothing runs without it, and doctor and check say so.
  await home.refuse(3, ["run", "true"], "no value is set for tool.token, which the scope requires");
  await home.refuse(3, ["run", "--watch", "true"], "repoconf set tool.token=VALUE");
  expect((await home.run(["doctor"])).output).toContain("tool.token is required and not set");
  await mkdir(join(home.workFolder, ".repoconf/scopes"), { recursive: true });
  await writeFile(
    join(home.workFolder, ".repoconf/scopes/own.schema.json"),
    JSON.stringify({ properties: { a: {} }, required: ["a"] }),
  );
  await writeFile(join(home.workFolder, ".repoconf.json"), "{}");
  expect((await home.run(["check"])).output).toContain("own.a is required and not set");
  await home.succeed(["set", "tool.token=abc"]);
  expect(await home.succeed(["run", "printenv", "TOOL_TOKEN"])).toBe("abc\n");
});

test("scope add names every problem at once, and adds nothing", async () => {
  await using home = await makeShop();
  const file = join(home.workFolder, "broken.schema.json");
  const properties = { a: { $ref: "http://elsewhere.test/x.json" }, b: { type: "text" }, c: { minLength: -1 } };
  await writeFile(file, JSON.stringify({ properties: { ...properties, a: { type: "string" } } }));
  await home.refuse(
    3,
    ["scope", "add", file, "--yes"],
    /broken\.schema\.json cannot be a scope:\n.*line 1, column \d+, at \/properties\/b\/type: the field "b".*\n.*at \/properties\/c\/minLength: the field "c"/,
  );
  // A file in the home alike: on the terminal, in status and in doctor.
  const inHome = join(home.homeFolder, "scopes/broken.schema.json");
  await copyFile(file, inHome);
  await until(async () => (await home.run(["status"])).output.includes(inHome), "the daemon to read it");
  for (const command of ["status", "doctor"]) {
    const { output } = await home.run([command]);
    expect(output).toContain(`${inHome}, line 1, column 50, at /properties/b/type: the field "b"`);
    expect(output).toContain(`${inHome}, line 1, column 75, at /properties/c/minLength: the field "c"`);
  }
  await rm(inHome);
  await writeFile(file, JSON.stringify({ properties }));
  await home.refuse(3, ["scope", "add", file, "--yes"], '"http://elsewhere.test/x.json" points outside the file');
  await writeFile(file, "{\n  oops\n}");
  await home.refuse(3, ["scope", "add", file, "--yes"], "line 2, column 3");
  await home.refuse(3, ["scope", "add", file, "--name", "no/name", "--yes"], "line 2");
  await home.refuse(2, ["scope", "add", join(home.workFolder, "missing.json"), "--yes"], "cannot be read");
  expect(await home.succeed(["scope", "list"])).not.toContain("broken");
});

test("a file without $id that names itself by an address is taken where that is certain, and else told what to add", async () => {
  await using home = await makeShop();
  const add = async (draft: string, ...references: string[]) => {
    const properties = Object.fromEntries(references.map(($ref, index) => [`f${index}`, { $ref, default: 1 }]));
    const definitions = { port: { type: "integer", minimum: 1 } };
    const text = JSON.stringify({ $schema: `http://json-schema.org/${draft}/schema#`, properties, definitions });
    await writeFile(join(home.workFolder, "net.json"), text);
    return home.run(["scope", "add", join(home.workFolder, "net.json"), "--yes"]);
  };
  const [here, port] = ["https://shop.test/schemas/net.json", "#/definitions/port"];
  for (const draft of ["draft-04", "draft-07"]) {
    expect(await add(draft, here + port, port)).toMatchObject({
      code: 0,
      errorOutput: expect.stringContaining(`taken for its $id`),
    });
    await home.succeed(["set", "net.f0=2"]);
    await home.refuse(3, ["set", "net.f0=0"], "at least 1");
  }
  const told = `points outside the file; if it means this file, add "$id": "`;
  for (const [references, message] of [
    [[`https://shop.test/other.json${port}`], `${told}https://shop.test/other.json"`],
    [[here + port, `https://b.test/net.json${port}`], `${told}https://b.test/net.json"`],
    [[here + port, `${here}#/definitions/none`], `${told}${here}"`],
    [[`https://shop.test/other.json#/definitions/none`], "points outside the file\n"],
  ] as const)
    expect(await add("draft-07", ...references)).toMatchObject({
      code: 3,
      errorOutput: expect.stringContaining(message),
    });
});

test("scope add bundles files of other drafts that refer back to the first, and describe says what references lead to", async () => {
  await using home = await makeShop();
  const write = (name: string, value: object) => writeFile(join(home.workFolder, name), JSON.stringify(value));
  await write(".lintrc.json", {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://elsewhere.test/lint.json",
    properties: {
      level: { $ref: "types.json#/definitions/level", default: 1 },
      rule: { allOf: [{ $ref: "types.json" }, { properties: { name: { type: "string" } } }], default: {} },
      // By where it is published, as what is beside it, and a part by its own name.
      name: { $ref: "https://elsewhere.test/lint.json#/$defs/name" },
      same: { $ref: "lint.json#/$defs/name" },
      far: { $ref: "https://elsewhere.test/sub/far.json" },
      part: { $ref: "part.json" },
    },
    $defs: { name: { enum: ["a", "b"] }, part: { $id: "part.json", type: "boolean" } },
  });
  await mkdir(join(home.workFolder, "sub"));
  await write("sub/far.json", { $id: "https://elsewhere.test/sub/far.json", $ref: "near.json#/$defs/far" });
  await write("sub/near.json", { $defs: { far: { type: "integer", minimum: 3 } } });
  await write("types.json", {
    $schema: "http://json-schema.org/draft-04/schema#",
    id: "https://elsewhere.test/types.json",
    type: "object",
    properties: { kind: { $ref: ".lintrc.json#/$defs/name" } },
    definitions: { level: { type: "integer", maximum: 5, exclusiveMaximum: true } },
  });
  await home.succeed(["scope", "add", join(home.workFolder, ".lintrc.json"), "--yes"]);
  await home.succeed(["set", "lintrc.level=4", 'lintrc.rule:={"kind":"a"}']);
  await home.refuse(3, ["set", "lintrc.level=5"], "must be less than 5");
  for (const typed of ['rule:={"kind":"c"}', "name=c", "same=c"])
    await home.refuse(3, ["set", `lintrc.${typed}`], 'must be "a" or "b"');
  await home.refuse(3, ["set", "lintrc.far=2"], "must be at least 3");
  await home.refuse(3, ["set", "lintrc.part=2"], "must be a boolean");
  expect(await home.succeed(["describe", "lintrc.level"])).toContain("takes    integer below 5");
  const shown = await home.succeed(["describe", "lintrc.rule"]);
  expect(shown).toContain("takes    object");
  expect(shown).toContain('{ "kind"?: "a" | "b", "name"?: string }');
  await writeFile(join(home.workFolder, "types.json"), "{\n oops");
  const broken = ["scope", "add", join(home.workFolder, ".lintrc.json"), "--yes"];
  await home.refuse(3, broken, /types\.json, line 2, column 2/);
  await write("types.json", { definitions: { level: { minLength: "x" } } });
  await home.refuse(3, broken, /types\.json, line 1, column 38, at \/definitions\/level\/minLength: /);
});

test("scope add takes a schema whose definitions refer to its fields", async () => {
  await using home = await makeShop();
  const file = join(home.workFolder, "net.json");
  const port = { type: "integer", maximum: 9, default: 1 };
  const schema = {
    properties: { port, other: { $ref: "#/$defs/list/items", default: 2 }, "the-env": { "x-env": "E", default: "" } },
    $defs: { list: { items: { $ref: "#/properties/port" } } },
  };
  await writeFile(file, JSON.stringify(schema));
  expect((await home.run(["scope", "add", file, "--yes"])).output).toContain("Copied the scope net");
  await home.refuse(3, ["set", "net.other=10"], "must be at most 9");
});
