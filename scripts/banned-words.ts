/**
 * `npm run check`: rejects banned words in documents, messages, texts of the screen and comments, and says what to write instead.
 * Identifiers are not checked. To ban a word, add a line to `words`; to allow one use of it, add it to `exceptions`.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface BannedWord {
  readonly word: RegExp;
  readonly instead: string;
  /** Banned only in documents and in texts that users see, and allowed in comments and tests. */
  readonly inTextsOnly?: true;
}

const words: readonly BannedWord[] = [
  { word: /\bin(to)? service\b/i, instead: "active" },
  { word: /\bmend(s|ed|ing)?\b/i, instead: "fix" },
  { word: /\bwhoever\b/i, instead: "who it is, or: anyone who" },
  { word: /\b(take|takes|taken|took|taking) up\b(?! to\b)/i, instead: "apply, read, accept" },
  { word: /\blook(s|ed|ing)? at\b/i, instead: "check, review, read" },
  { word: /\bgone\b/i, instead: "missing, deleted, does not exist", inTextsOnly: true },
  { word: /\banew\b/i, instead: "again", inTextsOnly: true },
  { word: /\blast good\b/i, instead: "last valid", inTextsOnly: true },
  { word: /\bwell again\b/i, instead: "valid again", inTextsOnly: true },
  { word: /\bturn(s|ed)? away\b/i, instead: "reject, refuse", inTextsOnly: true },
  { word: /\bmade to be forgotten\b/i, instead: "erased", inTextsOnly: true },
  { word: /\bgood once\b/i, instead: "works once", inTextsOnly: true },
  { word: /\bit is tried again\b/i, instead: "Repoconf keeps retrying", inTextsOnly: true },
  { word: /\bleaves? with (\d|an? (exit )?code)/i, instead: "exits with code", inTextsOnly: true },
  { word: /\bto do again\b/i, instead: "to redo", inTextsOnly: true },
  { word: /\bnames those there are\b/i, instead: "To list all ...: COMMAND", inTextsOnly: true },
  { word: /\bis there already\b/i, instead: "already exists", inTextsOnly: true },
  { word: /\bwithout end\b/i, instead: "forever", inTextsOnly: true },
];

/** Allowed uses, each with its reason. `text` is part of the line. */
const exceptions: readonly { readonly file: string; readonly text: string; readonly reason: string }[] = [
  { file: "CHANGELOG.md", text: '"active" instead of', reason: "it says which words were replaced" },
  { file: "CHANGELOG.md", text: '"last valid value" instead of', reason: "it says which words were replaced" },
  { file: "CHANGELOG.md", text: "`list` shows `last valid`", reason: "it says which words were replaced" },
];

const ignoredFiles: readonly { readonly path: RegExp; readonly reason: string }[] = [
  { path: /^scripts\/banned-words\.ts$/, reason: "it lists the words" },
  { path: /^test\/homes\//, reason: "homes of older versions are never changed" },
];

const project = join(import.meta.dirname, "..");
const sourceFiles = /\.(ts|tsx|js)$/;
const documentFiles = /\.(md|css|jsonc|yml|sh|py)$|^\.ci\/run$/;
/** Matches comments, string literals and JSX text. It may match other code too, which matters only if that has a banned word. */
const prose =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|>[^<>{}=;()]*(?=[<{])/g;

function proseOf(file: string, content: string): { readonly at: number; readonly text: string }[] {
  if (!sourceFiles.test(file)) return [{ at: 0, text: content }];
  return [...content.matchAll(prose)].map(({ index, 0: text }) => ({ at: index, text }));
}

function isShown(file: string, text: string): boolean {
  // Comments are not shown, and a single word without blanks is a name in the code.
  if (/^\/[/*]|^["'`]\S*["'`]$/.test(text)) return false;
  return /\.md$/.test(file) || /^(main|renderer|shared)\//.test(file);
}

const used = new Set<object>();
let found = 0;
const tracked = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: project,
  encoding: "utf8",
});
for (const file of tracked.split("\n")) {
  if (!sourceFiles.test(file) && !documentFiles.test(file)) continue;
  if (ignoredFiles.some(({ path }) => path.test(file))) continue;
  const content = readFileSync(join(project, file), "utf8");
  for (const { at, text } of proseOf(file, content)) {
    for (const { word, instead, inTextsOnly } of words) {
      if (inTextsOnly && !isShown(file, text)) continue;
      for (const { index, 0: use } of text.matchAll(new RegExp(word, "gi"))) {
        const before = content.slice(0, at + index).split("\n");
        const line = content.split("\n")[before.length - 1] ?? "";
        const exception = exceptions.find(one => one.file === file && line.includes(one.text));
        if (exception !== undefined) {
          used.add(exception);
          continue;
        }
        found += 1;
        const column = (before.at(-1)?.length ?? 0) + 1;
        process.stderr.write(`${file}:${before.length}:${column}: "${use}": write ${instead}\n`);
      }
    }
  }
}
for (const exception of exceptions.filter(one => !used.has(one))) {
  found += 1;
  process.stderr.write(`scripts/banned-words.ts: this exception is not used: ${JSON.stringify(exception)}\n`);
}
if (found > 0) process.exitCode = 1;
