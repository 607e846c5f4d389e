import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { getLanguageService, TextDocument } from "vscode-json-languageservice";
import { makeCommandHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { runProcess, runRepoconf } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/** Two scopes whose references have the same names, using every kind of reference. */
const refers = (type: string) => ({
  type: "object",
  properties: {
    pointer: { $ref: "#/$defs/part", default: type === "integer" ? 1 : "x" },
    anchor: { $ref: "#named", default: type === "integer" ? 1 : "x", description: `The anchor of ${type}.` },
    dynamic: { $dynamicRef: "#named", default: type === "integer" ? 1 : "x" },
    inside: { $ref: "#/$defs/file", default: {} },
    old: { type, default: type === "integer" ? 1 : "x", deprecated: true },
  },
  $defs: {
    part: { type },
    "a/b ~%": { $anchor: "named", type },
    file: {
      $id: "file",
      type: "object",
      additionalProperties: { $ref: "#/$defs/part" },
      $defs: { part: { type: type === "integer" ? "string" : "integer" } },
    },
  },
});

/** Runs VS Code's language service on a file on the disk: the problems it reports, and its completions at the marker. */
async function openInEditor(path: string, text: string) {
  const service = getLanguageService({
    schemaRequestService: async uri => readFile(fileURLToPath(uri), "utf8"),
    workspaceContext: {
      resolveRelativePath: (relative, resource) => pathToFileURL(join(dirname(fileURLToPath(resource)), relative)).href,
    },
  });
  const at = text.indexOf("|");
  const document = TextDocument.create(pathToFileURL(path).href, "json", 1, text.replace("|", ""));
  const parsed = service.parseJSONDocument(document);
  const problems = await service.doValidation(document, parsed);
  const offered = at === -1 ? null : await service.doComplete(document, document.positionAt(at), parsed);
  return {
    problems: problems.map(({ message, range }) => `${range.start.line + 1}: ${message}`).sort(),
    offered: offered?.items.map(({ label }) => label) ?? [],
    documentation: offered?.items.map(({ documentation }) => JSON.stringify(documentation ?? "")).join("\n") ?? "",
  };
}

/** Values for all fields: `one` for the fields themselves, and `other` for the member of `inside`. */
const values = (one: number | string, other: number | string) =>
  `{ "pointer": ${JSON.stringify(one)},\n "anchor": ${JSON.stringify(one)},\n "dynamic": ${JSON.stringify(one)},\n "inside": { "a": ${JSON.stringify(other)} } }`;

const withScopes = (reference: string, number: string, text: string) =>
  `// Comments are welcome.\n{ "$schema": "${reference}", "config": {\n"number": ${number},\n"text": ${text} } }`;

async function writeScopes(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "number.schema.json"), JSON.stringify(refers("integer")));
  await writeFile(join(folder, "text.schema.json"), JSON.stringify(refers("string")));
}

async function assertEditorKnows(path: string, reference: string): Promise<void> {
  const open = (text: string) => openInEditor(path, text);
  const good = await open(withScopes(reference, values(1, "x"), values("x", 1)));
  expect(good.problems).toEqual([]);
  const wrong = await open(withScopes(reference, values("x", 1), values(1, "x")));
  expect(wrong.problems.map(problem => problem.split(":")[0])).toEqual(["10", "3", "4", "5", "6", "7", "8", "9"]);
  const typo = await open(
    `{ "$schema": "${reference}",\n "config": { "svc": {\n "timeot": 1,\n "timeout": -1 },\n "number": { "ancor": 1 } } }`,
  );
  expect(typo.problems).toEqual([
    expect.stringMatching(/^3: .*timeot/),
    expect.stringMatching(/^4: Value is below the minimum of 0/),
    expect.stringMatching(/^5: .*ancor/),
  ]);
  const scopes = await open(`{ "$schema": "${reference}", "config": { | } }`);
  expect(scopes.offered.toSorted()).toEqual(["number", "svc", "text"]);
  const fields = await open(`{ "$schema": "${reference}", "config": { "number": { | } } }`);
  expect(fields.offered.toSorted()).toEqual(["anchor", "dynamic", "inside", "old", "pointer"]);
  const old = await open(`{ "$schema": "${reference}", "config": { "number": {\n "old": 1 } } }`);
  expect(old.problems).toEqual([expect.stringMatching(/^2: .*deprecated/i)]);
  expect(fields.documentation).toContain("The anchor of integer.");
  const days = await open(`{ "$schema": "${reference}", "config": { "svc": { "proxy_http": | } } }`);
  expect(days.offered.toSorted()).toEqual(["false", "true"]);
}

