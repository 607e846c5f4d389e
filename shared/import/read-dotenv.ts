import { type FoundVariables, lineCounter, VariableCollector } from "./found-variables.ts";

/**
 * A line of an env file, or several with a value in quotes, as the npm package dotenv reads it: names with dots and dashes, `export`,
 * `NAME: text`, and escaped quotes inside of quotes. Single quotes end at the first one that can end a line, as in shells and in node:util:
 * dotenv itself goes on if a backslash is before it.
 */
const dotenvLine =
  /[^\S\n]*(?:#[^\n\u2028\u2029]*|(?:export[^\S\n]+)?([\w.-]+)(?:[^\S\n]*=|:(?=[^\S\n]))[^\S\n]*("(?:\\"|[^"])*"|'(?:[^']|(?<=\\)')*?'|`(?:\\`|[^`])*`|[^\s"'`#][^#\n\u2028\u2029]*)?([^\S\n]*)(#[^\n\u2028\u2029]*)?)?(?:\n|$)/y;

/** Reads an env file, strictly: the first line that is not understood is a problem, and nothing behind it is read. */
export function readDotenv(content: string): FoundVariables {
  const text = content.replace(/\r\n?/g, "\n");
  const found = new VariableCollector();
  const lineAt = lineCounter(text);
  dotenvLine.lastIndex = 0;
  for (let at = 0; at < text.length; at = dotenvLine.lastIndex) {
    const match = dotenvLine.exec(text);
    const line = lineAt(at);
    if (match === null) {
      found.problems.push(
        `Line ${line} is not in the form NAME=value, or the quotes around its value do not end with it.`,
      );
      break;
    }
    const [, name, written = "", blanks, comment] = match;
    if (name === undefined) continue;
    const quote = /^["'`]/.exec(written)?.[0];
    const variable = { name, line, text: quote === undefined ? written.trimEnd() : unquoted(written, quote) };
    found.add(variable);
    // A blank before a comment belongs to a text without quotes.
    if (comment !== undefined && blanks === "" && !/\s$/.test(written))
      found.notes.push(
        `Line ${line}: what follows # in ${name} is a comment, and not imported; in quotes it would be part of the text.`,
      );
    if (quote !== undefined && variable.text.includes(`\\${quote}`))
      found.notes.push(
        `Line ${line}: the backslashes before the quotes in ${name} are part of its text, as in dotenv.`,
      );
    if (quote !== "'") found.noteReference(variable);
  }
  return found.found;
}

function unquoted(written: string, quote: string): string {
  const inside = written.slice(1, -1);
  return quote === '"' ? inside.replaceAll("\\n", "\n").replaceAll("\\r", "\r") : inside;
}
