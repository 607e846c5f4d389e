import { bracketedIndex, itemNamesOf, nameOf, schemaWithin } from "./item-names.ts";
import type { JsonValue } from "./json.ts";
import { limits } from "./limits.ts";
import { masksAnything } from "./scopes/masks.ts";
import type { FieldSchema } from "./scopes/scope-schema.ts";
import { shortened } from "./shortened.ts";
import { joinPointer, pointerTokens, valueAt } from "./value-edit.ts";

/** The name of a member, or the index of an item: `.web`, `.2`, `[2]`, `."a.b"` or `["a.b"]`; in quotes as JSON writes text. */
const step = /\.([^."[\]]+)|\[(\d+)\]|\.("(?:[^"\\]|\\.)*")|\[("(?:[^"\\]|\\.)*")\]/y;

/**
 * The JSON pointer of a place inside a field's value, typed as `svc.services.web.image`; undefined if it is none of this field. By the
 * field's schema, `[2]` stays in brackets in a list whose items have names.
 */
export function pointerInside(typed: string, field: string, schema?: unknown): string | undefined {
  if (!typed.startsWith(field)) return undefined;
  const tokens: string[] = [];
  let within = schema;
  step.lastIndex = field.length;
  while (step.lastIndex < typed.length) {
    const [, plain, index, ...quoted] = step.exec(typed) ?? [];
    const isBracketed = index !== undefined && itemNamesOf(within) !== undefined;
    const token = isBracketed ? `[${index}]` : (plain ?? index ?? textOf(quoted.find(one => one !== undefined)));
    if (token === undefined) return undefined;
    tokens.push(token);
    within = schemaWithin(within, token);
  }
  return joinPointer(tokens);
}

/** A name in quotes, read; undefined if it is not valid. */
function textOf(quoted: string | undefined): string | undefined {
  try {
    return quoted === undefined ? undefined : String(JSON.parse(quoted));
  } catch {
    return undefined;
  }
}

/** A place as it is typed. `schema`: the field's. */
export function showSteps(field: string, tokens: readonly string[], schema?: unknown): string {
  let [shown, within] = [field, schema];
  for (const token of tokens) {
    if (bracketedIndex(token, itemNamesOf(within)) !== undefined) shown += token;
    else shown += `.${/^[^."[\]\p{C}]+$/u.test(token) ? token : JSON.stringify(token)}`;
    within = schemaWithin(within, token);
  }
  return shown;
}

/**
 * A place inside a field's value as it is typed, from its pointer. Items that the schema names are shown by their names, unless those
 * are masked. Shortened for messages.
 */
export function showPointer(field: string, pointer: string, value: JsonValue, schema: FieldSchema): string {
  let within: unknown = schema;
  const tokens = pointerTokens(pointer);
  const named = tokens.map((token, at) => {
    const names = itemNamesOf(within);
    within = schemaWithin(within, token);
    if (names === undefined) return shortened(token, limits.shownPart);
    const isShown = names.property === "name" || !masksAnything(schema);
    const item = isShown ? valueAt(value, joinPointer(tokens.slice(0, at + 1))) : undefined;
    return shortened(nameOf(item, names) ?? `[${token}]`, limits.shownPart);
  });
  return shortened(showSteps(field, named, schema), limits.shownMessage);
}
