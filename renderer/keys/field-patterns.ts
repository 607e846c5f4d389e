import { joinConfigPath } from "../../shared/config-path.ts";
import { allows, fieldPatternForm, isOpenScope } from "../../shared/grants.ts";
import type { ScopeEntry } from "../state/store.ts";

/** Which fields a key may have: `*`, `svc.*`, `svc.proxy_*` or `svc.timeout`, as grants have them. */
export type Patterns = readonly string[];

/** All fields, as `<scope>.<field>`. */
export function pathsOf(scopes: readonly ScopeEntry[]): string[] {
  return scopes.flatMap(({ scope, schema }) =>
    Object.keys(schema.properties).map(field => joinConfigPath(scope, field)),
  );
}

/** The patterns of a text that a person typed, with spaces or commas between them. */
export function patternsIn(text: string): Patterns {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

/** Whether the patterns take in a field; of a scope's `svc.` or all `*`, whether the whole of it, also what comes later. */
export function covers(patterns: Patterns, path: string): boolean {
  return allows([{ repos: "*", fields: patterns, right: "read" }], "read", "", path === "*" ? "" : path);
}

/** The patterns with one more box checked: `*`, `svc.*` or a field. What it takes in need not be named any more. */
export function withPattern(patterns: Patterns, added: string): Patterns {
  return [...patterns.filter(pattern => !covers([added], pattern)), added];
}

/** The patterns with a box unchecked: those that take in more than it give way to the rest of what they took in. */
export function withoutPattern(patterns: Patterns, removed: string, scopes: readonly ScopeEntry[]): Patterns {
  if (removed === "*") return [];
  const narrow = patterns.flatMap(pattern => (pattern === "*" ? scopes.map(({ scope }) => `${scope}.*`) : pattern));
  if (removed.endsWith(".*")) return narrow.filter(pattern => !covers([removed], pattern));
  const rest = (pattern: string) => pathsOf(scopes).filter(path => path !== removed && covers([pattern], path));
  return [...new Set(narrow.flatMap(pattern => (covers([pattern], removed) ? rest(pattern) : pattern)))];
}

/** What is wrong with patterns as they were typed; undefined: nothing. */
export function problemOfPatterns(patterns: Patterns): string | undefined {
  const form = new RegExp(fieldPatternForm);
  for (const pattern of patterns) {
    if (!form.test(pattern)) return `“${pattern}” is not a valid pattern: write svc.timeout, svc.proxy_*, svc.* or *.`;
    if (isOpenScope(pattern)) return `“${pattern}” could also match other scopes: write ${pattern.slice(0, -1)}.*`;
  }
  return undefined;
}
