import { joinConfigPath } from "../../../shared/config-path.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../shared/json.ts";
import { JsonTextError, parseJsonText } from "../../files/json-text.ts";
import { type Fields, unknownField } from "../connect/fields.ts";
import { CommandError } from "../output/exit-codes.ts";
import type { ReadValues } from "./env-format.ts";

/**
 * Reads values in the format of `repoconf export`, `{ "svc": { "timeout": 30 } }`, with comments allowed. Unknown fields are problems,
 * unless ignored. Throws CommandError if the text is not JSON.
 */
export function readJson(content: string, fields: Fields, ignoreUnknown: boolean): ReadValues {
  const values = new Map<string, JsonValue>();
  const problems: string[] = [];
  for (const [scope, scopeValues] of Object.entries(parse(content))) {
    if (!isJsonObject(scopeValues)) {
      problems.push(`"${scope}" is not a scope with fields. The expected form is { "svc": { "timeout": 30 } }.`);
      continue;
    }
    for (const [field, value] of Object.entries(scopeValues)) {
      const path = joinConfigPath(scope, field);
      if (fields.has(path)) values.set(path, value);
      else if (!ignoreUnknown) problems.push(unknownField(path, fields).message);
    }
  }
  return { values, problems };
}

function parse(content: string): JsonObject {
  try {
    return parseJsonText(content).value;
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw new CommandError(`This cannot be read as JSON: line ${error.line}, column ${error.column}: ${error.message}`);
  }
}
