import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CommandHome, makeCommandHome } from "../helpers/command-home.ts";
import { projectFolder, runProcess } from "../helpers/spawned-daemon.ts";

/** Ends comments and texts of every language, and lines. */
const hostile = `*/ } } export const a = 1; /* \n""" ''' \u2028import os\r os.abort() \`\` \\`;

const shop = {
  title: hostile,
  type: "object",
  properties: {
    port: { title: "Port", description: hostile, type: "integer", default: 80 },
    "max-size": { type: "number", default: 1.5 },
    sizes: { type: "object", properties: { "9type": { type: "integer" }, "2-xl": { type: "integer" } }, default: {} },
    class: { type: ["string", "null"], default: null },
    mode: { enum: ["fast", 'it\'s "slow"', "\\"], default: "fast" },
    level: { enum: [1, 2.5, null], default: 1 },
    hosts: { type: "array", items: { $ref: "#/$defs/host" }, default: [] },
    tree: { $ref: "#/$defs/tree", default: { name: "root" } },
    limits: { type: "object", additionalProperties: { type: "integer" }, default: {} },
    either: { anyOf: [{ type: "string" }, { type: "array", items: { type: "boolean" } }], default: "" },
    merged: {
      allOf: [
        { $ref: "#/$defs/tree" },
        { type: "object", properties: { port: { type: "integer" } }, required: ["port"] },
      ],
      properties: { tag: { type: "string" } },
      default: { name: "a", port: 1 },
    },
    anything: { default: null },
    options: {
      type: "object",
      properties: {
        ["odd `name`, *\\/"]: { type: "string", deprecated: true },
        "9": { type: "boolean" },
        "-": { type: "boolean" },
      },
      default: {},
    },
  },
  $defs: {
    host: {
      type: "object",
      properties: { name: { type: "string", title: "Name" }, weight: { type: "number", deprecated: true } },
      required: ["name"],
      additionalProperties: false,
    },
    tree: {
      type: "object",
      properties: { name: { type: "string" }, inner: { type: "array", items: { $ref: "#/$defs/tree" } } },
    },
  },
};

async function makeWorkTree(): Promise<CommandHome> {
  const home = await makeCommandHome();
  await mkdir(join(home.workFolder, ".repoconf/scopes"), { recursive: true });
  await putScope(home, "shop", shop);
  return home;
}

const putScope = ({ workFolder }: CommandHome, name: string, schema: object) =>
  writeFile(join(workFolder, `.repoconf/scopes/${name}.schema.json`), JSON.stringify(schema));

test("TypeScript's types extend ConfigScopes, and its compiler accepts them and their use", async () => {
  await using home = await makeWorkTree();
  await mkdir(join(home.workFolder, "node_modules"));
  await symlink(projectFolder, join(home.workFolder, "node_modules/repoconf"));
  await home.succeed(["types", "--lang", "ts", "--output", "scopes.d.ts"]);
  const use = `
import type { ConfigScopes } from "repoconf/client";
import "./scopes.d.ts";
export function use({ shop, svc }: ConfigScopes): readonly (string | number | undefined)[] {
  const mode: "fast" | 'it\\'s "slow"' | "\\\\" = shop.mode;
  const level: 1 | 2.5 | null = shop.level;
  const none: null | string = shop.class;
  const inner: readonly unknown[] | undefined = shop.tree.inner;
  // @ts-expect-error: it may be null
  const text: string = shop.class;
  // @ts-expect-error: there is no such field
  shop.prot;
  const parts: readonly (string | undefined)[] = [shop.merged.name, shop.merged.port.toFixed(), shop.merged.tag];
  return [...parts, shop.port.toFixed(), shop["max-size"], mode, level ?? 0, none ?? text, shop.hosts[0]?.name, shop.limits["a"], inner?.length, svc.timeout];
}
`;
  await writeFile(join(home.workFolder, "use.ts"), use);
  const flags = [
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2024",
    "--noUncheckedIndexedAccess",
    "--allowImportingTsExtensions",
  ];
  const tsc = join(projectFolder, "node_modules/typescript/bin/tsc");
  const types = ["--typeRoots", join(projectFolder, "node_modules/@types"), "--types", "node"];
  const compiled = await runProcess(process.execPath, [tsc, ...flags, ...types, "use.ts"], { folder: home.workFolder });
  expect(compiled).toEqual({ code: 0, output: "", errorOutput: "" });
});

