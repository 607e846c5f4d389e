import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "../../main/cli/program.ts";
import packageJson from "../../package.json" with { type: "json" };
import { operationNames } from "../helpers/protocol-table.ts";
import { projectFolder } from "../helpers/spawned-daemon.ts";

const files = [
  ...(await readdir(projectFolder)).filter(name => name.endsWith(".md")),
  ...(await readdir(join(projectFolder, "docs"))).filter(name => name.endsWith(".md")).map(name => join("docs", name)),
];
const texts = new Map(
  await Promise.all(files.map(async file => [file, await readFile(join(projectFolder, file), "utf8")] as const)),
);

test.each(files)("%s: each link leads somewhere", async file => {
  const text = withoutCode(texts.get(file) ?? "");
  const dead: string[] = [];
  for (const [, link = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(link)) continue;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? file : relative(projectFolder, resolve(projectFolder, dirname(file), path));
    const there = await stat(join(projectFolder, target)).catch(() => undefined);
    if (there === undefined) dead.push(link);
    else if (anchor !== undefined && target.endsWith(".md")) {
      const headings = anchorsOf(texts.get(target) ?? "");
      if (!headings.has(anchor)) dead.push(link);
    }
  }
  expect(dead).toEqual([]);
});

test.each(files)("%s: each command that it shows is there", async file => {
  const text = texts.get(file) ?? "";
  const unknown: string[] = [];
  for (const [, script = ""] of text.matchAll(/`npm run (?:--silent )?([a-z][a-z:]*)/g))
    if (!Object.hasOwn(packageJson.scripts, script)) unknown.push(`npm run ${script}`);
  const program = await createProgram();
  // In code alone: "repoconf is" is a sentence.
  for (const [, words = ""] of text.matchAll(/(?:`|^\$ |^ {2})(?:npx )?repoconf ([^`\n]*)/gm)) {
    // A template in JavaScript is none.
    const problem = words.includes("${") ? undefined : problemOf(program, words);
    if (problem !== undefined) unknown.push(`repoconf ${words}: ${problem}`);
  }
  expect(unknown).toEqual([]);
});

test("CONTRIBUTING.md: each file and folder that it names is there", async () => {
  const text = texts.get("CONTRIBUTING.md") ?? "";
  const all = await readdir(projectFolder, { recursive: true });
  const paths = all.map(path => path.split(sep).join("/")).filter(path => !/^(node_modules|dist|\.git)\//.test(path));
  // In the texts between backticks, and in the drawing of the folders; `<name>` stands for any.
  const drawing = /## Where things are\n+```\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  const named = [
    ...[...text.replace(/```[\s\S]*?```/g, "").matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name),
    ...(drawing.match(/(?<=^ *|, )[\w./-]+(?=[ ,]|$)/gm) ?? []),
  ].filter(name => /^[\w<>./-]+(\.(ts|tsx|css|json|jsonc|md|yml)|\/)$/.test(name));
  expect(named.length).toBeGreaterThan(60);
  const missing = named.filter(name => {
    // Short where the text says in which folder it is.
    const pattern = new RegExp(`(^|/)${name.replace(/\/$/, "").replaceAll(".", "\\.").replace(/<\w+>/g, "[^/]+")}$`);
    return !paths.some(path => pattern.test(path));
  });
  // Made by a tool, not by us.
  expect(missing.filter(name => name !== "dist/")).toEqual([]);
});

test("docs/protocol.md: each operation is told of, in a row, a heading or a sentence", () => {
  const text = texts.get(join("docs", "protocol.md")) ?? "";
  expect(operationNames.filter(name => !new RegExp(`^## ${name}$|\`${name}\``, "m").test(text))).toEqual([]);
});

/** Undefined if the commands and options in it are there. Values and what stands for them are left alone. */
function problemOf(program: Command, words: string): string | undefined {
  let command = program;
  for (const word of words.split(/\s+/)) {
    if (/^[A-Z<[(|>&;#'"=.-]/.test(word) && !word.startsWith("--")) break;
    if (word.startsWith("--")) {
      const name = word.replace(/[=,.;:)].*$/, "");
      const known = command.options.some(option => option.long === name) || ["--help", "--version"].includes(name);
      if (!known) return `there is no option ${name}`;
      continue;
    }
    const [name = ""] = word.split("|");
    const next = command.commands.find(one => one.name() === name);
    if (next === undefined) return command === program && name !== "" ? `there is no command ${name}` : undefined;
    command = next;
  }
  return undefined;
}

function withoutCode(text: string): string {
  return text.replace(/```[\s\S]*?```/g, "").replace(/`[^`\n]*`/g, "");
}

/** As the well-known renderers make them of headings. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.replace(/```[\s\S]*?```/g, "").matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
  return new Set(headings);
}
