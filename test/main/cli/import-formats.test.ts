import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import dotenv from "dotenv";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { environmentText } from "../../../main/cli/environment/formats.ts";
import { formatOfFile, type ImportFormat, readImportedFile } from "../../../main/cli/import/file-formats.ts";
import { readFish, readPowerShell, readShell } from "../../../main/cli/import/read-shell.ts";
import { markedText } from "../../../main/files/utf8-text.ts";
import type { FoundVariables } from "../../../shared/import/found-variables.ts";
import { readDotenv } from "../../../shared/import/read-dotenv.ts";
import { limits } from "../../../shared/limits.ts";
import { projectFolder } from "../../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const textsOf = ({ variables }: Pick<FoundVariables, "variables">) =>
  Object.fromEntries(variables.map(({ name, text }) => [name, text]));
const fixture = (name: string) => readFileSync(join(projectFolder, "test/main/cli/env-files", name), "utf8");

/** Reads without any field. */
async function read(name: string, content = fixture(name), more: { service?: string; format?: ImportFormat } = {}) {
  const format = more.format ?? formatOfFile(name, content);
  return readImportedFile({ name, content, format, ignoreUnknown: false, ...more }, new Map());
}

describe("env files as dotenv reads them", () => {
  test.each([
    ["ticket-shop.env", 11, ["MAIL_SENDER", "VITE_SHOP_NAME", "DB_PORT is set in line 9 and in line 15"]],
    ["wiki.env.sample", 9, []],
    ["calendar.env.example", 13, ["# in PLAIN_COLOR", "quotes in INVITE", "# in PASS"]],
  ])("%s", async (name, count, noted) => {
    const { variables, problems, notes } = await read(name, undefined, { format: "dotenv" });
    expect(problems).toEqual([]);
    expect(textsOf({ variables })).toEqual(dotenv.parse(fixture(name)));
    expect(variables).toHaveLength(count);
    for (const part of noted) expect(notes.join("\n")).toContain(part);
    expect(notes).toHaveLength(noted.length);
  });

  test("a text is either refused with its line, or read as dotenv reads it", () => {
    const units = [
      "A",
      "=",
      "B",
      '"',
      "'",
      "`",
      "\\",
      "#",
      " ",
      "\n",
      "\r",
      "n",
      ":",
      ".",
      "-",
      "$",
      "export ",
      "é",
      "\u2028",
    ];
    const texts = fc
      .array(fc.constantFrom(...units, "A=", "\nB=", '"\n'), { maxLength: 14 })
      .map(parts => parts.join(""));
    let count = 0;
    fc.assert(
      fc.property(texts, text => {
        const found = readDotenv(text);
        // Single quotes after a backslash are read as in shells, which is what repoconf env writes.
        if (found.problems.length > 0 || /\\'\s*(#|$)/m.test(text)) return;
        count += found.variables.length;
        expect(textsOf(found)).toEqual(dotenv.parse(text));
      }),
      { numRuns: 20_000 },
    );
    expect(count).toBeGreaterThan(1_000);
  });

  test.each([
    ["A=1\n\nB", 3],
    ["A='x\ny'\nB=\"open\nC=1", 3],
    ["A='x' y", 1],
    ['A="x" "y"', 1],
    ["# fine\nA=1\nexport B", 3],
    ["=x", 1],
    ["A=\n'x'", 2],
    ["{", 1],
  ])("%j: line %i is named, and nothing is imported", (text, line) => {
    expect(readDotenv(text).problems).toEqual([expect.stringMatching(`^Line ${line} is not`)]);
  });

  test("bytes with a mark are read as UTF-8 or UTF-16", () => {
    const marked = Buffer.from("\uFEFFA=é", "utf16le");
    for (const bytes of [marked, Buffer.from(marked).swap16(), Buffer.from("\uFEFFA=é"), Buffer.from("A=é")])
      expect(textsOf(readDotenv(markedText(bytes)))).toEqual({ A: "é" });
    expect(() => markedText(Buffer.from("A=1", "utf16le"))).toThrow("NUL");
    expect(() => markedText(Buffer.from([0xff, 0xfe, 0, 0xd8]))).toThrow("UTF-16");
  });
});

const difficult = fc.string({
  unit: fc.constantFrom(..."'\"`$#\\ \n\tn!;r=‘’é😀".split(/(?:)/u), "\r"),
  maxLength: 12,
});

describe("what repoconf env prints is read back byte for byte", () => {
  test.each([
    ["sh", readShell],
    ["fish", readFish],
    ["pwsh", readPowerShell],
    ["dotenv", readDotenv],
  ] as const)("%s", (format, reader) => {
    fc.assert(
      fc.property(fc.array(difficult, { maxLength: 4 }), texts => {
        const variables = Object.fromEntries(texts.map((text, index) => [`A${index}`, text]));
        let written = "";
        try {
          written = environmentText(variables, format);
        } catch {
          return;
        }
        const found = reader(written);
        expect([found.problems, textsOf(found)]).toEqual([[], variables]);
      }),
      { numRuns: 3_000 },
    );
  });

  test("json", async () => {
    const variables = { A: "é\n'\"", B: "" };
    expect(textsOf(await read("x.json", environmentText(variables, "json")))).toEqual(variables);
  });
});

describe("shell scripts", () => {
  test("project.envrc", async () => {
    const { variables, problems, notes } = await read("project.envrc", undefined, {
      format: formatOfFile(".envrc", ""),
    });
    expect([problems, textsOf({ variables })]).toEqual([
      [],
      {
        DEBUG: "1",
        POSTGRES_HOST: "localhost",
        POSTGRES_PORT: "5432",
        GREETING: 'say "hi" to $USER',
        MOTTO: "it's fine",
        BROKER_URL: "redis://localhost:6379/0#main",
      },
    ]);
    expect(notes.map(note => /^Line (\d+) is left out/.exec(note)?.[1]).join(" ")).toBe("2 3 4 5 6 7 13 14 15 16");
    expect(notes.at(-1)).toContain("it names POSTGRES_PORT");
  });

  test.skipIf(process.platform === "win32")("every script of plain lines is read as bash reads it", async () => {
    const parts = [..."aB'\"\\# \t;:=é^-\n?*![]~", "'x y'", '"x y"', '":"', "\nexport C="];
    const scripts = fc.sample(fc.array(fc.constantFrom(...parts), { maxLength: 8 }), 1_000);
    const plain = scripts
      .map(words => `export A=${words.join("")}\n`)
      .filter(script => {
        const { problems, notes } = readShell(script);
        return problems.length + notes.filter(note => note.includes("left out")).length === 0;
      });
    expect(plain.length).toBeGreaterThan(100);
    const show = `for name in A C; do if [ -n "\${!name+x}" ]; then printf '%s=%s\\0' $name "\${!name}"; fi; done; printf '\\1'`;
    const script = plain.map(one => `(\n${one}\n${show}\n)\n`).join("");
    // With files by such names, which patterns would find.
    await using folder = await temporaryFolder();
    for (const name of ["A=a", "A=Ba", "a", "Ba"]) await writeFile(join(folder.path, name), "");
    const how = { cwd: folder.path, input: script, encoding: "utf8", maxBuffer: 1 << 26, env: {} } as const;
    const { stdout } = spawnSync("bash", [], how);
    const outputs = stdout.split("\u0001").slice(0, -1);
    expect(outputs.length).toBe(plain.length);
    for (const [index, output] of outputs.entries())
      expect([plain[index], output]).toEqual([
        plain[index],
        ["A", "C"]
          .flatMap(name => {
            const found = readShell(plain[index] ?? "").variables.find(variable => variable.name === name);
            return found === undefined ? [] : [`${name}=${found.text}\0`];
          })
          .join(""),
      ]);
  });

  test("what a pattern of files would mean elsewhere is a text, and what a shell replaces is left out", () => {
    const taken = ["https://shop.test/?a=b", "b?c=d", "*.log", "[a-z]*", "hi!", "a~b"];
    const left = ["~", "~/x", "a:~", "{a,b}", "$B", "`id`", "$(id)", "a&b"];
    for (const text of taken) expect(textsOf(readShell(`export A=${text}\n`))).toEqual({ A: text });
    for (const text of left) expect(readShell(`export A=${text}\n`).variables).toEqual([]);
  });

  test.each([
    ["export A=1\nfor x in 1 2; do\n  export B=$x\ndone", 2],
    ["cat <<END\nexport A=1\nEND", 1],
    ["f() {\nexport A=1\n}", 1],
    ["echo \\\nexport A=1", 1],
    ["true &&\nexport A=1", 1],
    ["echo 'two\nexport A=1\n'", 1],
    ["if true; then\nexport A=1\n", 2],
    ["export A=1\nfi", 2],
  ])("%j: line %i may make others count or not, and nothing is imported", (script, line) => {
    expect(readShell(script).problems).toEqual([expect.stringMatching(`^Line ${line} begins something`)]);
  });
});

describe("tables", () => {
  test("tasks.mise.toml", async () => {
    const { variables, problems, notes } = await read("tasks.mise.toml", undefined, {
      format: formatOfFile(".mise.toml", ""),
    });
    expect([problems, textsOf({ variables })]).toEqual([
      [],
      {
        NODE_ENV: "development",
        PORT: "3000",
        RATIO: "0.5",
        TRACE: "true",
        CACHE: "{{config_root}}/.cache",
        TOKEN: "{{exec(command='vault read token')}}",
        SECRET: "abc",
      },
    ]);
    const parts = [
      "OLD_FLAG",
      "NEEDED",
      "_.file and _.path",
      "CACHE is a template",
      "TOKEN is a template that mise would",
    ];
    for (const part of [...parts, "fill in and would run"]) expect(notes.join("\n")).toContain(part);
    expect(notes).toHaveLength(5);
  });

  test("more YAML than could be set at once is not read", async () => {
    const text = `A: '${"x".repeat(limits.messageBytes - 5)}'`;
    expect(textsOf(await read("a.yaml", text))["A"]).toHaveLength(limits.messageBytes - 5);
    await expect(read("a.yaml", `${text}\n`)).rejects.toThrow(
      /1000001 characters, and at most 1000000 are read as YAML/,
    );
    await expect(read("compose.yaml", `${text}\n`)).rejects.toThrow("at most 1000000");
  });

  test("the time for YAML with many aliases, or many errors in one line, grows with its length only", async () => {
    const aliases = Array.from({ length: 40_000 }, (_, index) => `&a${index + 1} k${index}: *a${index}\n`).join("");
    await expect(read("x.yaml", `&a0 k: 1\n${aliases}`)).rejects.toThrow(
      "line 5002, column 15: there are more than 5000",
    );
    await expect(read("x.yaml", `a: "${"\\u".repeat(400_000)}`)).rejects.toThrow("line 1, column 5: Invalid escape");
  });

  test("stack.compose.yaml", async () => {
    const format = formatOfFile("docker-compose.override.yml", "");
    await expect(read("stack.compose.yaml", undefined, { format })).rejects.toThrow(
      "web, db. Choose one: --service web",
    );
    await expect(read("stack.compose.yaml", undefined, { format, service: "cache" })).rejects.toThrow("web, db");
    const web = await read("stack.compose.yaml", undefined, { format, service: "web" });
    expect([web.problems, textsOf(web)]).toEqual([
      [],
      {
        TZ: "Europe/Vienna",
        LOG: "info",
        PORT: "8080",
        DEBUG: "false",
        MODE: "0644",
        VERSION: "1.10",
        URL: "http://\u0024{HOST:-localhost}:8080",
        PRICE: "5$",
        EMPTY: "",
      },
    ]);
    for (const part of ["INHERITED is left out", "env_file is left out", "URL refers"])
      expect(web.notes.join("\n")).toContain(part);
    expect(web.notes).toHaveLength(3);
    const db = await read("stack.compose.yaml", undefined, { format, service: "db" });
    expect(textsOf(db)).toEqual({ POSTGRES_USER: "shop", POSTGRES_PASSWORD: "a=b=c" });
  });

  test.each([
    ["a: !!set { x }", "/a: JSON has no such value"],
    ["a: !!omap [x: 1]", "/a: JSON has no such value"],
    ["a/b: [!!binary aGk=]", "/a~1b/0: JSON has no such value"],
    ["a: &a [*a]", "nested more than 64 levels deep"],
    [`a: ${"[".repeat(50_000)}`, "nested more than 64 levels deep"],
    ["__proto__: 1", "x.yaml: a member is called __proto__"],
    ["a: 1\n---\na: 2", "multiple documents$"],
    ["a: 1\na: 2", "line 2, column 1: Map keys must be unique"],
    ["a:\n  b: {c: 1, c: 2}", "line 2, column 13: Map keys must be unique"],
    [`a: &a [1, 1]\nb: [${"*a, ".repeat(101)}]`, "Excessive alias count"],
  ])("YAML that is no JSON is refused, and nothing of it is left out: %j", async (text, why) => {
    await expect(read("x.yaml", text)).rejects.toThrow(new RegExp(why));
  });
});

test("the time for a long script grows with its lines only", () => {
  expect(readShell(`export A=b${" ".repeat(900_000)}&\n`).variables).toEqual([]);
  const lines = Array.from({ length: 20_000 }, (_, index) => `export V${index}=x\nuse V${index}\n`);
  const { variables, notes } = readShell(lines.join(""));
  expect([variables.length, notes.length]).toEqual([20_000, 20_000]);
  expect(notes.at(-1)).toContain("it names V19999");
});

test.each<[ImportFormat, string]>([
  ["sh", ".envrc .envrc.private prod.envrc prod.envrc.local envrc deploy.sh"],
  ["dotenv", ".env .env.local .ENV.json5 prod.env prod.env.local wiki.env.sample env.example env"],
  ["yaml", "prod.env.yaml values.yml"],
  ["toml", "prod.env.toml"],
  ["mise", "mise.toml .mise.prod.toml mise/config.toml"],
  ["compose", "compose.yaml docker-compose.prod.yml"],
  ["fish", "a.fish"],
  ["pwsh", "a.ps1"],
  ["json", "values.json .env.json environment envrcs -"],
])("is read as %s by its name: %s", (format, names) => {
  for (const name of names.split(" ")) expect([name, formatOfFile(name, "A=1\n")]).toEqual([name, format]);
});