test("Python's types are TypedDicts that Python loads", async () => {
  await using home = await makeWorkTree();
  await home.succeed(["types", "--lang", "python", "--output", "scopes.py"]);
  const program = `
import scopes, json
hints = scopes.ConfigScopes.__annotations__
shop = hints["shop"]
print(json.dumps([sorted(hints), {name: str(one) for name, one in shop.__annotations__.items()}, sorted(shop.__annotations__["options"].__optional_keys__)]))
`;
  const { code, output, errorOutput } = await runProcess("python3", ["-c", program], { folder: home.workFolder });
  expect([code, errorOutput]).toEqual([0, ""]);
  const [scopes, fields, optional] = JSON.parse(output);
  expect(scopes).toEqual(["shop", "svc"]);
  expect(fields).toMatchObject({
    port: "<class 'int'>",
    "max-size": "<class 'float'>",
    class: "str | None",
    mode: `typing.Literal['fast', 'it\\'s "slow"', '\\\\']`,
    limits: "dict[str, int]",
    either: "str | list[bool]",
    hosts: "list[scopes.ShopHostsItem]",
  });
  expect(optional).toEqual(Object.keys(shop.properties.options.properties).toSorted());
});

test("Go's types are structs, line by line as Go has them (no compiler of Go runs here)", async () => {
  await using home = await makeWorkTree();
  const text = await home.succeed(["types", "--lang", "go", "--package", "shopconfig"]);
  // Every line is one of those that are meant, so nothing of a schema is code.
  const line =
    /^(?:package shopconfig|\/\/ Code generated .*|type [A-Z]\w* struct \{|\t\/\/ .*|\t[A-Z]\w* (?:\*|\[\]|map\[string\])*(?:string|bool|int64|float64|any|[A-Z]\w*) `json:"[^"`\\]+"`|\}|)$/;
  expect(text.split("\n").filter(one => !line.test(one))).toEqual([]);
  const defined = [...text.matchAll(/^type (\w+) struct/gm)].map(([, name]) => name);
  expect(new Set(defined).size).toBe(defined.length);
  const used = [...text.matchAll(/^\t[A-Z]\w* (?:\*|\[\]|map\[string\])*([A-Z]\w*) /gm)].map(([, name]) => name);
  expect(used.filter(name => !defined.includes(name))).toEqual([]);
  for (const part of [
    'Port int64 `json:"port"`',
    'MaxSize float64 `json:"max-size"`',
    'Class *string `json:"class"`',
    'Hosts []ShopHostsItem `json:"hosts"`',
    // A field that begins with a small letter is not read from JSON, and type is a word of Go.
    'Type *int64 `json:"9type,omitempty"`',
    'Xl *int64 `json:"2-xl,omitempty"`',
    'Weight *float64 `json:"weight,omitempty"`',
    'Options map[string]any `json:"options"`',
    'Level *float64 `json:"level"`',
    'Shop Shop `json:"shop"`',
  ])
    expect(text).toContain(`\t${part}\n`);
});

test("the text is the same every time, without a daemon; --check tells a file that is not; a home's scopes with --home", async () => {
  await using home = await makeWorkTree();
  const args = ["types", "--lang", "go", "--output", "scopes.go"];
  await home.succeed(args);
  const first = await readFile(join(home.workFolder, "scopes.go"), "utf8");
  expect(await home.succeed(["types", "--lang", "go"])).toBe(first);
  expect(await home.succeed([...args, "--check"])).toBe("");
  await putScope(home, "blog", { type: "object", properties: { posts: { type: "integer", default: 1 } } });
  await home.refuse(
    3,
    [...args, "--check"],
    "scopes.go is not what the schemas say now. To write it: repoconf types --lang go",
  );
  expect(await readFile(join(home.workFolder, "scopes.go"), "utf8")).toBe(first);
  await putScope(home, "bad", { type: "array" });
  await home.refuse(3, args, "bad.schema.json:1:1");
  await home.refuse(2, ["types", "--lang", "go", "--check"], "--check needs --output FILE");
  await home.refuse(2, ["types"], "--lang");
  await home.put("scopes/own.schema.json", { type: "object", properties: { a: { type: "boolean", default: true } } });
  const ofHome = await home.succeed(["types", "--lang", "python", "--home", home.homeFolder]);
  expect(ofHome).toContain('"own": Own');
  expect(ofHome).not.toContain("shop");
  await expect(home.endpoint()).rejects.toThrow("ENOENT");
});

test("references in circles, and ones that would multiply without end, are types of any value", async () => {
  await using home = await makeWorkTree();
  const pair = (next: number) => ({
    type: "object",
    properties: Object.fromEntries(["a", "b", "c", "d"].map(name => [name, { $ref: `#/$defs/level${next}` }])),
  });
  const $defs = Object.fromEntries(Array.from({ length: 20 }, (_, level) => [`level${level}`, pair(level + 1)]));
  const properties = { all: { $ref: "#/$defs/level0", default: {} }, self: { $ref: "#/$defs/self", default: [] } };
  const self = { type: "array", items: { $ref: "#/$defs/self" } };
  await putScope(home, "shop", { type: "object", properties, $defs: { ...$defs, level20: { type: "string" }, self } });
  const text = await home.succeed(["types", "--lang", "go"]);
  expect(text).toContain('Self []any `json:"self"`');
  expect(text.length).toBeLessThan(2_000_000);
});
