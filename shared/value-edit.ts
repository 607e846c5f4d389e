import { isJsonObject, type JsonValue, jsonType, sameJson } from "./json.ts";

/** A change of a place inside a field's value, made from the value that the field has when its turn comes. */
export interface ValueEdit {
  /** `<scope>.<field>`. */
  readonly field: string;
  /** A JSON pointer (RFC 6901) into the value; left out or `""`: the value itself. */
  readonly path?: string | null;
  /**
   * `set` gives the place a value, and makes the objects on the way that are missing. `unset` takes the member or item away. `add`
   * puts a value at the end of a list unless it is in it, `remove` takes it out of the list wherever it stands.
   */
  readonly op: "set" | "unset" | "add" | "remove";
  /** Of all but `unset`. */
  readonly value?: unknown;
}

/** An edit that the value does not allow: `path` is the pointer to what is in the way, `given` the JSON type found there. */
interface EditProblem {
  readonly message: string;
  readonly path: string;
  readonly given: string;
}

export type EditOutcome = { readonly value: JsonValue | undefined } | { readonly problem: EditProblem };

type Container = JsonValue[] | { [member: string]: JsonValue };

/** A value with the edits made in order; the given one stays as it is. `undefined` and null are an empty place. */
export function applyValueEdits(value: JsonValue | undefined, edits: readonly ValueEdit[]): EditOutcome {
  // The value is a member of something, so that it is a place like those in it.
  const root: { [member: string]: JsonValue } = { value: structuredClone(value ?? null) as JsonValue };
  for (const edit of edits) {
    const problem = applyEdit(root, ["value", ...pointerTokens(edit.path ?? "")], edit);
    if (problem !== undefined) return { problem };
  }
  return { value: root["value"] };
}

/** The names and numbers of a JSON pointer, unescaped. */
export function pointerTokens(pointer: string): string[] {
  const [, ...tokens] = pointer.split("/");
  return tokens.map(token => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** A JSON pointer from names and numbers. */
export function joinPointer(tokens: readonly string[]): string {
  return tokens.map(token => `/${escapedToken(token)}`).join("");
}

/** A name as it stands in a JSON pointer. */
export function escapedToken(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The part of a value that a JSON pointer leads to; undefined: there is none. */
export function valueAt(value: unknown, pointer: string): JsonValue | undefined {
  // What came as JSON.
  let at = value as JsonValue | undefined;
  for (const token of pointerTokens(pointer)) at = memberOf(at, token);
  return at;
}

function memberOf(value: JsonValue | undefined, token: string): JsonValue | undefined {
  if (Array.isArray(value)) return isIndex(token) ? value[Number(token)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
}

function applyEdit(root: Container, tokens: readonly string[], { op, value }: ValueEdit): EditProblem | undefined {
  const takesAway = op === "unset" || op === "remove";
  const problem = (message: string, depth: number, given: JsonValue): EditProblem => {
    const path = joinPointer(tokens.slice(1, depth));
    return { message: path === "" ? message : `at ${path} ${message}`, path, given: jsonType(given) };
  };
  let container = root;
  for (const [index, token] of tokens.entries()) {
    const member = memberOf(container, token) ?? null;
    if (Array.isArray(container) && !(isIndex(token) && Number(token) <= container.length)) {
      if (takesAway) return undefined;
      return problem(`has ${container.length} items and no item ${JSON.stringify(token)}`, index, container);
    }
    const isLast = index === tokens.length - 1;
    if (!isLast) {
      if (member === null && takesAway) return undefined;
      if (member !== null && typeof member !== "object")
        return problem("is neither an object nor a list, so it contains nothing", index + 1, member);
      const inner = member ?? {};
      if (member === null) put(container, token, inner);
      // A clone of ours, as all in it.
      container = inner as Container;
    } else if (op === "set") put(container, token, value as JsonValue);
    else if (op === "unset") takeAway(container, token);
    else if (member !== null && !Array.isArray(member)) return problem("is not a list", index + 1, member);
    else {
      const isThere = member?.some(item => sameJson(item, value)) ?? false;
      if (op === "add" && !isThere) put(container, token, [...(member ?? []), value as JsonValue]);
      if (op === "remove" && isThere) put(container, token, member?.filter(item => !sameJson(item, value)) ?? []);
    }
  }
  return undefined;
}

function takeAway(container: Container, token: string): void {
  if (Array.isArray(container)) container.splice(Number(token), 1);
  else delete container[token];
}

function isIndex(token: string): boolean {
  return /^(0|[1-9]\d{0,8})$/.test(token);
}

function put(container: Container, token: string, value: JsonValue): void {
  if (Array.isArray(container)) container[Number(token)] = value;
  // `__proto__` is a name like any other.
  else Object.defineProperty(container, token, { value, enumerable: true, configurable: true, writable: true });
}

/** Whether a value has more levels of objects and lists than that. Without recursion: it may be as deep as a pointer is long. */
export function nestsDeeper(value: JsonValue | undefined, levels: number): boolean {
  let level: readonly JsonValue[] = value === undefined ? [] : [value];
  for (let depth = 0; depth <= levels; depth += 1) {
    level = level.flatMap(inner => (typeof inner === "object" && inner !== null ? Object.values(inner) : []));
    if (level.length === 0) return false;
  }
  return true;
}
