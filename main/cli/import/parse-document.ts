import { isJsonObject, type JsonObject, type JsonValue } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import { joinPointer } from "../../../shared/value-edit.ts";
import { JsonTextError, parseJsonText } from "../../files/json-text.ts";
import { deepestNesting } from "../../files/json-text-problems.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

export type DocumentFormat = "json" | "yaml" | "toml";

const names: { readonly [format in DocumentFormat]: string } = { json: "JSON", yaml: "YAML", toml: "TOML" };

/** The value of a text whose root is an object. Throws CommandError, which says the file's `name`, and the line where there is one. */
export async function parseDocument(
  content: string,
  format: DocumentFormat,
  name: string,
  parse = parsers[format],
): Promise<JsonObject> {
  const fail = (line: number, column: number, message: string) =>
    new CommandError(`This cannot be read as ${names[format]}: ${name}, line ${line}, column ${column}: ${message}`);
  // Its parser makes an error of each line that it does not understand. No more could be set at once.
  if (format === "yaml" && content.length > limits.messageBytes) {
    const most = `${name} has ${content.length} characters, and at most ${limits.messageBytes} are read as YAML.`;
    throw new CommandError(
      `${most} Import the part of it that has the values, or the same as JSON.`,
      exitCodes.refused,
    );
  }
  let value: unknown;
  try {
    value = await parse(content);
  } catch (error) {
    if (!(error instanceof PlacedError)) throw error;
    throw fail(error.line, error.column, error.message);
  }
  const problem = { message: "" };
  const json = asJson(value, [], problem);
  if (problem.message !== "") throw new CommandError(`This cannot be imported: ${name}: ${problem.message}`);
  if (isJsonObject(json)) return json;
  throw fail(1, 1, "the text must have names and values, such as svc with timeout in it");
}

class PlacedError extends Error {
  readonly line: number;
  readonly column: number;

  constructor(message: string, line = 1, column = 1) {
    super(message);
    this.line = line;
    this.column = column;
  }
}

const parsers: { readonly [format in DocumentFormat]: (content: string) => Promise<unknown> } = {
  json: async content => {
    try {
      return parseJsonText(content).value;
    } catch (error) {
      if (!(error instanceof JsonTextError)) throw error;
      throw new PlacedError(error.message, error.line, error.column);
    }
  },
  yaml: content => parseYaml(content),
  toml: async content => {
    const { parse, TomlError } = await import("smol-toml");
    try {
      return parse(content, { integersAsBigInt: "asNeeded" });
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      const [message = ""] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
      throw new PlacedError(message, error.line, error.column);
    }
  },
};

/** With `keepsText`, numbers and booleans without quotes are texts, as they are written. */
export async function parseYaml(content: string, keepsText = false): Promise<unknown> {
  const { isScalar, LineCounter, parseDocument: parse, visit } = await import("yaml");
  const lineCounter = new LineCounter();
  const options = { intAsBigInt: true, merge: true, logLevel: "error", lineCounter } as const;
  // It compares each key with all before it, and quotes for each error the whole line that has it.
  const document = parse(content, { ...options, uniqueKeys: false, prettyErrors: false });
  // A tag that is not understood is a warning, and would lose what it means.
  const [first] = [...document.errors, ...document.warnings];
  if (first !== undefined) {
    const [message = ""] = first.message.split(/; please use|\n/);
    const shown = message.startsWith("Maximum call stack") ? tooDeep : message;
    const { line, col } = lineCounter.linePos(first.pos[0]);
    throw new PlacedError(shown, line, col);
  }
  let aliases = 0;
  visit(document, {
    Alias: (_, { range }) => {
      aliases++;
      const { line, col } = lineCounter.linePos(range?.[0] ?? 0);
      // It looks for each among all nodes.
      if (aliases > mostAliases) throw new PlacedError(`there are more than ${mostAliases} aliases`, line, col);
    },
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const { line, col } = lineCounter.linePos(key.range?.[0] ?? 0);
        if (seen.has(key.value)) throw new PlacedError("Map keys must be unique", line, col);
        seen.add(key.value);
      }
    },
  });
  if (keepsText)
    visit(document, {
      Scalar: (_, node) => {
        if (/^(?:number|bigint|boolean)$/.test(typeof node.value)) node.value = node.source ?? node.value;
      },
    });
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    // An alias without its anchor, or too many of them.
    if (!(error instanceof ReferenceError)) throw error;
    throw new PlacedError(error.message);
  }
}

const mostAliases = 5_000;
const tooDeep = `values are nested more than ${deepestNesting} levels deep`;

/** A parsed value as JSON. What JSON cannot say is a problem: none of it is rounded or left out. */
function asJson(value: unknown, place: readonly string[], problem: { message: string }): JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "bigint" && BigInt(Number(value)) === value && Number.isSafeInteger(Number(value)))
    return Number(value);
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (value instanceof Date) return value.toISOString();
  // Also what contains itself.
  if (place.length > deepestNesting) problem.message = `${tooDeep}.`;
  else if (Array.isArray(value)) return value.map((item, index) => asJson(item, [...place, String(index)], problem));
  // A set, a map in order or bytes are other objects.
  else if (typeof value === "object" && [null, Object.prototype].includes(Object.getPrototypeOf(value))) {
    const members = Object.entries(value);
    if (members.some(([name]) => name === "__proto__"))
      problem.message = `${where(place)}a member is called __proto__.`;
    return Object.fromEntries(members.map(([name, member]) => [name, asJson(member, [...place, name], problem)]));
  } else problem.message = `${where(place)}JSON has no such value; write it in quotes, as text.`;
  return null;
}

const where = (place: readonly string[]) => (place.length === 0 ? "" : `${joinPointer(place)}: `);
