import { joinConfigPath } from "../../shared/config-path.ts";
import { allows, fieldPatternForm, isOpenScope } from "../../shared/grants.ts";
import type { ScopeEntry } from "../state/store.ts";

/** The fields of a grant: `*`, `svc.*`, `svc.proxy_*` or `svc.timeout`. */
export type Patterns = readonly string[];

/** All fields, as `<scope>.<field>`. */
export function pathsOf(scopes: readonly ScopeEntry[]): string[] {
  return scopes.flatMap(({ scope, schema }) =>
    Object.keys(schema.properties).map(field => joinConfigPath(scope, field)),
  );
}

/** Splits typed text into patterns at spaces or commas. */
export function patternsIn(text: string): Patterns {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

/** Whether the patterns cover a field; for `svc.*` or `*`, whether they cover the whole, including future fields. */
export function covers(patterns: Patterns, path: string): boolean {
  return allows([{ repos: "*", fields: patterns, right: "read" }], "read", "", path === "*" ? "" : path);
}

/** The patterns with one more box checked: `*`, `svc.*` or a field. Patterns that it covers are removed. */
export function withPattern(patterns: Patterns, added: string): Patterns {
  return [...patterns.filter(pattern => !covers([added], pattern)), added];
}

/** The patterns with a box unchecked: patterns that cover more are replaced by the rest of what they covered. */
export function withoutPattern(patterns: Patterns, removed: string, scopes: readonly ScopeEntry[]): Patterns {
  if (removed === "*") return [];
  const narrow = patterns.flatMap(pattern => (pattern === "*" ? scopes.map(({ scope }) => `${scope}.*`) : pattern));
  if (removed.endsWith(".*")) return narrow.filter(pattern => !covers([removed], pattern));
  const rest = (pattern: string) => pathsOf(scopes).filter(path => path !== removed && covers([pattern], path));
  return [...new Set(narrow.flatMap(pattern => (covers([pattern], removed) ? rest(pattern) : pattern)))];
}

/** What is wrong with typed patterns; undefined: nothing. */
export function problemOfPatterns(patterns: Patterns): string | undefined {
  const form = new RegExp(fieldPatternForm);
  for (const pattern of patterns) {
    if (!form.test(pattern)) return `“${pattern}” is not a valid pattern: write svc.timeout, svc.proxy_*, svc.* or *.`;
    if (isOpenScope(pattern)) return `“${pattern}” could also match other scopes: write ${pattern.slice(0, -1)}.*`;
  }
  return undefined;
}
