import { type FoundVariables, lineCounter, VariableCollector } from "../../../shared/import/found-variables.ts";
import { shortenedList } from "../../../shared/shortened.ts";
import { withPlainExports } from "../environment/formats.ts";

/** One word as every POSIX shell and bash read it, if no part of it needs a shell: export looks for no files by patterns with ? and *. */
const plainWord = String.raw`(?:[\w./:@%+,=^#?*!\[\]\u0080-\uffff-]|(?<![=:])~|\\[^\n]|'[^']*'|"(?:[^"\\$${"`"}]|\\[\s\S])*")*`;
const assignment = String.raw`[A-Za-z_]\w*=${plainWord}`;
const lineEnd = String.raw`(?:(?:[ \t]+|[ \t]*;[ \t]*)#[^\n]*|[ \t]*(?:;[ \t]*)?)\r?(?:\n|$)`;
/** Not indented, because an indented line is often part of a block or of a longer text. */
const plainExport = new RegExp(String.raw`export((?:[ \t]+${assignment})+)${lineEnd}`, "y");
const eachAssignment = new RegExp(String.raw`[ \t]+([A-Za-z_]\w*)=(${plainWord})`, "gy");
/** Parts of a line that say nothing about where a command ends. */
const closedPart = /"(?:[^"\\\n]|\\[^\n])*"|'[^'\n]*'|\$\{[^{}\n]*\}|\$\([^()\n]*\)|(?<!\S)#[^\n]*|\\[^\n]/g;
/** What may make a command go on in the next line. */
const openPart = /["'`\\{}()]|<<|[&|]\s*$|(?<![\w-])(?:for|while|until|do|done|case|esac|function|select)(?![\w-])/;
const ifOrFi = /(?<![\w-])(?:if|fi)(?![\w-])/g;

/**
 * Reads the plain `export NAME=text` lines of a shell script such as `.envrc`, and what `repoconf env` prints for shells. Other lines of
 * one command and what is between `if` and `fi` are left out and named; a line that begins another block, or a text of several lines, is a
 * problem: only a shell knows which of the lines behind it count.
 */
export function readShell(script: string): FoundVariables {
  const text = withPlainExports(script);
  const found = new VariableCollector();
  const lineAt = lineCounter(text);
  const skipped: { readonly line: number; readonly text: string }[] = [];
  let depth = 0;
  for (let at = 0; at < text.length; ) {
    const line = lineAt(at);
    const [whole, assignments] = (depth === 0 && matchAt(plainExport, text, at)) || [];
    if (whole !== undefined) {
      for (const [, name = "", word = ""] of assignments?.matchAll(eachAssignment) ?? [])
        found.add({ name, line, text: textOfWord(word) });
      at += whole.length;
      continue;
    }
    const [one = ""] = matchAt(/[^\n]*(?:\n|$)/y, text, at) ?? [];
    const bare = one.replace(closedPart, "");
    for (const [word] of bare.matchAll(ifOrFi)) depth += word === "if" ? 1 : -1;
    const isLast = at + one.length === text.length;
    if (openPart.test(bare) || depth < 0 || (isLast && depth > 0)) {
      found.problems.push(
        `Line ${line} begins something that only a shell can read, so nobody knows which of the lines behind it count. Import a file with nothing but export NAME=text and commands of one line.`,
      );
      break;
    }
    if (!/^\s*(?:#[^\n]*)?\n?$/.test(one)) skipped.push({ line, text: one });
    at += one.length;
  }
  const known = new Set(found.found.variables.map(({ name }) => name));
  for (const { line, text: command } of skipped) {
    const named = new Set(command.match(/\w+/g)?.filter(word => known.has(word)));
    const names = shortenedList([...named], 10);
    found.notes.push(
      `Line ${line} is left out, because only a shell can run it${names === "" ? "." : `; it names ${names}, which may have another text after it.`}`,
    );
  }
  return found.found;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The text of a plain word: without its quotes, and with what its backslashes mean. */
function textOfWord(word: string): string {
  return word.replace(/'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([^\n])/g, (_, single, double, escaped) =>
    double === undefined
      ? (single ?? escaped)
      : double.replace(/\\(["\\$`\n])/g, (_: string, one: string) => (one === "\n" ? "" : one)),
  );
}

/** Reads what `repoconf env --format fish` prints. */
export function readFish(text: string): FoundVariables {
  return readLines(text, /set -gx ([A-Za-z_]\w*) '((?:[^'\\]|\\[\s\S])*)'\n?/y, written =>
    written.replace(/\\(['\\])/g, "$1"),
  );
}

/** Reads what `repoconf env --format pwsh` prints. */
export function readPowerShell(text: string): FoundVariables {
  return readLines(text, /\$\{env:([A-Za-z_]\w*)\} = '((?:[^'\u2018-\u201b]|['\u2018-\u201b]{2})*)'\n?/y, written =>
    written.replace(/(['\u2018-\u201b])\1/g, "$1"),
  );
}

function readLines(text: string, pattern: RegExp, unescaped: (written: string) => string): FoundVariables {
  const found = new VariableCollector();
  const lineAt = lineCounter(text);
  pattern.lastIndex = 0;
  for (let at = 0; at < text.length; at = pattern.lastIndex) {
    const [, name, written = ""] = pattern.exec(text) ?? [];
    if (name === undefined) {
      found.problems.push(`Line ${lineAt(at)} is not one that repoconf env prints.`);
      break;
    }
    found.add({ name, line: lineAt(at), text: unescaped(written) });
  }
  return found.found;
}
