import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { addRepositories, addScope, makeServedHome } from "../helpers/command-home.ts";

const properties = {
  note: { type: ["string", "null"], default: "standard" },
  size: { type: ["string", "integer"], default: "auto" },
  count: { type: ["integer", "null"], default: 0 },
  ratio: { type: "number", default: 0 },
  mode: { type: ["string", "null"], enum: ["fast", null], default: "fast" },
  words: { type: "array", items: { type: ["string", "null"] }, default: [] },
  counts: { type: "array", items: { type: "integer" }, default: [] },
  map: { type: "object", additionalProperties: { type: "number" }, default: {} },
};

const inShop = () => ({ folder: join(home.workFolder, "shop") });
const shop = (...args: string[]) => home.succeed(args, inShop());
const failing = (args: readonly string[], input?: string) =>
  home.run(args, { ...inShop(), ...(input !== undefined && { input }) });
const stored = async () => JSON.parse(await shop("export")).app ?? {};

const home = await makeServedHome();
afterAll(() => home[Symbol.asyncDispose]());
await addScope(home, "app", properties);
await addRepositories(home, "shop");
await writeFile(join(home.workFolder, "shop/number"), "9007199254740993\n");
await writeFile(join(home.workFolder, "shop/values.json"), '{\n  "app": { "map": { "a": 9007199254740993 } } }');
await writeFile(join(home.workFolder, "shop/values.env"), "APP_RATIO=9007199254740993\nAPP_COUNT=1\n");

describe("a whole number that would be rounded is refused with a next step, and nothing is set", () => {
  test.each<[string, string[], string, number, string?]>([
    ["set", ["set", "app.count=1", "app.ratio=9007199254740993"], "The value of app.ratio cannot be stored", 2],
    ["set, for a field of whole numbers", ["set", "app.count=-9007199254740993"], "The value of app.count", 2],
    ["set, of an exact one beyond the limit", ["set", "app.count=9007199254740992"], "app.count must be a whole", 3],
    ["set, too large for any number", ["set", "app.ratio=1e400"], "is too large", 2],
    ["set, as JSON", ["set", "app.size:=9007199254740993"], "The value of app.size", 2],
    ["set, added to a list", ["set", "app.counts+=9007199254740993"], "The value of app.counts", 2],
    ["set, in a place inside a value", ["set", "app.map.a=9007199254740993"], "The value of app.map.a", 2],
    ["set, deep in a value", ["set", 'app.map={"a":9007199254740993}'], "The value of app.map", 2],
    ["set, from a file", ["set", "app.ratio=@number"], "The value of app.ratio", 2],
    ["set, from standard input", ["set", "app.ratio=-"], "The value of app.ratio", 2, "9007199254740993\n"],
    ["import of JSON", ["import", "values.json", "--yes"], "line 2, column 26: the number at app.map.a", 1],
    ["import of variables", ["import", "values.env", "--format", "env", "--yes"], "app.ratio: a number in it", 3],
  ])("%s", async (_, args, message, code, input) => {
    const before = await stored();
    const { errorOutput, ...finished } = await failing(args, input);
    expect(errorOutput).toContain(message);
    expect(errorOutput).toContain("store it as text, in a field that accepts text");
    expect(finished.code).toBe(code);
    expect(await stored()).toEqual(before);
  });

  test("as text it is kept, as are numbers that JSON prints", async () => {
    await shop("set", "app.size=9007199254740993", "app.ratio=1e300", "app.map.a=0.12345678901234567890");
    expect(await stored()).toEqual({ size: "9007199254740993", ratio: 1e300, map: { a: 0.12345678901234568 } });
    expect(await shop("get", "app.size")).toBe("9007199254740993\n");
    await shop("unset", "app.size", "app.ratio", "app.map");
  });

  test("edit says so, and a search for it does not find the rounded one", async () => {
    await shop("set", "app.ratio=9007199254740992");
    const editor = join(home.workFolder, "editor");
    await writeFile(editor, '#!/bin/sh\necho 9007199254740993 > "$1"\n');
    await chmod(editor, 0o700);
    const edited = await home.run(["edit", "app.ratio"], {
      ...inShop(),
      environment: { EDITOR: editor, VISUAL: "" },
    });
    expect(edited.errorOutput).toContain("This cannot be saved: a number in it would be rounded");
    expect(await stored()).toEqual({ ratio: 9007199254740992 });
    expect(await shop("search", "field:app.ratio=9007199254740992")).toContain("app.ratio");
    expect((await failing(["search", "field:app.ratio=9007199254740993"])).output).toBe("");
    await shop("unset", "app.ratio");
  });
});

