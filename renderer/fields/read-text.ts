import { visit } from "jsonc-parser";
import { InexactNumberError, inexactNumberMessage, isExactNumber, parseExactJson } from "../../shared/exact-number.ts";
import type { JsonValue } from "../../shared/json.ts";

/** The value that a control's text is, exactly; or why it is none, with the next step. */
export type ReadText = { readonly value: JsonValue } | { readonly problem: string };

/** For a field of whole numbers: beyond 2^53 these are not told apart, so its schema refuses all of them. */
export function readInteger(text: string): ReadText {
  const read = readNumber(text);
  const isKept = !("value" in read) || !Number.isInteger(read.value) || Number.isSafeInteger(read.value);
  return isKept ? read : { problem: `This number ${inexactNumberMessage(text.trim())}.` };
}

/** Reads decimal numbers as people write them: also `007`, `.5`, `5.` and `+1`. */
export function readNumber(text: string): ReadText {
  const [, sign, whole = "", fraction = "", power = ""] = decimal.exec(text.trim()) ?? [];
  if (whole + fraction === "") return { problem: "Expected a number." };
  const inJson = `${sign === "-" ? "-" : ""}${whole.replace(/^0+(?=\d)/, "") || "0"}.${fraction || "0"}${power}`;
  if (!isExactNumber(inJson)) return { problem: `This number ${inexactNumberMessage(inJson)}.` };
  return { value: Number(inJson) };
}

const decimal = /^([-+]?)(\d*)(?:\.(\d*))?(e[-+]?\d+)?$/i;

export function readJson(text: string): ReadText {
  try {
    const value = parseExactJson(text);
    const name = repeatedName(text);
    if (name === undefined) return { value };
    return { problem: `The name ${JSON.stringify(name)} appears twice in one object. Remove or rename one of them.` };
  } catch (error) {
    if (error instanceof InexactNumberError) return { problem: `${upperFirst(error.message)}.` };
    return { problem: "This is not valid JSON yet. A text needs double quotes around it." };
  }
}

/** A name that an object in a valid JSON text has twice: `JSON.parse` would drop the first of them. */
function repeatedName(json: string): string | undefined {
  const objects: Set<string>[] = [];
  let repeated: string | undefined;
  visit(json, {
    onObjectBegin: () => {
      objects.push(new Set());
    },
    onObjectEnd: () => {
      objects.pop();
    },
    onObjectProperty: name => {
      if (objects.at(-1)?.has(name)) repeated ??= name;
      objects.at(-1)?.add(name);
    },
  });
  return repeated;
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
