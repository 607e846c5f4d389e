import type { CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";
import type { Diagnostic } from "@codemirror/lint";
import {
  createScanner,
  findNodeAtLocation,
  getLocation,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { checkValue } from "../fields/validate.ts";
import { findField, type ScopeEntry } from "../state/store.ts";

/** The problems of a repository's file: where it is not JSON, and where a value does not match its schema. */
export function checkText(text: string, scopes: readonly ScopeEntry[]): Diagnostic[] {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: false, allowTrailingComma: false });
  if (errors.length > 0 || root === undefined)
    return errors.map(({ error, offset, length }) => ({
      from: Math.min(offset, text.length),
      to: Math.min(offset + length, text.length),
      severity: "error",
      message: words(printParseErrorCode(error)),
    }));
  const config = findNodeAtLocation(root, ["config"]);
  return (config?.children ?? []).flatMap(scope => checkScope(scope, scopes));
}

function checkScope(property: Node, scopes: readonly ScopeEntry[]): Diagnostic[] {
  const [key, value] = property.children ?? [];
  const scope: unknown = key?.value;
  if (key === undefined || typeof scope !== "string") return [];
  if (!scopes.some(entry => entry.scope === scope))
    return [diagnostic(key, "warning", `There is no scope "${scope}"; its values are kept but not used.`)];
  return (value?.children ?? []).flatMap(field => checkField(scope, field, scopes));
}

function checkField(scope: string, property: Node, scopes: readonly ScopeEntry[]): Diagnostic[] {
  const [key, value] = property.children ?? [];
  const name: unknown = key?.value;
  if (key === undefined || value === undefined || typeof name !== "string") return [];
  const schema = findField(scopes, scope, name);
  if (schema === undefined)
    return [diagnostic(key, "warning", `There is no field "${scope}.${name}"; its value is kept but not used.`)];
  const scopeSchema = scopes.find(entry => entry.scope === scope)?.schema;
  return checkValue(valueOfNode(value), schema, scopeSchema).map(({ path, message }) => {
    const place =
      findNodeAtLocation(
        value,
        path.map(part => (/^\d+$/.test(part) ? Number(part) : part)),
      ) ?? value;
    return diagnostic(place, "error", message);
  });
}

function diagnostic({ offset, length }: Node, severity: Diagnostic["severity"], message: string): Diagnostic {
  return { from: offset, to: offset + length, severity, message };
}

function valueOfNode(node: Node): JsonValue {
  if (node.type === "array") return (node.children ?? []).map(valueOfNode);
  if (node.type !== "object") return node.value as JsonValue;
  const members = (node.children ?? []).flatMap(({ children }) => {
    const [key, value] = children ?? [];
    return key === undefined || value === undefined ? [] : [[String(key.value), valueOfNode(value)] as const];
  });
  return Object.fromEntries(members);
}

/** `CommaExpected` as "comma expected". */
function words(code: string): string {
  const text = code
    .replace(/([A-Z])/g, " $1")
    .trim()
    .toLowerCase();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Completes the names of scopes and fields, and the allowed values of a field. */
export function completeText(scopes: () => readonly ScopeEntry[]): CompletionSource {
  const complete = (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    if (isInComment(text, context.pos)) return null;
    const { path, isAtPropertyKey, previousNode } = getLocation(text, context.pos);
    const from =
      previousNode !== undefined &&
      previousNode.offset <= context.pos &&
      context.pos <= previousNode.offset + previousNode.length
        ? previousNode.offset
        : context.pos;
    const to = from === context.pos ? context.pos : from + (previousNode?.length ?? 0);
    const options = isAtPropertyKey ? keysAt(path, scopes()) : valuesAt(path, scopes());
    if (options.length === 0 || (!context.explicit && from === context.pos && !isAtPropertyKey)) return null;
    // The list is updated at each letter: while the editor waits for a new list, it ignores clicks on the visible one.
    return { from, to, options, filter: false, update: (_result, _from, _to, next) => complete(next) };
  };
  return complete;
}

function isInComment(text: string, position: number): boolean {
  const scanner = createScanner(text, false);
  // Token kinds of the scanner, which exports their names only as types: end of text, line comment, block comment.
  const [end, lineComment, blockComment] = [17, 12, 13];
  for (let kind: number = scanner.scan(); kind !== end; kind = scanner.scan()) {
    const start = scanner.getTokenOffset();
    if (start >= position) return false;
    const stop = start + scanner.getTokenLength();
    if (kind === lineComment && position <= stop) return true;
    if (kind === blockComment && position < stop) return true;
  }
  return false;
}

type Path = readonly (string | number)[];

function keysAt(path: Path, scopes: readonly ScopeEntry[]) {
  const typed = String(path.at(-1) ?? "");
  const names =
    path.length === 1
      ? [
          { name: "name", info: "The name of the repository." },
          { name: "path", info: "The folder of the repository." },
          { name: "config", info: "The values of the repository." },
        ]
      : path.length === 2 && path[0] === "config"
        ? scopes.map(({ scope, schema }) => ({ name: scope, info: schema.description ?? "" }))
        : path.length === 3 && path[0] === "config"
          ? Object.entries(scopes.find(({ scope }) => scope === path[1])?.schema.properties ?? {}).map(
              ([name, schema]) => ({ name, info: schema.description ?? "" }),
            )
          : [];
  return names
    .filter(({ name }) => name.includes(typed))
    .map(({ name, info }) => ({ label: JSON.stringify(name), type: "property", info }));
}

function valuesAt(path: Path, scopes: readonly ScopeEntry[]) {
  const [config, scope, field] = path;
  if (config !== "config" || path.length !== 3) return [];
  const schema = findField(scopes, String(scope), String(field));
  if (schema === undefined) return [];
  const choices = Array.isArray(schema["enum"])
    ? schema["enum"]
    : schema["type"] === "boolean"
      ? [true, false]
      : [schema.default];
  return choices
    .filter(choice => !isJsonObject(choice))
    .map(choice => ({ label: JSON.stringify(choice), type: "constant" }));
}