describe("null", () => {
  test("is written with := where text is accepted too, and with = elsewhere", async () => {
    expect(await shop("set", "app.note:=null", "app.count=null")).toBe("Set app.note = null\nSet app.count = null\n");
    expect(await stored()).toEqual({ note: null, count: null });
    expect(await shop("set", 'app.note:="null"', "app.words+:=null", "app.words+=x", "app.size:=30")).toBe(
      'Set app.note = "null"\nSet app.size = 30\nAdded null to app.words\nAdded x to app.words\n',
    );
    expect(await stored()).toMatchObject({ note: "null", size: 30, words: [null, "x"] });
    await shop("set", "app.words-:=null");
    expect(await stored()).toMatchObject({ words: ["x"] });
  });

  test("that is typed where it could be the text is refused, with both ways to write it; a file's text is text; a choice is one", async () => {
    await shop("set", "app.note=a");
    const { code, errorOutput } = await failing(["set", "app.note=null"]);
    expect(code).toBe(2);
    expect(errorOutput).toContain(`Write app.note:=null, or 'app.note:="null"' for the text.`);
    expect(await failing(["set", "app.words+=null"])).toMatchObject({
      code: 2,
      errorOutput: expect.stringContaining("Write app.words+:=null, or 'app.words+:=\"null\"'"),
    });
    expect(await stored()).toMatchObject({ note: "a" });
    expect(await failing(["set", "app.note=-"], "null\n")).toMatchObject({ code: 0 });
    expect(await stored()).toMatchObject({ note: "null" });
    await shop("set", "app.mode=null");
    expect(await stored()).toMatchObject({ mode: null });
    // The field does not accept null.
    await shop("set", "app.size=null");
    expect(await stored()).toMatchObject({ size: "null" });
  });

  test("is shown as null, and the text in quotes, by get, history, diff and undo", async () => {
    await shop("set", "app.note=a");
    await shop("set", "app.note:=null", "--reason", "one");
    expect(await shop("history", "app.note", "--limit", "1")).toContain("app.note: a -> null\n");
    await shop("set", 'app.note:="null"');
    expect(await shop("history", "app.note", "--limit", "1")).toContain('app.note: null -> "null"\n');
    expect(await shop("undo")).toContain("Restored app.note = null\n");
    expect(await shop("explain", "app.note")).toMatch(/app\.note = null\n.*comes from {2}\/.*default +standard\n/s);
    expect(JSON.parse(await shop("get", "app.note", "--json"))).toBe(null);
    await shop("unset", "app.note");
    expect(await shop("history", "app.note", "--limit", "1")).toContain("app.note: null -> standard (default)\n");
    expect(await shop("undo")).toContain("Restored app.note = null\n");
  });

  test("is opened by edit as JSON, so it does not become text", async () => {
    await shop("set", "app.note:=null");
    const editor = join(home.workFolder, "editor");
    await writeFile(editor, '#!/bin/sh\ncase "$1" in *.json) printf "null \\n" > "$1";; *) echo wrong > "$1";; esac\n');
    await chmod(editor, 0o700);
    await home.run(["edit", "app.note"], { ...inShop(), environment: { EDITOR: editor, VISUAL: "" } });
    expect(await stored()).toMatchObject({ note: null });
  });

  test("is not exported as a variable that would be read as text", async () => {
    await shop("set", "app.note:=null");
    const { code, errorOutput } = await failing(["export", "--format", "env"]);
    expect(code).toBe(3);
    expect(errorOutput).toContain("app.note accepts text too, so a value that is no text would be read as text.");
    await shop("unset", "app.note", "app.words", "app.mode", "app.size");
    expect(await shop("export", "--format", "env")).toMatch(/^# .*\nAPP_COUNT='null'\n$/);
  });
});
