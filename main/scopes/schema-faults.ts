import { isJsonObject, type JsonObject, type JsonValue } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import { shortened } from "../../shared/shortened.ts";
import { joinPointer, pointerTokens } from "../../shared/value-edit.ts";
import type { JsonText } from "../files/json-text.ts";

/** What is wrong with a schema, and where. */
export interface SchemaFault {
  readonly message: string;
  /** JSON pointer in the file, before it was translated. */
  readonly pointer: string;
}

/** A schema that cannot be used; `faults` and `message` say why. */
export class ScopeSchemaError extends Error {
  override readonly name = "ScopeSchemaError";
  readonly faults: readonly SchemaFault[];

  constructor(...faults: readonly (string | SchemaFault)[]) {
    const all = faults.map(fault => (typeof fault === "string" ? { message: fault, pointer: "" } : fault));
    super(shortened(all.map(({ message }) => message).join("; "), limits.shownMessage));
    this.faults = all.map(fault => ({ ...fault, message: shortened(fault.message, limits.shownMessage) }));
  }
}

/** Where schemas of a translation were in the file: JSON pointers. Copies of them have the same ones. */
const sources = new WeakMap<JsonObject, string>();

/** `schema`, of which is known from now on that it stood at `pointer` in the file. */
export function comingFrom(schema: JsonObject, pointer: string): JsonObject {
  sources.set(schema, pointer);
  return schema;
}

/** `copy`, of which is known from now on that it stands for `schema`. */
export function standingFor(copy: JsonObject, schema: JsonValue): JsonObject {
  const pointer = isJsonObject(schema) ? sources.get(schema) : undefined;
  if (pointer !== undefined) sources.set(copy, pointer);
  return copy;
}

/** The JSON pointer in the file of a place in a translated schema: names and indexes from `schema` on. */
export function sourceOf(schema: JsonObject, tokens: readonly string[]): string {
  let known = { pointer: sources.get(schema) ?? "", rest: tokens };
  let at: JsonValue | undefined = schema;
  for (const [index, token] of tokens.entries()) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, token)) break;
    at = (at as JsonObject)[token];
    const pointer = isJsonObject(at) ? sources.get(at) : undefined;
    if (pointer !== undefined) known = { pointer, rest: tokens.slice(index + 1) };
  }
  return known.pointer + joinPointer(known.rest);
}

export interface LocatedFault extends SchemaFault {
  readonly line: number;
  readonly column: number;
}

/** The faults with their places in the text; where there is no such place, as of a missing keyword, that of what surrounds it. */
export function locateFaults(faults: readonly SchemaFault[], text: JsonText): LocatedFault[] {
  const places = text.locate(faults.map(({ pointer }) => existing(text.value, pointerTokens(pointer))));
  return faults.map((fault, index) => ({ ...fault, line: 1, column: 1, ...places[index] }));
}

function existing(value: JsonValue, tokens: readonly string[]): string[] {
  const found: string[] = [];
  let at: JsonValue | undefined = value;
  for (const token of tokens) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, token)) break;
    at = (at as JsonObject)[token];
    found.push(token);
  }
  return found;
}

/** A place as messages name it. */
export function describePlace({ line, column, pointer }: LocatedFault): string {
  const at = pointer === "" ? "" : `, at ${shortened(pointer, limits.shownName)}`;
  return `line ${line}, column ${column}${at}`;
}

/** Faults that are told of one file; the others are counted. */
export const mostFaults = 50;