describe.concurrent("an editor with VS Code's language service", () => {
  test("checks and completes a file in the home with the schema that the daemon writes, for every scope", async () => {
    await using home = await makeCommandHome();
    await home.succeed(["repo", "add", "--id", "shop", home.workFolder]);
    await writeScopes(join(home.homeFolder, "scopes"));
    const schema = join(home.homeFolder, "repository.schema.json");
    await until(async () => /"number".*"text"/s.test(await readFile(schema, "utf8")), "the schema for editors");
    const path = join(home.homeFolder, "repos/shop.json");
    const { $schema } = JSON.parse(await readFile(path, "utf8"));
    await assertEditorKnows(path, $schema);
    expect(await home.succeed(["describe", "number.old"])).toContain("deprecated");
    expect(await home.succeed(["describe", "number.anchor"])).not.toContain("deprecated");
    expect((await openInEditor(path, `{ "$schema": "${$schema}", | }`)).offered).toContain("path");
  });

  test("checks and completes a clone's file with the schema that repoconf schema writes next to it", async () => {
    await using folder = await temporaryFolder();
    await runProcess("git", ["init", "-q", folder.path]);
    await writeScopes(join(folder.path, ".repoconf/scopes"));
    const path = join(folder.path, ".repoconf.json");
    await writeFile(path, `{\n  // by hand\n  "config": { "other": { "a": 1 } }\n}\n`);
    const run = (...args: readonly string[]) => runRepoconf(args, { folder: folder.path });
    const printed = await run("schema");
    expect(printed).toMatchObject({ code: 0, errorOutput: "" });
    expect((await readdir(join(folder.path, ".repoconf"))).sort()).toEqual(["scopes"]);
    expect(await run("schema", "--write")).toMatchObject({ code: 0, errorOutput: "" });
    expect(await readFile(join(folder.path, ".repoconf/schema.json"), "utf8")).toBe(printed.output);
    const text = await readFile(path, "utf8");
    expect(text).toContain("// by hand");
    expect(JSON.parse(text.replace("// by hand", ""))).toEqual({
      $schema: "./.repoconf/schema.json",
      config: { other: { a: 1 } },
    });
    // A scope that only a home has is not an error.
    expect(await openInEditor(path, text)).toMatchObject({ problems: [] });
    await assertEditorKnows(path, "./.repoconf/schema.json");
    expect((await openInEditor(path, '{ "$schema": "./.repoconf/schema.json", | }')).offered).toEqual(["config"]);
    // A second run changes nothing.
    expect((await run("schema", "--write")).output).not.toContain("Referenced");
    expect(await readFile(path, "utf8")).toBe(text);
    expect((await runProcess("git", ["status", "--porcelain"], { folder: folder.path })).output).toBe(
      "?? .repoconf.json\n?? .repoconf/\n",
    );
  });

  test("repoconf schema keeps another $schema, follows no symbolic link, and omits invalid scopes", async () => {
    await using folder = await temporaryFolder();
    const run = (...args: readonly string[]) => runRepoconf(args, { folder: folder.path });
    await mkdir(join(folder.path, "elsewhere"));
    await symlink("elsewhere", join(folder.path, ".repoconf"));
    expect(await run("schema", "--write")).toMatchObject({ code: 3, errorOutput: expect.stringContaining("link") });
    expect(await readdir(join(folder.path, "elsewhere"))).toEqual([]);
    await using other = await temporaryFolder();
    const there = (...args: readonly string[]) => runRepoconf(args, { folder: other.path });
    const own = '{ "$schema": "https://example.test/own.json" }';
    await writeFile(join(other.path, ".repoconf.json"), own);
    expect(await there("schema", "--write")).toMatchObject({
      code: 0,
      errorOutput: expect.stringContaining("which was kept"),
    });
    expect(await readFile(join(other.path, ".repoconf.json"), "utf8")).toBe(own);
    await mkdir(join(other.path, ".repoconf/scopes"));
    await writeFile(join(other.path, ".repoconf/scopes/torn.schema.json"), "{");
    const before = await readFile(join(other.path, ".repoconf/schema.json"), "utf8");
    expect(await there("schema", "--write")).toMatchObject({ code: 3, output: "" });
    expect(await readFile(join(other.path, ".repoconf/schema.json"), "utf8")).toBe(before);
  });
});
