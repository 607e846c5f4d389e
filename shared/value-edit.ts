import {
  bracketedIndex,
  type ItemNames,
  indexOfItem,
  itemNamesOf,
  nameOf,
  newItem,
  schemaWithin,
} from "./item-names.ts";
import { isJsonObject, type JsonValue, jsonType, sameJson } from "./json.ts";

/** An edit inside a field's value, applied to the value that the field has when the edit runs. */
export interface ValueEdit {
  /** `<scope>.<field>`. */
  readonly field: string;
  /** A JSON pointer (RFC 6901) into the value; left out or `""` for the value itself. */
  readonly path?: string | null;
  /**
   * `set` sets the place to a value and creates missing objects on the way. `unset` removes the member or item. `add` appends a
   * value to a list unless the list contains it, or replaces the item that has its name; `remove` removes every occurrence, or the
   * item with this name.
   */
  readonly op: "set" | "unset" | "add" | "remove";
  /** Required by all but `unset`. */
  readonly value?: unknown;
}

/** An edit that does not fit the value: `path` points to the part in the way, of which `message` tells; `given` is its JSON type. */
interface EditProblem {
  readonly message: string;
  readonly path: string;
  readonly given: string;
}

export type EditOutcome = { readonly value: JsonValue | undefined } | { readonly problem: EditProblem };

type Container = JsonValue[] | { [member: string]: JsonValue };

/**
 * Applies the edits in order and returns a new value. `undefined` and null count as an empty place. `schema` is the field's: items of
 * lists may be addressed by the names that it gives them.
 */
export function applyValueEdits(
  value: JsonValue | undefined,
  edits: readonly ValueEdit[],
  schema?: unknown,
): EditOutcome {
  // Wrapped in an object, so that the value itself can be replaced like any part of it.
  const root: { [member: string]: JsonValue } = { value: structuredClone(value ?? null) as JsonValue };
  for (const edit of edits) {
    const problem = applyEdit(root, ["value", ...pointerTokens(edit.path ?? "")], edit, schema);
    if (problem !== undefined) return { problem };
  }
  return { value: root["value"] };
}

/** The names and indexes of a JSON pointer, unescaped. */
export function pointerTokens(pointer: string): string[] {
  const [, ...tokens] = pointer.split("/");
  return tokens.map(token => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** A JSON pointer from names and indexes. */
export function joinPointer(tokens: readonly string[]): string {
  return tokens.map(token => `/${escapedToken(token)}`).join("");
}

/** A name escaped for a JSON pointer. */
export function escapedToken(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The part of a value that a JSON pointer leads to; undefined if there is none. With its schema, items may be addressed by name. */
export function valueAt(value: unknown, pointer: string, schema?: unknown): JsonValue | undefined {
  // Callers pass only values parsed from JSON.
  let [at, within] = [value as JsonValue | undefined, schema];
  for (const token of pointerTokens(pointer)) {
    at = memberOf(at, token, itemNamesOf(within));
    within = schemaWithin(within, token);
  }
  return at;
}

/** The members and plain indexes on the way to a place in a value, which need not have it: items have no names here. */
export function plainTokens(value: JsonValue | undefined, pointer: string, schema: unknown): string[] {
  let [at, within] = [value, schema];
  return pointerTokens(pointer).map(token => {
    const plain = Array.isArray(at) ? String(indexOfItem(at, token, itemNamesOf(within)) ?? at.length) : token;
    at = memberOf(at, plain);
    within = schemaWithin(within, token);
    return plain;
  });
}

function memberOf(value: JsonValue | undefined, token: string, names?: ItemNames): JsonValue | undefined {
  if (Array.isArray(value)) return value[indexOfItem(value, token, names) ?? value.length];
  return isJsonObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
}

function applyEdit(
  root: Container,
  tokens: readonly string[],
  { op, value }: ValueEdit,
  schema: unknown,
): EditProblem | undefined {
  const takesAway = op === "unset" || op === "remove";
  const problem = (message: string, depth: number, given: JsonValue): EditProblem => {
    return { message, path: joinPointer(tokens.slice(1, depth)), given: jsonType(given) };
  };
  let container = root;
  let within: unknown = { properties: { value: schema } };
  for (const [index, name] of tokens.entries()) {
    const names = itemNamesOf(within);
    const place = Array.isArray(container) ? indexOfItem(container, name, names) : undefined;
    const added = Array.isArray(container) && place === undefined ? newItem(name, names) : undefined;
    if (Array.isArray(container) && place === undefined && (takesAway || added === undefined))
      return takesAway ? undefined : problem(describeMissing(container, name, names), index, container);
    const token = Array.isArray(container) ? String(place ?? container.length) : name;
    const member = memberOf(container, token) ?? null;
    within = schemaWithin(within, name);
    const isLast = index === tokens.length - 1;
    if (!isLast) {
      if (member === null && takesAway) return undefined;
      if (member !== null && typeof member !== "object")
        return problem("is neither an object nor a list, so it contains nothing", index + 1, member);
      const inner = member ?? added ?? {};
      if (member === null) put(container, token, inner);
      // It belongs to the clone, so it may be changed.
      container = inner as Container;
    } else if (op === "set") put(container, token, isJsonObject(value) ? { ...added, ...value } : (value as JsonValue));
    else if (op === "unset") takeAway(container, token);
    else if (member !== null && !Array.isArray(member)) return problem("is not a list", index + 1, member);
    else {
      const list = changedList(member ?? [], op, value as JsonValue, itemNamesOf(within));
      if (list !== undefined) put(container, token, list);
    }
  }
  return undefined;
}

/** Completes a sentence about a list. */
function describeMissing({ length }: readonly JsonValue[], token: string, names: ItemNames | undefined): string {
  const item = bracketedIndex(token, names) === undefined ? JSON.stringify(token) : token;
  const instead = names === undefined ? `[${length}] appends one` : `a new one is addressed by its ${names.property}`;
  return `has ${length} items and no item ${item}; ${instead}`;
}

/** A list with an item added or removed; undefined if it stays as it is. */
function changedList(
  list: readonly JsonValue[],
  op: "add" | "remove",
  value: JsonValue,
  names: ItemNames | undefined,
): readonly JsonValue[] | undefined {
  if (op === "remove") {
    const isMeant = (item: JsonValue) =>
      sameJson(item, value) || (names !== undefined && nameOf(item, names) === String(value));
    return list.some(isMeant) ? list.filter(item => !isMeant(item)) : undefined;
  }
  if (list.some(item => sameJson(item, value))) return undefined;
  const name = names && nameOf(value, names);
  const place = name === undefined ? -1 : list.findIndex(item => names && nameOf(item, names) === name);
  return place === -1 ? [...list, value] : list.with(place, value);
}

function takeAway(container: Container, token: string): void {
  if (Array.isArray(container)) container.splice(Number(token), 1);
  else delete container[token];
}

function put(container: Container, token: string, value: JsonValue): void {
  if (Array.isArray(container)) container[Number(token)] = value;
  // Assigning `__proto__` would set the prototype instead of a member.
  else Object.defineProperty(container, token, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * Whether a value has more levels of objects and lists than that. Not recursive, because a value may be as deep as a pointer is
 * long.
 */
export function nestsDeeper(value: JsonValue | undefined, levels: number): boolean {
  let level: readonly JsonValue[] = value === undefined ? [] : [value];
  for (let depth = 0; depth <= levels; depth += 1) {
    level = level.flatMap(inner => (typeof inner === "object" && inner !== null ? Object.values(inner) : []));
    if (level.length === 0) return false;
  }
  return true;
}
