import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { type Command, CommanderError, type Option } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "../../main/cli/program.ts";
import packageJson from "../../package.json" with { type: "json" };
import { errorNames } from "../../shared/errors.ts";
import { names } from "../helpers/every-operation.ts";
import { projectFolder } from "../helpers/spawned-daemon.ts";

const files = [
  ...(await readdir(projectFolder)).filter(name => name.endsWith(".md")),
  ...(await readdir(join(projectFolder, "docs"))).filter(name => name.endsWith(".md")).map(name => join("docs", name)),
  join("skills", "repoconf", "SKILL.md"),
];
const texts = new Map(
  await Promise.all(files.map(async file => [file, await readFile(join(projectFolder, file), "utf8")] as const)),
);

test.each(files)("%s: each link has a target", async file => {
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

test.each(files)("%s: each command in it exists", async file => {
  const unknown: string[] = [];
  for (const all of codeIn(texts.get(file) ?? "")) {
    // JSON that is on a line of its own has sentences.
    const code = all.replace(/^\{.*$/gm, "");
    for (const [, script = ""] of code.matchAll(/\bnpm run (?:--silent )?([a-z][a-z:]*)/g))
      if (!Object.hasOwn(packageJson.scripts, script)) unknown.push(`npm run ${script}`);
    for (const [, line = ""] of code.matchAll(/(?<![\w"'./-])repoconf (.*)/g)) {
      const problem = await problemOf(line);
      if (problem !== undefined) unknown.push(`repoconf ${line}: ${problem}`);
    }
  }
  expect(unknown).toEqual([]);
});

test("CONTRIBUTING.md: each file and folder that it names exists", async () => {
  const text = texts.get("CONTRIBUTING.md") ?? "";
  const all = await readdir(projectFolder, { recursive: true });
  const paths = all.map(path => path.split(sep).join("/")).filter(path => !/^(node_modules|dist|\.git)\//.test(path));
  // Between backticks, and in the tree of folders; `<name>` stands for any name.
  const tree = /## Where things are\n+```\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  const named = [
    ...[...text.replace(/```[\s\S]*?```/g, "").matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name),
    ...(tree.match(/(?<=^ *|, )[\w./-]+(?=[ ,]|$)/gm) ?? []),
  ].filter(name => /^[\w<>./-]+(\.(ts|tsx|css|json|jsonc|md|yml)|\/)$/.test(name));
  expect(named.length).toBeGreaterThan(60);
  const missing = named.filter(name => {
    // A name may be relative to a folder that the text mentions.
    const pattern = new RegExp(`(^|/)${name.replace(/\/$/, "").replaceAll(".", "\\.").replace(/<\w+>/g, "[^/]+")}$`);
    return !paths.some(path => pattern.test(path));
  });
  // Created by the build.
  expect(missing.filter(name => name !== "dist/")).toEqual([]);
});

test("docs/protocol.md: each operation is documented, in a row, a heading or a sentence", () => {
  const text = texts.get(join("docs", "protocol.md")) ?? "";
  expect(names.filter(name => !new RegExp(`^## ${name}$|\`${name}\``, "m").test(text))).toEqual([]);
});

test("docs/protocol.md: each error is in a table, with its code and name", () => {
  const text = texts.get(join("docs", "protocol.md")) ?? "";
  const missing = Object.entries(errorNames).filter(([code, name]) => !text.includes(`\n| ${code} | ${name} | `));
  expect(missing).toEqual([]);
});

test.each([
  ["repoconf lsit", "there is no command lsit"],
  ["npx repoconf key crate x", "there is no command crate"],
  ["REPOCONF_HOME=x repoconf list --stord | head", "there is no option --stord"],
  ["a=$(repoconf get svc.timeout --nope)", "there is no option --nope"],
  ["repoconf set svc.timeout='30 31' --resaon x", "there is no option --resaon"],
  ["repoconf explain svc.timeout svc.domain", "svc.domain is one argument too many"],
  ["repoconf --repo shop get svc.timeout --josn", "there is no option --josn"],
  ["repoconf --repo shop lsit", "there is no command lsit"],
  ["repoconf list --repo", "error: option '--repo <repository>' argument missing"],
  ["repoconf history svc.timeout --limit 5 --json | sed -n p; repoconf", undefined],
  ["repoconf [--version]", undefined],
])("finds the mistake in a command: %s", async (code, problem) => {
  for (const text of [
    "```sh\n%\n```",
    "```console\n$ %\nrepoconf is done\n```",
    "Type `%` there.",
    "- a\n\n  ```sh\n  %\n  ```",
  ]) {
    const [found = ""] = codeIn(text.replace("%", () => code));
    expect(await problemOf(/repoconf (.*)/.exec(found)?.[1] ?? "")).toBe(problem);
  }
});

/**
 * The code in a document, in pieces: spans between backticks, and the lines of its blocks that are typed in a shell. A block with
 * prompts also contains output.
 */
function codeIn(text: string): string[] {
  const pieces: string[] = [];
  const addSpans = (part: string) => {
    // A template literal of JavaScript is not a command.
    for (const [, code = ""] of part.matchAll(/`([^`]+)`/g))
      if (!code.includes("${")) pieces.push(code.replaceAll("\n", " "));
  };
  const prose = text.replace(/^ *```(\w*)\n([\s\S]*?)^ *```/gm, (_, language: string, block: string) => {
    const typed = [...block.matchAll(/^ *\$ (.*)$/gm)].map(([, line = ""]) => line);
    if (typed.length > 0) pieces.push(...typed);
    else if (["", "sh", "console", "text"].includes(language))
      pieces.push(...block.split("\n").map(line => line.replace(/(^|\s)#.*/, "")));
    else addSpans(block);
    return "";
  });
  addSpans(prose);
  return pieces;
}

/** What the program rejects in the arguments after its name; undefined if nothing. */
async function problemOf(line: string): Promise<string | undefined> {
  const words: string[] = [];
  // Text after two spaces explains the command.
  const shown = line.replace(/ {2}.*/, "").replace(/\$\(\(.*?\)\)|"\$\w+"/g, "1");
  for (const word of shown.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []) {
    if (/^[|&;#>()]/.test(word)) break;
    // Brackets enclose optional arguments; punctuation after a command belongs to the sentence or the shell.
    const bare = word.replace(/^\[|[\]);,.]+$/g, "");
    // These are placeholders.
    if (bare !== "" && bare !== "options" && !bare.startsWith("$")) words.push(bare);
    if (/[);]$/.test(word)) break;
  }
  if (words[0] === "COMMAND") return undefined;
  let command: Command = (await createProgram()).configureOutput({ writeErr: () => {}, writeOut: () => {} });
  // Options may precede the command.
  for (let option = leading(command, words); option !== undefined; option = leading(command, words))
    words.splice(0, option.required ? 2 : 1);
  while (command.commands.length > 0 && words[0] !== undefined && !words[0].startsWith("-")) {
    const next = command.commands.find(one => one.name() === words[0]);
    if (next === undefined && command.registeredArguments.length > 0) break;
    if (next === undefined) return `there is no command ${words[0]}`;
    command = next;
    words.shift();
  }
  try {
    const { operands, unknown } = command.parseOptions(words);
    const [option] = unknown.filter(word => word.startsWith("-") && word !== "--help");
    if (option !== undefined) return `there is no option ${option}`;
    const { registeredArguments: known } = command;
    const extra = known.at(-1)?.variadic === true ? undefined : operands[known.length];
    return extra === undefined ? undefined : `${extra} is one argument too many`;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? undefined : error.message;
  }
}

function leading(program: Command, [first]: readonly string[]): Option | undefined {
  return program.options.find(({ long }) => first !== undefined && long === first && long !== "--version");
}

function withoutCode(text: string): string {
  return text.replace(/```[\s\S]*?```/g, "").replace(/`[^`\n]*`/g, "");
}

/** The anchors that GitHub and similar renderers generate for headings. */
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
